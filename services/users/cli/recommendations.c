/* SPDX-License-Identifier: MIT
 * recommendations.c - `parley recommendations`: an operator lists users' recommendations and flags
 * and removes some of them, through the service broker's routes on any node. */
#include "services/users/cli/cli.h"

#include "services/commands/commands.h"
#include "shared/auth/login.h"
#include "shared/auth/signed.h"
#include "shared/base/shown.h"
#include "shared/base/trust.h"

#include <stdio.h>

enum {
    PAGE_MAX_BYTES = 16 << 20,
    PATH_MAX_BYTES = 2048,
    CURSOR_MAX_BYTES = 44,
    SHOWN_MAX_CHARS_BYTES = 300,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2
};

static const struct config_group recommendations_options = {
    "Flags",
    (const struct config_option[]){
        OPTION_TEXT("url", "URL[,URL...]", "http://127.0.0.1:8080",
                    "Nodes that run the service broker. Requests go to the first; if it does not "
                    "respond, to the next."),
        OPTION_NUMBER(
            "patience-seconds", "N", "60", 0, 86400,
            "Seconds to keep retrying a request that no node answers or that gets 429 or 5xx. "
            "0: try once."),
        OPTION_BOOL("json", "off", "Prints the result as one JSON object."),
        {0}}};

/* --- list ------------------------------------------------------------------------------------- */

static struct str shown_start(struct str text)
{
    size_t n = text.n < SHOWN_MAX_CHARS_BYTES ? text.n : SHOWN_MAX_CHARS_BYTES;
    while (n > 0 && n < text.n && ((unsigned char)text.at[n] & 0xc0) == 0x80)
        n--;
    return (struct str){text.at, n};
}

static void print_text(const char *label, const json_t *item, const char *member)
{
    struct str text = json_member_str(item, member), start = shown_start(text);
    struct buf shown;
    if (text.n == 0)
        return;
    buf_init(&shown, (size_t)SHOWN_MAX_CHARS_BYTES * 8);
    buf_put_shown(&shown, start);
    printf("  %-9s %.*s%s\n", label, STR_ARG(buf_str(&shown)), start.n < text.n ? "..." : "");
    buf_fini(&shown);
}

static void print_item(const json_t *item)
{
    struct str id = json_member_str(item, "Id"), time = json_member_str(item, "Timestamp");
    struct str type = json_member_str(item, "Type");
    printf("%.*s  %.*s  %.*s\n", STR_ARG(id), STR_ARG(time), STR_ARG(type));
    print_text("account", item, "Account");
    print_text("user", item, "User");
    print_text("question", item, "Query");
    print_text("fragment", item, "Fragment");
    print_text("comment", item, "Comment");
}

static void print_page(const struct cli *cli, const json_t *list, bool is_first)
{
    size_t i;
    json_t *item;
    json_array_foreach(list, i, item)
    {
        if (!cli->is_json) {
            print_item(item);
            continue;
        }
        struct buf out;
        buf_init(&out, SIZE_MAX / 2);
        buf_put_json_value(&out, item);
        printf("%s%.*s", is_first && i == 0 ? "" : ",", STR_ARG(buf_str(&out)));
        buf_fini(&out);
    }
}

static void put_list_path(struct buf *path, const struct cli *cli, struct str after)
{
    char separator = '?';
    buf_lit(path, "/api/recommendations");
    if (after.n > 0) {
        buf_lit(path, "?After=");
        buf_put_url_encoded(path, after);
        separator = '&';
    }
    if (cli->name != NULL) {
        buf_put_char(path, separator);
        buf_lit(path, "OnBehalfOf=");
        buf_put_url_encoded(path, str_of(cli->name));
    }
    buf_terminate(path);
}

/* Prints one page. Sets `after` to the next one's cursor, or to empty after the last page. */
static bool list_page(struct cli *cli, struct buf *after, size_t *count)
{
    struct buf path;
    json_t *page = NULL;
    buf_init(&path, PATH_MAX_BYTES);
    put_list_path(&path, cli, buf_str(after));
    const struct node_call call = {.method = "GET", .path = path.at, .max_bytes = PAGE_MAX_BYTES};
    bool is_good = cli_ask(cli, &call, &page);
    const json_t *list = json_object_get(page, "Recommendations");
    struct str next = json_member_str(page, "Next");
    buf_fini(&path);
    if (is_good && (!json_is_array(list) || next.n > CURSOR_MAX_BYTES))
        is_good =
            node_calls_complain(&cli->calls, "--url: this is not the answer of a Parley node");
    buf_clear(after);
    if (is_good) {
        print_page(cli, list, *count == 0);
        *count += json_array_size(list);
        buf_put(after, next);
    }
    json_decref(page);
    return is_good;
}

static int run_list(struct cli *cli)
{
    struct buf after;
    size_t count = 0;
    bool is_good;
    buf_init(&after, CURSOR_MAX_BYTES + 1);
    if (cli->is_json)
        fputs("{\"Recommendations\":[", stdout);
    do
        is_good = list_page(cli, &after, &count);
    while (is_good && after.n > 0);
    if (is_good && cli->is_json)
        puts("]}");
    else if (is_good && count == 0)
        puts("no recommendations");
    buf_fini(&after);
    return is_good ? 0 : EXIT_FAILED;
}

/* --- remove ----------------------------------------------------------------------------------- */

static bool remove_one(struct cli *cli, const char *id, bool *ret_is_missing)
{
    struct buf path;
    json_t *answer = NULL;
    buf_init(&path, PATH_MAX_BYTES);
    buf_printf(&path, "/api/recommendations?Id=%s", id);
    buf_terminate(&path);
    const struct node_call call = {
        .method = "DELETE", .path = path.at, .ret_is_missing = ret_is_missing};
    bool is_good = cli_ask(cli, &call, &answer);
    json_decref(answer);
    buf_fini(&path);
    return is_good;
}

static void print_ids(json_t *removed, json_t *missing)
{
    struct buf out;
    buf_init(&out, SIZE_MAX / 2);
    buf_lit(&out, "{\"Removed\":");
    buf_put_json_value(&out, removed);
    buf_lit(&out, ",\"Missing\":");
    buf_put_json_value(&out, missing);
    printf("%.*s}\n", STR_ARG(buf_str(&out)));
    buf_fini(&out);
}

static int run_remove(struct cli *cli)
{
    json_t *removed = json_array(), *missing = json_array();
    bool is_good = true;
    for (size_t i = 1; is_good && i < cli->config->argument_n; i++) {
        const char *id = cli->config->arguments[i];
        bool is_missing = false;
        is_good = remove_one(cli, id, &is_missing);
        if (is_good)
            json_array_append_new(is_missing ? missing : removed, json_string(id));
        if (is_good && is_missing)
            node_calls_complain(&cli->calls,
                                "%s: no such recommendation, or it was removed already", id);
        else if (is_good && !cli->is_json)
            printf("removed %s\n", id);
    }
    if (cli->is_json)
        print_ids(removed, missing);
    bool is_whole = is_good && json_array_size(missing) == 0;
    json_decref(removed);
    json_decref(missing);
    return is_whole ? 0 : EXIT_FAILED;
}

/* --- words ------------------------------------------------------------------------------------ */

/* Digits, '-', digits. */
static bool is_id(const char *text)
{
    uint64_t number;
    struct str rest = str_of(text);
    struct str first = str_cut(&rest, '-');
    return strlen(text) <= CURSOR_MAX_BYTES && str_parse_u64(first, &number) &&
           str_parse_u64(rest, &number);
}

static bool read_words(struct cli *cli, run_word **ret_run)
{
    const struct config *c = cli->config;
    bool is_list = strcmp(c->arguments[0], "list") == 0, is_remove = !is_list;
    *ret_run = is_list ? run_list : run_remove;
    if (is_list && c->argument_n > 2)
        return node_calls_refuse(&cli->calls, "list takes one user at most");
    if (is_remove && c->argument_n < 2)
        return node_calls_refuse(&cli->calls, "remove takes the ids that list prints");
    for (size_t i = 1; is_remove && i < c->argument_n; i++)
        if (!is_id(c->arguments[i]))
            return node_calls_refuse(
                &cli->calls, "an id is the first word that list prints for an item, such as "
                             "1742864523000-0");
    cli->name = is_list && c->argument_n == 2 ? c->arguments[1] : NULL;
    struct str name = str_of(cli->name == NULL ? "-" : cli->name);
    if (name.n == 0 || name.n > CLI_NAME_MAX_BYTES || !str_is_utf8(name))
        return node_calls_refuse(&cli->calls, "the name of a user is 1 to 161 bytes of UTF-8");
    return true;
}

static int run_recommendations(const struct config *config)
{
    struct cli cli = {.calls = {.config = config,
                                .command = "recommendations",
                                .service = "broker",
                                .forbidden = "requires an account with the role operator"},
                      .config = config};
    run_word *run;
    cli.is_json = config_number(config, "json");
    if (!read_words(&cli, &run) || !node_calls_read(&cli.calls))
        return EXIT_USAGE;
    return cli_run(&cli, run);
}

const struct command recommendations_command = {
    .name = "recommendations",
    .summary = "list or remove users' recommendations and flags",
    .words = "list|remove",
    .about = "usage: parley recommendations list [USER]\n"
             "       parley recommendations remove ID...\n"
             "\n"
             "Manages users' recommendations and flags over HTTP, through any node.\n"
             "  list    prints all of them, or those of one user, oldest first\n"
             "  remove  removes recommendations by the ids that list prints. Engines forget them\n"
             "          within seconds, and they no longer count toward max_stored\n"
             "\n"
             "The account that signs (--user) must be an operator. USER is namespace~NAME if the\n"
             "user's frontend has a namespace.\n"
             "\n",
    .more = "\n"
            "Exit codes\n"
            "  0  success\n"
            "  1  an id does not exist, a node refused the request, no node served it in time, or\n"
            "     the command was interrupted\n"
            "  2  invalid argument, flag or value\n"
            "\n"
            "Examples\n"
            "  parley recommendations list --user Operator_1 --secret-file operator.secret\n"
            "  parley recommendations list alice --json --user Operator_1 \\\n"
            "      --secret-file operator.secret | jq '.Recommendations[].Id'\n"
            "  parley recommendations remove 1742864523000-0 --user Operator_1 \\\n"
            "      --secret-file operator.secret --url http://10.0.0.5:8080\n",
    .groups = (const struct config_group *const[]){&recommendations_options, &signed_options,
                                                   &login_file_options, &trust_options, NULL},
    .run = run_recommendations,
};

/* SPDX-License-Identifier: MIT
 * link.c - `parley link`: prints a link that signs a browser in once, as the account of the
 * command, so that no secret is typed there. */
#include "services/commands/commands.h"

#include "shared/auth/login.h"
#include "shared/auth/signed.h"
#include "shared/base/trust.h"
#include "shared/http/client/node_calls.h"

#include <stdio.h>

enum { EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_AWAY = 3, EXIT_REFUSED = 4 };

static const struct config_group link_options = {
    "Flags",
    (const struct config_option[]){
        OPTION_TEXT("url", "URL[,URL...]", "http://127.0.0.1:8080",
                    "The nodes, or what balances their load, as a browser reaches them. Requests "
                    "go to the first; if it does not respond, to the next."),
        {0}}};

static int print_link(struct node_calls *calls)
{
    static const struct node_call call = {
        .method = "POST", .path = "/api/login/link", .is_once = true};
    json_t *json = NULL;
    if (!node_calls_open(calls))
        return EXIT_FAILED;
    if (!node_calls_ask(calls, &call, &json))
        return calls->fault == NODE_CALLS_AWAY      ? EXIT_AWAY
               : calls->fault == NODE_CALLS_REFUSED ? EXIT_REFUSED
                                                    : EXIT_FAILED;
    struct str link = json_member_str(json, "link");
    bool is_link = str_has_prefix(link, STR("/app/#"));
    if (is_link)
        printf("%.*s%.*s\n", STR_ARG(calls->urls[calls->url]), STR_ARG(link));
    else
        node_calls_complain(calls, "--url: this is not the answer of a Parley node");
    json_decref(json);
    return is_link ? 0 : EXIT_REFUSED;
}

static int run_link(const struct config *config)
{
    struct node_calls calls = {.config = config, .command = "link", .service = "broker"};
    int code = node_calls_read(&calls) ? print_link(&calls) : EXIT_USAGE;
    node_calls_close(&calls);
    return code;
}

const struct command link_command = {
    .name = "link",
    .summary = "print a link that signs a browser in once",
    .is_flags_only = true,
    .about =
        "usage: parley link [--url URL] [--user NAME] [--secret-file FILE]\n"
        "\n"
        "Prints the address of the web app with a code that signs in as the account of this\n"
        "command, for 12 hours. It works once, within ten minutes, for the first one who opens\n"
        "it: pass it to nobody else.\n"
        "\n",
    .more = "\n"
            "Exit codes\n"
            "  0  the link is printed\n"
            "  1  the secret cannot be read\n"
            "  2  a wrong flag or value\n"
            "  3  no node answered\n"
            "  4  the node refused the account, or what answers is no Parley node\n"
            "\n"
            "Examples\n"
            "  parley link\n"
            "  xdg-open \"$(parley link)\"\n",
    .groups = (const struct config_group *const[]){&link_options, &signed_options,
                                                   &login_file_options, &trust_options, NULL},
    .run = run_link,
};

/* SPDX-License-Identifier: MIT
 * usage.c - `parley user usage`: counts of what is stored, and of limits. */
#include "services/users/cli/cli.h"

#include <stdarg.h>
#include <stdio.h>

enum { EXIT_FAILED = 1 };

static void put_row(const char *label, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void put_row(const char *label, const char *format, ...)
{
    va_list list;
    printf("  %-26s", label);
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    putchar('\n');
}

static long long member(const json_t *usage, const char *part, const char *name)
{
    return json_integer_value(json_object_get(json_object_get(usage, part), name));
}

static void print_rates(const json_t *usage, const char *name, const char *label)
{
    size_t i;
    json_t *rate;
    json_array_foreach(json_object_get(json_object_get(usage, "Rates"), name), i, rate)
        put_row(label, "%lld of %lld within %lld s",
                (long long)json_integer_value(json_object_get(rate, "Used")),
                (long long)json_integer_value(json_object_get(rate, "Max")),
                (long long)json_integer_value(json_object_get(rate, "Seconds")));
}

void cli_print_usage(const struct cli *cli, const json_t *usage)
{
    const json_t *open = json_object_get(json_object_get(usage, "Queries"), "Open");
    printf("%s\n", cli->shown);
    put_row("topics", "%lld", member(usage, "Topics", "Count"));
    if (json_is_integer(open))
        put_row("questions", "%lld, %lld of %lld waiting", member(usage, "Queries", "Count"),
                member(usage, "Queries", "Open"), member(usage, "Queries", "OpenMax"));
    else
        put_row("questions", "%lld", member(usage, "Queries", "Count"));
    put_row("recommendations", "%lld", member(usage, "Recommendations", "Count"));
    put_row("documents", "%lld of %lld, %lld of %lld bytes, %llu %s",
            member(usage, "Documents", "Count"), member(usage, "Documents", "CountMax"),
            member(usage, "Documents", "Bytes"), member(usage, "Documents", "BytesMax"),
            COUNTED(member(usage, "Documents", "Passages"), "passage"));
    put_row("tokens", "%lld read, %lld written within %llu %s", member(usage, "Tokens", "Prompt"),
            member(usage, "Tokens", "Completion"), COUNTED(member(usage, "Tokens", "Days"), "day"));
    print_rates(usage, "Uploads", "uploads");
    print_rates(usage, "Questions", "questions over documents");
}

int cli_usage(struct cli *cli)
{
    json_t *usage = NULL;
    if (!cli_ask_for_user(cli, (struct node_call){.method = "GET"}, "/usage", &usage))
        return EXIT_FAILED;
    if (cli->is_json) {
        struct buf out;
        buf_init(&out, SIZE_MAX / 2);
        buf_put_json_value(&out, usage);
        printf("%.*s\n", STR_ARG(buf_str(&out)));
        buf_fini(&out);
    } else {
        cli_print_usage(cli, usage);
    }
    json_decref(usage);
    return 0;
}

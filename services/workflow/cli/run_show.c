/* SPDX-License-Identifier: MIT
 * run_show.c - a run on a terminal: a line for each step, the question when it stops, its rows at
 * the end. Agents and models wrote these texts, so no control character of them is printed. */
#include "services/workflow/cli/run.h"

#include "shared/base/shown.h"

#include <stdio.h>

enum { SHOWN_MAX_BYTES = 1 << 20 };

static void print_shown(struct str text)
{
    struct buf shown;
    if (text.at == NULL)
        return;
    buf_init(&shown, SHOWN_MAX_BYTES);
    buf_put_shown(&shown, text);
    printf("%.*s", STR_ARG(buf_str(&shown)));
    buf_fini(&shown);
}

/* A text as it is, anything else as JSON. */
static void print_value(const json_t *value)
{
    struct buf b;
    if (json_is_string(value)) {
        print_shown(json_str(value));
        return;
    }
    buf_init(&b, SHOWN_MAX_BYTES);
    buf_put_json_value(&b, value);
    print_shown(b.is_over ? STR("...") : buf_str(&b));
    buf_fini(&b);
}

void run_show_step(const json_t *frame)
{
    struct str agent = json_member_str(frame, "agent");
    struct buf name;
    buf_init(&name, SHOWN_MAX_BYTES);
    buf_put_shown(&name, agent.at == NULL ? STR("") : agent);
    printf("%-32.*s ", STR_ARG(buf_str(&name)));
    buf_fini(&name);
    bool is_yes = str_eq(json_member_str(frame, "decision"), STR("yes"));
    printf("%-3s  %3.0f %%  ", is_yes ? "yes" : "no",
           100 * json_number_value(json_object_get(frame, "confidence")));
    print_shown(json_member_str(frame, "reason"));
    putchar('\n');
}

static void print_field(const char *name, const json_t *field)
{
    struct str type = json_member_str(field, "type");
    struct str about = json_member_str(field, "description");
    printf("    ");
    print_shown(str_of(name));
    if (type.at != NULL) {
        printf(" (");
        print_shown(type);
        putchar(')');
    }
    if (about.at != NULL) {
        printf("  ");
        print_shown(about);
    }
    putchar('\n');
}

static void print_body(const json_t *body)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)body, name, value)
    {
        printf("    ");
        print_shown(str_of(name));
        printf(": ");
        print_value(value);
        putchar('\n');
    }
}

void run_show_stop(const struct run_cli *run)
{
    const json_t *frame = run->stop, *hitl = json_object_get(frame, "hitl");
    const json_t *form = json_object_get(json_object_get(hitl, "form"), "properties");
    struct str deadline = json_member_str(hitl, "deadline");
    const char *name;
    json_t *field;
    struct buf who;
    buf_init(&who, SHOWN_MAX_BYTES);
    run_put_who(&who, run);
    printf("\nThe run waits for a person: %.*s", STR_ARG(buf_str(&who)));
    buf_fini(&who);
    if (deadline.at != NULL) {
        printf(", until ");
        print_shown(deadline);
    }
    puts(".");
    print_body(json_object_get(frame, "messageBody"));
    if (json_object_size(form) > 0)
        puts("  It may be corrected in:");
    json_object_foreach((json_t *)(uintptr_t)form, name, field) print_field(name, field);
}

void run_show_prompt(void)
{
    fputs("Approve? y, n, or a correction (NAME=VALUE, or a new text of the request): ", stdout);
    fflush(stdout);
}

static void print_row(const json_t *row)
{
    size_t i;
    json_t *value;
    json_array_foreach(row, i, value)
    {
        fputs(i == 0 ? "  " : " | ", stdout);
        print_value(value);
    }
    putchar('\n');
}

void run_show_end(const json_t *frame)
{
    const json_t *body = json_object_get(frame, "messageBody");
    const json_t *rows = json_object_get(body, "rows");
    const json_t *count = json_object_get(body, "rowcount");
    size_t i;
    json_t *row;
    if (json_array_size(rows) > 0) {
        putchar('\n');
        print_row(json_object_get(body, "columns"));
        json_array_foreach(rows, i, row) print_row(row);
    }
    if (json_is_integer(count))
        printf("%llu %s\n", COUNTED(json_integer_value(count), "row"));
    puts(json_integer_value(json_object_get(frame, "returnCode")) == 1
             ? "The run is done."
             : "The run has ended without success.");
}

/* SPDX-License-Identifier: MIT
 * check.c - see check.h. */
#include "services/openai/batches/check.h"

#include "services/openai/batches/batches.h"
#include "shared/base/hash.h"
#include "shared/base/mem.h"
#include "shared/queue/lines.h"

#include <stdlib.h>

enum {
    IDS_NR = 1 << 17, /* more than twice BATCH_LINES_MAX */
    ERRORS_MAX = 100,
    ERRORS_MAX_BYTES = 60 << 10,
};

void check_init(struct check *check, struct str models, enum openai_api api)
{
    char salt[2 * sizeof check->salt + 1];
    *check = (struct check){.models = str_copy(models), .api = api};
    check->ids = mem_zeroed_n(IDS_NR, sizeof *check->ids);
    str_random_hex(sizeof check->salt, salt);
    check->salt = hash_fnv64(str_of(salt), 0);
    buf_init(&check->errors, ERRORS_MAX_BYTES);
    buf_put_char(&check->errors, '[');
}

void check_fini(struct check *check)
{
    free(check->ids);
    free(check->models);
    free(check->model);
    buf_fini(&check->errors);
    *check = (struct check){0};
}

static void complain(struct check *check, const char *code, const char *param, const char *message,
                     uint64_t line)
{
    struct buf *b = &check->errors;
    if (check->error_n == ERRORS_MAX)
        return;
    if (check->error_n++ > 0)
        buf_put_char(b, ',');
    buf_printf(b, "{\"code\":\"%s\",\"message\":", code);
    buf_put_json(b, str_of(message));
    buf_lit(b, ",\"param\":");
    if (param == NULL)
        buf_lit(b, "null");
    else
        buf_put_json(b, str_of(param));
    if (line > 0)
        buf_printf(b, ",\"line\":%llu}", (unsigned long long)line);
    else
        buf_lit(b, ",\"line\":null}");
}

/* Notes an id. Returns false if it was there. */
static bool note_id(struct check *check, struct str id)
{
    struct buf text;
    buf_init(&text, 8 * BATCH_CUSTOM_ID_MAX_BYTES);
    struct json_span span = {JSON_SPAN_TEXT, true, {id.at + 1, id.n - 2}};
    buf_put_span_text(&text, &span);
    uint64_t hash = hash_fnv64(buf_str(&text), check->salt) | 1;
    buf_fini(&text);
    for (uint64_t i = hash >> 8;; i++) {
        uint64_t *at = &check->ids[i % IDS_NR];
        if (*at == hash)
            return false;
        if (*at == 0) {
            *at = hash;
            return true;
        }
    }
}

/* Has an engine named the model for that Api? */
static bool find_model(const struct check *check, struct str model)
{
    static const char *const apis[OPENAI_API_NR] = {"chat", "completions", "embeddings"};
    struct lines lines = lines_of(str_of(check->models));
    struct json_span span = {JSON_SPAN_TEXT, true, model};
    struct buf plain, name;
    bool is_found = false;
    if (model.n > OPENAI_MODEL_MAX_BYTES * 6)
        return false;
    buf_init(&plain, OPENAI_MODEL_MAX_BYTES * 6);
    buf_init(&name, OPENAI_MODEL_MAX_BYTES * 18);
    buf_put_span_text(&plain, &span);
    buf_put_name(&name, buf_str(&plain));
    (void)lines_next(&lines); /* "ok" */
    while (!is_found && lines_are_left(&lines)) {
        bool is_it = str_eq(lines_next(&lines), buf_str(&name));
        is_found = str_eq(lines_next(&lines), str_of(apis[check->api])) && is_it;
        (void)lines_next(&lines);
    }
    buf_fini(&plain);
    buf_fini(&name);
    return is_found;
}

/* Most batches are for one model. */
static bool is_model_known(struct check *check, struct str model)
{
    if (check->model == NULL || !str_eq(str_of(check->model), model)) {
        free(check->model);
        check->model = str_copy(model);
        check->is_model_known = find_model(check, model);
    }
    return check->is_model_known;
}

void check_line(struct check *check, struct str text, bool is_long, struct str endpoint)
{
    struct input_line line;
    check->line++;
    if (text.n == 0 && !is_long)
        return;
    check->total++;
    if (check->total > BATCH_LINES_MAX || check->error_n == ERRORS_MAX)
        return;
    if (is_long) {
        complain(check, "line_too_long", NULL, "This line is longer than a request may be.",
                 check->line);
        return;
    }
    input_read_line(text, endpoint, &line);
    if (line.code == NULL && !is_model_known(check, line.model)) {
        line.code = "model_not_found";
        line.param = "body.model";
        line.message = "No engine has named this model for this endpoint within the last hour.";
    }
    if (line.code != NULL)
        complain(check, line.code, line.param, line.message, check->line);
    if (line.custom_id.n > 0 && !note_id(check, line.custom_id))
        complain(check, "duplicate_custom_id", "custom_id",
                 "A line before this one has the same `custom_id`.", check->line);
}

struct str check_errors(struct check *check)
{
    if (check->total == 0)
        complain(check, "empty_file", NULL, "The input file has no lines.", 0);
    if (check->total > BATCH_LINES_MAX)
        complain(check, "too_many_lines", NULL, "The input file has more than 50,000 lines.", 0);
    if (check->error_n == 0)
        return STR("");
    buf_put_char(&check->errors, ']');
    return buf_str(&check->errors);
}

/* SPDX-License-Identifier: MIT
 * rules.c - see rules.h. The first rule that fits decides:
 *
 *   1. an empty request                        no
 *   2. it would delete, drop or overwrite      no
 *   3. the prompt offers RULE and CONTENT      yes, output the one that the first word means
 *   4. the prompt wants SQL                    the SQL in the request, else no
 *   5. all else                                yes, output the request
 */
#include "services/engine/models/rules.h"

#include "shared/text/text.h"

enum { REQUEST_MAX_BYTES = 16 << 10 };

static void put_decision(struct buf *b, bool is_yes, const char *confidence, const char *reason,
                         struct str output)
{
    buf_printf(b, "{\"decision\":\"%s\",\"confidence\":%s,\"reason\":", is_yes ? "yes" : "no",
               confidence);
    buf_put_json(b, str_of(reason));
    buf_lit(b, ",\"output\":");
    buf_put_json(b, output);
    buf_put_char(b, '}');
}

static struct str find_request(struct str prompt)
{
    static const struct str mark = {"Request:", 8};
    struct str rest = prompt, request = prompt;
    while (rest.n > 0) {
        if (str_has_prefix(rest, mark))
            request = (struct str){rest.at + mark.n, rest.n - mark.n};
        const char *line = memchr(rest.at, '\n', rest.n);
        if (line == NULL)
            break;
        rest = (struct str){line + 1, rest.n - (size_t)(line + 1 - rest.at)};
    }
    request = str_trim(request);
    request.n = text_floor(request, request.n < REQUEST_MAX_BYTES ? request.n : REQUEST_MAX_BYTES);
    return request;
}

static bool is_any(const struct text_word *word, const char *const *words)
{
    for (; *words != NULL; words++)
        if (str_eq_nocase(word->here, str_of(*words)))
            return true;
    return false;
}

static bool has_any(struct str text, const char *const *words)
{
    struct text_word word;
    while (text_next_word(&text, &word))
        if (is_any(&word, words))
            return true;
    return false;
}

/* The statement that the request holds: from its first SQL verb to a semicolon or the end. */
static struct str find_sql(struct str request)
{
    static const char *const verbs[] = {"select", "insert", "update", "with", NULL};
    static const char *const joints[] = {"from", "into", "set", "values", NULL};
    struct str rest = request;
    struct text_word word;
    while (text_next_word(&rest, &word)) {
        if (!is_any(&word, verbs))
            continue;
        struct str sql = {word.here.at, (size_t)(request.at + request.n - word.here.at)};
        const char *end = memchr(sql.at, ';', sql.n);
        if (end != NULL)
            sql.n = (size_t)(end - sql.at);
        if (has_any(sql, joints))
            return str_trim(sql);
    }
    return (struct str){NULL, 0};
}

void rules_decide(struct str prompt, struct buf *answer)
{
    static const char *const harmful[] = {"delete", "drop",  "truncate", "destroy", "erase",
                                          "wipe",   "alter", "grant",    "revoke",  NULL};
    static const char *const rule_verbs[] = {"run", "apply", "execute", "check", NULL};
    static const char *const content_verbs[] = {"extract", "save", "store", "add", "insert", NULL};
    static const char *const sql_words[] = {"SQL", NULL};
    static const char *const verbs[] = {"RULE", NULL}, *const other_verbs[] = {"CONTENT", NULL};
    struct str request = find_request(prompt), rest = request;
    /* What stands before the request is what the workflow wants of it. */
    struct str task = {prompt.at, request.n == 0 ? prompt.n : (size_t)(request.at - prompt.at)};
    struct text_word first;
    if (!text_next_word(&rest, &first)) {
        put_decision(answer, false, "0.9", "Built-in rule: the request is empty.", STR(""));
    } else if (has_any(request, harmful)) {
        put_decision(answer, false, "0.9",
                     "Built-in rule: the request would delete or change what is stored; a person "
                     "should look at it.",
                     STR(""));
    } else if (has_any(task, verbs) && has_any(task, other_verbs)) {
        bool is_rule = is_any(&first, rule_verbs), is_content = is_any(&first, content_verbs);
        put_decision(answer, is_rule || is_content, is_rule || is_content ? "0.8" : "0.5",
                     is_rule || is_content
                         ? "Built-in rule: the first word of the request names the kind of work."
                         : "Built-in rule: the first word names no kind of work that is known.",
                     is_rule      ? STR("RULE")
                     : is_content ? STR("CONTENT")
                                  : STR(""));
    } else if (has_any(task, sql_words)) {
        struct str sql = find_sql(request);
        put_decision(answer, sql.n > 0, sql.n > 0 ? "0.8" : "0.6",
                     sql.n > 0 ? "Built-in rule: the request holds the statement itself."
                               : "Built-in rule: without a language model no SQL is written.",
                     sql.n > 0 ? sql : STR(""));
    } else {
        put_decision(answer, true, "0.7", "Built-in rule: nothing speaks against the request.",
                     request);
    }
}

/* SPDX-License-Identifier: MIT
 * rules.c - see rules.h. What an agent does is known by its name if it is one of the shipped ones;
 * else the first that fits decides:
 *
 *   the prompt offers verbs                   route
 *   it asks for SQL, and messageBody has some check
 *   it asks for SQL                           write
 *   all else                                  allow
 *
 *   route   the verb that the first word of the request means; "no" without one
 *   read    (model.Capo) no objection to a request that fits the verb
 *   find    (model.verifyRequest) "yes" if the request names a table that there is
 *   write   the statement that the request holds; or one from every word of it (rules_select.c,
 *           rules_content.c); or the one in messageBody, if it passes `check`
 *   check   the statement in messageBody, against the tables (rules_check.c)
 *   allow   "yes", unless the request would delete, drop or overwrite
 *
 * What people have said to earlier rejections is part of the request (rules_corrections.c). An
 * empty request is a "no" everywhere, and so is one that is longer than the rules read. */
#include "services/engine/models/rules.h"

#include "services/engine/models/rules_internal.h"
#include "shared/base/mem.h"

enum { REASON_MAX_BYTES = 4 << 10, QUOTE_MAX_BYTES = 80 };

enum job { JOB_ROUTE, JOB_READ, JOB_FIND, JOB_WRITE, JOB_CHECK, JOB_ALLOW };

void rules_quote(struct buf *reason, struct str text)
{
    struct str shown = {text.at,
                        text_floor(text, text.n < QUOTE_MAX_BYTES ? text.n : QUOTE_MAX_BYTES)};
    buf_lit(reason, "\"");
    buf_put(reason, shown);
    buf_put(reason, shown.n < text.n ? STR("…\"") : STR("\""));
}

static bool is_in(struct str word, const char *const *words)
{
    for (; *words != NULL; words++)
        if (str_eq_nocase(word, str_of(*words)))
            return true;
    return false;
}

static bool has_any(struct str text, const char *const *words)
{
    struct text_word word;
    while (text_next_word(&text, &word))
        if (is_in(word.here, words))
            return true;
    return false;
}

/* ---- the prompt ---- */

static struct str rest_of_line(struct str text)
{
    return str_trim(str_cut(&text, '\n'));
}

/* The text after `mark` at the start of the first or of the last line that begins with it; `at` is
 * NULL without one. */
static struct str find_line(struct str text, struct str mark, bool is_last)
{
    struct str found = {NULL, 0};
    while (text.n > 0) {
        if (str_has_prefix(text, mark)) {
            found = (struct str){text.at + mark.n, text.n - mark.n};
            if (!is_last)
                break;
        }
        const char *end = memchr(text.at, '\n', text.n);
        if (end == NULL)
            break;
        text = (struct str){end + 1, text.n - (size_t)(end + 1 - text.at)};
    }
    return found;
}

static json_t *read_object(struct str prompt, struct str mark)
{
    char reason[128];
    json_t *value = NULL;
    struct str line = rest_of_line(find_line(prompt, mark, false));
    if (line.n == 0 || !json_parse(line, reason, sizeof reason, &value))
        return NULL;
    if (json_is_object(value))
        return value;
    json_decref(value);
    return NULL;
}

static void read_case(struct rules_case *c, struct str task, struct str prompt)
{
    struct str request = find_line(prompt, STR("Request:"), true);
    c->agent = rest_of_line(find_line(prompt, STR("Agent:"), false));
    c->verb = rest_of_line(find_line(prompt, STR("Verb:"), false));
    c->verbs = rest_of_line(find_line(prompt, STR("Verbs:"), false));
    c->task = task;
    /* A prompt of another kind: what is before the request is what is wanted of it. */
    if (c->agent.n == 0 && task.n == 0 && request.at != NULL)
        c->task = (struct str){prompt.at, (size_t)(request.at - prompt.at)};
    c->tables = read_object(prompt, STR("Tables:"));
    c->body = read_object(prompt, STR("Body:"));
    /* A person corrects a rule as rule_text. */
    struct str rule = json_member_str(c->body, "rule_text");
    c->request = str_trim(rule.n > 0 ? rule : request.at != NULL ? request : prompt);
    rules_read_words(&c->words, c->request);
    if (c->agent.n > 0)
        rules_correct(c, prompt);
}

static bool is_content(const struct rules_case *c)
{
    return str_eq_nocase(c->verb, STR("CONTENT"));
}

static bool is_rule(const struct rules_case *c)
{
    return str_eq_nocase(c->verb, STR("RULE"));
}

static enum job job_of(const struct rules_case *c)
{
    static const struct {
        struct str agent;
        enum job job;
    } shipped[] = {{STR("model.LanguageCapo"), JOB_ROUTE},
                   {STR("model.Capo"), JOB_READ},
                   {STR("model.verifyRequest"), JOB_FIND},
                   {STR("model.ruleToSQL"), JOB_WRITE},
                   {STR("model.requestToExtractEntities"), JOB_WRITE},
                   {STR("model.verifySQL"), JOB_CHECK},
                   {STR("model.verifyUpsert"), JOB_CHECK}};
    static const char *const sql[] = {"SQL", NULL}, *const rule[] = {"RULE", NULL};
    static const char *const content[] = {"CONTENT", NULL};
    for (size_t i = 0; i < sizeof shipped / sizeof *shipped; i++)
        if (str_eq(c->agent, shipped[i].agent))
            return shipped[i].job;
    if (c->agent.n > 0 ? c->verbs.n > 0 : has_any(c->task, rule) && has_any(c->task, content))
        return JOB_ROUTE;
    if (!has_any(c->task, sql))
        return JOB_ALLOW;
    return json_member_str(c->body, "sql_query").n > 0 ? JOB_CHECK : JOB_WRITE;
}

/* ---- the rules ---- */

static void route(const struct rules_case *c, struct rules_decision *d)
{
    static const char *const rule[] = {"run",   "apply",  "execute", "check",  "show",
                                       "list",  "count",  "find",    "get",    "select",
                                       "how",   "which",  "what",    "search", "query",
                                       "zeige", "montre", "muestra", "mostra", NULL};
    static const char *const content[] = {"extract", "save", "store",  "add",    "insert", "create",
                                          "update",  "set",  "rename", "change", "record", NULL};
    struct str verb = {NULL, 0}, rest = c->verbs;
    for (struct str own = str_cut(&rest, ','); own.at != NULL; own = str_cut(&rest, ','))
        if (str_eq_nocase(str_trim(own), c->words.at[0].text))
            verb = str_trim(own);
    if (verb.n == 0 && (rules_is(&c->words, 0, rule) || rules_is(&c->words, 0, content)))
        verb = rules_is(&c->words, 0, rule) ? STR("RULE") : STR("CONTENT");
    if (c->verbs.n > 0 && verb.n > 0 && !str_is_listed(c->verbs, verb))
        verb.n = 0;
    if (verb.n > 0) {
        json_object_set_new(d->output, "verb", json_stringn(verb.at, verb.n));
        rules_say(d, true, "0.8", "the first word of the request names the kind of work.");
        return;
    }
    rules_say(d, false, "0.5", "the first word of the request names no known kind of work. ");
    buf_lit(&d->reason, "Begin with \"run\" to read and with \"extract\" to store");
    buf_put(&d->reason, c->verbs.n > 0 ? STR(", or with one of ") : STR("."));
    buf_put(&d->reason, c->verbs);
    buf_put(&d->reason, c->verbs.n > 0 ? STR(".") : STR(""));
}

/* The word that says what to do: the first one, after what only begins a command. */
static size_t first_verb(const struct rules_case *c)
{
    static const char *const begin[] = {"run",   "extract", "execute", "apply", "please",
                                        "query", "now",     "just",    "check", NULL};
    size_t i = 0;
    while (rules_is(&c->words, i, begin))
        i++;
    return i;
}

static const char *const removing[] = {"delete", "drop",  "truncate", "destroy", "erase",
                                       "wipe",   "alter", "grant",    "revoke",  "remove",
                                       "purge",  "clear", NULL};

static void read_request(const struct rules_case *c, struct rules_decision *d)
{
    static const char *const storing[] = {"add",    "insert", "create", "save", "store",
                                          "update", "change", "rename", "set",  NULL};
    static const char *const reading[] = {"show", "list", "count", "find", "display", "how", NULL};
    size_t i = first_verb(c);
    if (rules_is(&c->words, i, removing)) {
        rules_say(d, false, "0.9",
                  "the request would delete or change the structure of what is stored, and no "
                  "workflow may. Ask for something to be shown, added or changed.");
    } else if (is_rule(c) && rules_is(&c->words, i, storing)) {
        rules_say(d, false, "0.8",
                  "a rule only reads, and this request stores something. Begin it with "
                  "\"extract\" instead of \"run\".");
    } else if (is_content(c) && rules_is(&c->words, i, reading)) {
        rules_say(d, false, "0.8",
                  "content is stored, and this request only reads. Begin it with \"run\" instead "
                  "of \"extract\".");
    } else {
        bool is_known = rules_is(&c->words, i, is_content(c) ? storing : reading);
        rules_say(d, true, is_known ? "0.9" : "0.6", "no objection to the request.");
    }
}

struct str rules_find_object(const struct rules_case *c)
{
    static const char *const passed[] = {"the",  "a",     "an",     "all",    "me",     "of",
                                         "new",  "my",    "how",    "many",   "every",  "us",
                                         "from", "any",   "our",    "top",    "newest", "latest",
                                         "last", "first", "oldest", "recent", NULL};
    size_t i = first_verb(c) + 1;
    while (i < c->words.n && (c->words.at[i].kind != RULES_WORD || rules_is(&c->words, i, passed)))
        i++;
    return i < c->words.n ? c->words.at[i].here : c->request;
}

/* The statement that the request holds: from its first SQL verb to a semicolon or the end. */
static struct str find_sql(struct str request)
{
    static const char *const verbs[] = {"select", "insert", "update", "with", NULL};
    static const char *const joints[] = {"from", "into", "set", "values", NULL};
    struct str rest = request;
    struct text_word word;
    while (text_next_word(&rest, &word)) {
        if (!is_in(word.here, verbs))
            continue;
        struct str sql = {word.here.at, (size_t)(request.at + request.n - word.here.at)};
        const char *end = memchr(sql.at, ';', sql.n);
        if (end != NULL)
            sql.n = (size_t)(end - sql.at);
        return has_any(sql, joints) ? str_trim(sql) : (struct str){NULL, 0};
    }
    return (struct str){NULL, 0};
}

/* Returns whether the request is a statement that names only tables and columns that the prompt
 * lists, a query of its own among them. */
static bool is_good_sql(const struct rules_case *c, struct str sql)
{
    struct buf why;
    buf_init(&why, REASON_MAX_BYTES);
    bool is_good = sql.n > 0 && rules_check_sql(sql, is_content(c), c->tables, &why);
    buf_fini(&why);
    return is_good;
}

static void find_table(const struct rules_case *c, struct rules_decision *d)
{
    struct rules_mention subject = rules_find_subject(c->tables, &c->words);
    if (json_object_size(c->tables) == 0) {
        rules_say(d, false, "0.5",
                  "the prompt lists no tables, so the request cannot be checked. Is the database "
                  "reachable?");
    } else if (subject.table == NULL && is_good_sql(c, find_sql(c->request))) {
        rules_say(d, true, "0.9", "the request contains the statement itself, without a table.");
    } else if (subject.table == NULL) {
        rules_say(d, false, "0.9", "there is no table ");
        rules_quote(&d->reason, rules_find_object(c));
        buf_lit(&d->reason, ". There are ");
        rules_put_tables(&d->reason, c->tables);
        buf_lit(&d->reason, ". Correct the request so that it names one of them.");
    } else {
        rules_say(d, true, "0.9", "the request is about the table ");
        buf_put(&d->reason, str_of(subject.table));
        buf_put_char(&d->reason, '.');
    }
}

static void say_sql(struct rules_decision *d, struct str sql, const char *confidence,
                    const char *reason)
{
    json_object_set_new(d->output, "sql_query", json_stringn(sql.at, sql.n));
    rules_say(d, true, confidence, reason);
}

static void write_sql(struct rules_case *c, struct rules_decision *d)
{
    struct str sql = find_sql(c->request), given = json_member_str(c->body, "sql_query");
    if (c->tables == NULL) { /* a prompt without tables: nothing to check against */
        if (sql.n > 0)
            say_sql(d, sql, "0.8", "the request contains the statement itself.");
        else
            rules_say(d, false, "0.6",
                      "writing SQL needs the tables, which the prompt does not list, or a language "
                      "model.");
        return;
    }
    if (is_good_sql(c, sql)) {
        say_sql(d, sql, "0.8", "the request contains the statement itself.");
        return;
    }
    if (is_content(c))
        rules_write_content(c, d);
    else
        rules_write_select(c, d);
    if (!d->is_yes && is_good_sql(c, given)) {
        buf_clear(&d->reason);
        say_sql(d, given, "0.7", "messageBody contains the statement, and it passes the check.");
    }
}

static void check_sql(const struct rules_case *c, struct rules_decision *d)
{
    struct str sql = json_member_str(c->body, "sql_query");
    struct buf why;
    buf_init(&why, REASON_MAX_BYTES);
    if (sql.n == 0) {
        rules_say(d, false, "0.9", "messageBody has no sql_query to check. Give one.");
    } else if (json_object_size(c->tables) == 0) {
        rules_say(d, false, "0.5",
                  "the prompt lists no tables, so the statement cannot be checked. Is the database "
                  "reachable?");
    } else if (rules_check_sql(sql, is_content(c), c->tables, &why)) {
        rules_say(d, true, "0.8",
                  is_content(c) ? "the statement inserts or updates, and names only tables and "
                                  "columns that exist."
                                : "the statement only reads, and names only tables and columns "
                                  "that exist.");
    } else {
        rules_say(d, false, "0.8", "");
        buf_put(&d->reason, buf_str(&why));
        buf_lit(&d->reason, ". Correct sql_query.");
    }
    buf_fini(&why);
}

static void allow(const struct rules_case *c, struct rules_decision *d)
{
    if (has_any(c->request, removing))
        rules_say(d, false, "0.9",
                  "the request would delete or change stored data; a person should review it.");
    else
        rules_say(d, true, "0.7", "no objection to the request.");
}

static void decide(struct rules_case *c, struct rules_decision *d)
{
    enum job job = job_of(c);
    if (job == JOB_CHECK) {
        check_sql(c, d);
    } else if (c->words.n == 0) {
        rules_say(d, false, "0.9", "the request is empty.");
    } else if (c->request.n > RULES_REQUEST_MAX_BYTES) {
        rules_say(d, false, "0.9",
                  "the request is longer than the 16 KiB that the rules read. Shorten it, or use a "
                  "language model.");
    } else if (c->is_unclear) {
        rules_say(d, false, "0.6",
                  "the rules understand a correction of what is stored only as the whole request, "
                  "or as the name of its table. Write the whole request again, or use a language "
                  "model.");
    } else if (c->agent.n == 0 && has_any(c->request, removing)) {
        allow(c, d);
    } else {
        switch (job) {
        case JOB_ROUTE: route(c, d); break;
        case JOB_READ: read_request(c, d); break;
        case JOB_FIND: find_table(c, d); break;
        case JOB_WRITE: write_sql(c, d); break;
        default: allow(c, d);
        }
    }
}

void rules_decide(struct str task, struct str prompt, struct buf *answer)
{
    struct rules_case *c = mem_zeroed(sizeof *c);
    struct rules_decision d = {.confidence = "0.5", .output = json_object()};
    if (d.output == NULL)
        abort();
    buf_init(&d.reason, REASON_MAX_BYTES);
    read_case(c, task, prompt);
    decide(c, &d);
    buf_printf(answer,
               "{\"decision\":\"%s\",\"confidence\":%s,\"reason\":", d.is_yes ? "yes" : "no",
               d.confidence);
    buf_put_json(answer, buf_str(&d.reason));
    buf_lit(answer, ",\"output\":");
    buf_put_json_value(answer, d.output);
    buf_put_char(answer, '}');
    buf_fini(&d.reason);
    json_decref(d.output);
    json_decref(c->tables);
    json_decref(c->body);
    buf_fini(&c->corrected);
    free(c);
}

/* SPDX-License-Identifier: MIT
 * conversation_file.c - see conversation_file.h. Every line is looked at, so that one run of the
 * command shows every fault. */
#include "services/bots/cli/conversation_file.h"

#include "services/bots/evaluate/conversation.h"
#include "shared/base/nearest.h"
#include "shared/base/repeats.h"
#include "shared/base/shown.h"

#include <errno.h>
#include <stdio.h>

enum { REASON_BYTES = 300, READ_BYTES = 64 << 10 };

struct reading {
    const char *path;
    struct repeats faults; /* by their lines */
    size_t line, fault_n;
};

static void note_fault(struct reading *r, const char *text)
{
    char line[24];
    snprintf(line, sizeof line, "%zu", r->line);
    (void)repeats_add(&r->faults, text, line);
    r->fault_n++;
}

/* A line for each text: of the first line that it is about, and with the others. */
static void put_faults(struct reading *r, struct buf *faults)
{
    size_t shown_n = 0;
    for (size_t i = 0; i < r->faults.n && i < CONVERSATION_FAULTS_MAX; i++) {
        const struct repeat *fault = &r->faults.at[i];
        buf_put_shown(faults, str_of(r->path));
        buf_printf(faults, ":%s: %s", fault->names[0], fault->text);
        if (fault->n > 1) {
            buf_printf(faults, " (%llu %s: ", COUNTED(fault->n, "line"));
            repeat_put_names(faults, fault, 0);
            buf_put_char(faults, ')');
        }
        buf_put_char(faults, '\n');
        shown_n += fault->n;
    }
    if (shown_n < r->fault_n)
        buf_printf(faults, "and %zu more\n", r->fault_n - shown_n);
}

/* json_parse names a line and a column of what it was given, which is one line here. */
static void note_syntax_fault(struct reading *r, char reason[REASON_BYTES])
{
    char text[REASON_BYTES + 32];
    unsigned line, column = 0;
    char *place = strstr(reason, " (line ");
    if (place != NULL && sscanf(place, " (line %u, column %u)", &line, &column) == 2)
        *place = 0;
    snprintf(text, sizeof text, "not JSON: %s at column %u", reason, column);
    note_fault(r, text);
}

static bool is_given(const json_t *value)
{
    return value != NULL && !json_is_null(value);
}

/* It becomes a part of JSON that nodes keep as it is. */
static bool is_id(const json_t *id)
{
    struct str text = json_str(id);
    if (text.at == NULL)
        return json_is_integer(id);
    return text.n > 0 && text.n <= CONVERSATION_NAME_MAX_BYTES &&
           memchr(text.at, '"', text.n) == NULL && memchr(text.at, '\\', text.n) == NULL;
}

static bool is_tagged(const json_t *tagged)
{
    const json_t *name;
    size_t i;
    if (!json_is_array(tagged) || json_array_size(tagged) > CONVERSATION_TAGGED_MAX)
        return false;
    json_array_foreach(tagged, i, name)
    {
        if (!json_is_string(name) || json_string_length(name) > CONVERSATION_NAME_MAX_BYTES)
            return false;
    }
    return true;
}

/* NULL: it is a Message, as nodes take it (services/bots/evaluate/conversation.c). */
static const char *find_fault(const json_t *message)
{
    const json_t *tagged = json_object_get(message, "tagged");
    const json_t *id = json_object_get(message, "id"),
                 *time = json_object_get(message, "timestamp");
    struct str from = json_member_str(message, "from"), text = json_member_str(message, "text");
    if (!json_is_object(message))
        return "a line must be an object such as {\"from\":\"Ann\",\"text\":\"Hello\"}";
    if (from.n == 0 || from.n > CONVERSATION_NAME_MAX_BYTES)
        return "`from` must be a text of 1 to 128 bytes: who wrote the message";
    if (text.n == 0 || text.n > CONVERSATION_TEXT_MAX_BYTES)
        return "`text` must be a text of 1 byte to 64 KiB";
    if (is_given(id) && !is_id(id))
        return "`id` must be a text of 1 to 128 bytes without quotes and backslashes, or a number";
    if (is_given(tagged) && !is_tagged(tagged))
        return "`tagged` must be a list of at most 20 texts of at most 128 bytes";
    if (is_given(time) &&
        (!json_is_string(time) || json_string_length(time) > CONVERSATION_NAME_MAX_BYTES))
        return "`timestamp` must be a text of at most 128 bytes";
    return NULL;
}

/* Members that it does not know are left alone, but not where one that must be there is missing. */
static bool put_misspelt(struct reading *r, json_t *message, const char *member)
{
    const char *name;
    json_t *value;
    char text[REASON_BYTES];
    if (!json_is_object(message) || json_object_get(message, member) != NULL)
        return false;
    json_object_foreach(message, name, value)
    {
        if (!nearest_is_word(str_of(name)) || nearest_of(str_of(name), member).at == NULL)
            continue;
        snprintf(text, sizeof text, "`%s` is missing: there is `%s`", member, name);
        note_fault(r, text);
        return true;
    }
    return false;
}

static void read_line(struct reading *r, struct str line, json_t *messages)
{
    char reason[REASON_BYTES];
    json_t *message = NULL;
    if (str_trim(line).n == 0)
        return;
    if (!str_is_utf8(line)) {
        note_fault(r, "not UTF-8");
        return;
    }
    if (!json_parse(line, reason, sizeof reason, &message)) {
        note_syntax_fault(r, reason);
        return;
    }
    const char *fault = find_fault(message);
    if (fault != NULL && !put_misspelt(r, message, "from") && !put_misspelt(r, message, "text"))
        note_fault(r, fault);
    if (fault == NULL)
        json_array_append(messages, message);
    json_decref(message);
}

bool conversation_file_parse(const char *path, struct str text, struct buf *faults,
                             json_t **ret_messages)
{
    struct reading r = {.path = path};
    json_t *messages = json_array();
    if (str_has_prefix(text, STR("\xef\xbb\xbf")))
        text = (struct str){text.at + 3, text.n - 3};
    while (text.at != NULL) {
        r.line++;
        read_line(&r, str_cut(&text, '\n'), messages);
    }
    if (json_array_size(messages) > CONVERSATION_MESSAGES_MAX)
        note_fault(&r, "a conversation has at most 20000 messages");
    put_faults(&r, faults);
    repeats_fini(&r.faults);
    if (r.fault_n == 0 && json_array_size(messages) == 0) {
        buf_put_shown(faults, str_of(path));
        buf_lit(faults, ": no messages: each line is one, such as "
                        "{\"from\":\"Ann\",\"text\":\"Hello\"}\n");
        r.fault_n = 1;
    }
    if (r.fault_n == 0)
        *ret_messages = messages;
    else
        json_decref(messages);
    return r.fault_n == 0;
}

static bool refuse_file(const char *path, const char *reason, struct buf *faults)
{
    buf_put_shown(faults, str_of(path));
    buf_printf(faults, ": %s\n", reason);
    return false;
}

bool conversation_file_read(const char *path, struct buf *faults, json_t **ret_messages)
{
    struct buf text;
    bool ok = true;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return refuse_file(path, strerror(errno), faults);
    buf_init(&text, CONVERSATION_FILE_MAX_BYTES);
    while (ok && !text.is_over) {
        char bytes[READ_BYTES];
        size_t n = fread(bytes, 1, sizeof bytes, file);
        if (n == 0 && ferror(file))
            ok = refuse_file(path, strerror(errno), faults);
        if (n == 0)
            break;
        buf_put(&text, (struct str){bytes, n});
    }
    if (text.is_over)
        ok = refuse_file(path, "larger than 4 MiB: evaluate a part of it at a time", faults);
    else if (ok)
        ok = conversation_file_parse(path, text.n == 0 ? STR("") : buf_str(&text), faults,
                                     ret_messages);
    buf_fini(&text);
    fclose(file);
    return ok;
}

/* SPDX-License-Identifier: MIT
 * conversation_file.c - see conversation_file.h. Every line is looked at, so that one run of the
 * command shows every fault. */
#include "services/bots/cli/conversation_file.h"

#include "shared/base/shown.h"

#include <errno.h>
#include <stdio.h>

enum { REASON_BYTES = 300, READ_BYTES = 64 << 10, TEXT_MAX_BYTES = 64 << 10, NAME_MAX_BYTES = 128 };

struct reading {
    const char *path;
    struct buf *faults;
    size_t line, fault_n;
};

static void put_fault(struct reading *r, const char *text)
{
    if (r->fault_n++ >= CONVERSATION_FAULTS_MAX)
        return;
    buf_put_shown(r->faults, str_of(r->path));
    buf_printf(r->faults, ":%zu: %s\n", r->line, text);
}

/* json_parse names a line and a column of what it was given, which is one line here. */
static void put_syntax_fault(struct reading *r, char reason[REASON_BYTES])
{
    char text[REASON_BYTES + 32];
    unsigned line, column = 0;
    char *place = strstr(reason, " (line ");
    if (place != NULL && sscanf(place, " (line %u, column %u)", &line, &column) == 2)
        *place = 0;
    snprintf(text, sizeof text, "not JSON: %s at column %u", reason, column);
    put_fault(r, text);
}

/* NULL: it is a Message. */
static const char *find_fault(const json_t *message)
{
    const json_t *tagged = json_object_get(message, "tagged"), *tag;
    const json_t *id = json_object_get(message, "id");
    struct str from = json_member_str(message, "from"), text = json_member_str(message, "text");
    size_t i;
    if (!json_is_object(message))
        return "a line must be an object such as {\"from\":\"Ann\",\"text\":\"Hello\"}";
    if (from.at == NULL)
        return "`from` must be a string: who wrote the message";
    if (from.n == 0 || from.n > NAME_MAX_BYTES)
        return "`from` must have 1 to 128 bytes";
    if (text.at == NULL)
        return "`text` must be a string";
    if (text.n == 0 || text.n > TEXT_MAX_BYTES)
        return "`text` must have 1 byte to 64 KiB";
    if (id != NULL && !json_is_string(id) && !json_is_null(id))
        return "`id` must be a string";
    if (tagged != NULL && !json_is_array(tagged) && !json_is_null(tagged))
        return "`tagged` must be a list of names";
    json_array_foreach(tagged, i,
                       tag) if (!json_is_string(tag)) return "`tagged` must be a list of names";
    return NULL;
}

static void read_line(struct reading *r, struct str line, json_t *messages)
{
    char reason[REASON_BYTES];
    json_t *message = NULL;
    if (str_trim(line).n == 0)
        return;
    if (!str_is_utf8(line)) {
        put_fault(r, "not UTF-8");
        return;
    }
    if (!json_parse(line, reason, sizeof reason, &message)) {
        put_syntax_fault(r, reason);
        return;
    }
    const char *fault = find_fault(message);
    if (fault != NULL)
        put_fault(r, fault);
    else
        json_array_append(messages, message);
    json_decref(message);
}

bool conversation_file_parse(const char *path, struct str text, struct buf *faults,
                             json_t **ret_messages)
{
    struct reading r = {.path = path, .faults = faults};
    json_t *messages = json_array();
    if (str_has_prefix(text, STR("\xef\xbb\xbf")))
        text = (struct str){text.at + 3, text.n - 3};
    while (text.at != NULL) {
        r.line++;
        read_line(&r, str_cut(&text, '\n'), messages);
    }
    if (r.fault_n > CONVERSATION_FAULTS_MAX)
        buf_printf(faults, "and %zu more\n", r.fault_n - CONVERSATION_FAULTS_MAX);
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

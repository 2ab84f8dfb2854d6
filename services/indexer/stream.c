/* SPDX-License-Identifier: MIT
 * stream.c - see stream.h. */
#include "services/indexer/stream.h"

#include "shared/queue/lines.h"

#include <stdio.h>

enum { KEY_MAX_BYTES = 128, CONSUMER_IDLE_MS = 24 * 3600 * 1000 };

static struct str put_key(const struct pipeline *p, char key[KEY_MAX_BYTES])
{
    int n = snprintf(key, KEY_MAX_BYTES, "%sjobs", p->prefix);
    return (struct str){key, (size_t)n};
}

/* Lists them from XINFO's answer: name <name> pending <n> idle <ms>, and in later versions more
 * pairs. */
static void list_old_consumers(const struct blocking_answer *answer, struct buf *names)
{
    struct str name = STR("");
    bool is_empty = false;
    for (size_t i = 0; i + 1 < answer->n; i += 2) {
        uint64_t number = 0;
        bool is_number = str_parse_u64(answer->at[i + 1], &number);
        if (str_eq(answer->at[i], STR("name"))) {
            name = answer->at[i + 1];
        } else if (str_eq(answer->at[i], STR("pending"))) {
            is_empty = is_number && number == 0;
        } else if (str_eq(answer->at[i], STR("idle")) && is_empty && number > CONSUMER_IDLE_MS) {
            buf_put(names, name);
            buf_put_char(names, '\n');
        }
    }
}

void stream_drop_old_consumers(struct pipeline *p)
{
    char key[KEY_MAX_BYTES];
    struct blocking_answer answer;
    struct str jobs = put_key(p, key);
    struct str words[] = {STR("XINFO"), STR("CONSUMERS"), jobs, STR("indexers")};
    if (blocking_command(p->blocking, words, 4, 0, &answer) != ERR_OK)
        return;
    struct buf names;
    buf_init(&names, 1 << 20);
    list_old_consumers(&answer, &names);
    struct lines lines = lines_of(buf_str(&names));
    while (lines_are_left(&lines)) {
        struct str drop[] = {STR("XGROUP"), STR("DELCONSUMER"), jobs, STR("indexers"),
                             lines_next(&lines)};
        if (drop[4].n > 0 && blocking_command(p->blocking, drop, 5, 0, &answer) != ERR_OK)
            break;
    }
    buf_fini(&names);
}

void stream_make_group(struct pipeline *p)
{
    char key[KEY_MAX_BYTES];
    struct blocking_answer answer;
    struct str words[] = {STR("XGROUP"),   STR("CREATE"), put_key(p, key),
                          STR("indexers"), STR("0"),      STR("MKSTREAM")};
    if (blocking_command(p->blocking, words, 6, 0, &answer) == ERR_CONFLICT &&
        !str_has_prefix(str_of(blocking_error(p->blocking)), STR("BUSYGROUP")))
        log_write(LOG_ERROR, "the job stream has no consumer group",
                  LOG_S("error", blocking_error(p->blocking)));
}

static bool copy(char to[STREAM_ID_BYTES], struct str from)
{
    if (from.at == NULL || from.n >= STREAM_ID_BYTES)
        return false;
    memcpy(to, from.at, from.n);
    to[from.n] = 0;
    return true;
}

enum err stream_read(struct pipeline *p, unsigned block_ms, struct stream_entry *ret_entry)
{
    char key[KEY_MAX_BYTES], block[16];
    struct blocking_answer answer;
    snprintf(block, sizeof block, "%u", block_ms);
    struct str words[11] = {STR("XREADGROUP"),   STR("GROUP"), STR("indexers"),
                            str_of(p->consumer), STR("COUNT"), STR("1")};
    size_t n = 6;
    if (block_ms > 0) {
        words[n++] = STR("BLOCK");
        words[n++] = str_of(block);
    }
    words[n++] = STR("STREAMS");
    words[n++] = put_key(p, key);
    words[n++] = STR(">");
    enum err error = blocking_command(p->blocking, words, n, block_ms, &answer);
    if (error == ERR_CONFLICT)
        stream_make_group(p);
    if (error != ERR_OK)
        return error;
    /* jobs, entry, "job", id */
    return answer.n >= 4 && copy(ret_entry->entry, answer.at[1]) &&
                   copy(ret_entry->job, answer.at[3])
               ? ERR_OK
               : ERR_NOT_FOUND;
}

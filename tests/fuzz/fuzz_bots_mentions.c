/* SPDX-License-Identifier: MIT
 * Any bytes as the text of a message: every mention is a part of it, and none is found twice. */
#include "services/bots/rooms/mentions.h"
#include "services/bots/rooms/message.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size}, names[MENTIONS_MAX];
    size_t n = mentions_find(text, names, MENTIONS_MAX);
    assert(n <= MENTIONS_MAX);
    for (size_t i = 0; i < n; i++) {
        assert(names[i].n >= 1 && names[i].n <= 128);
        assert(names[i].at > text.at && names[i].at + names[i].n <= text.at + text.n);
        assert(names[i].at[-1] == '@');
        assert(memchr(names[i].at, '@', names[i].n) == NULL);
        assert(!str_is_utf8(text) || str_is_utf8(names[i]));
        for (size_t k = 0; k < i; k++)
            assert(!str_eq(names[k], names[i]));
    }
    (void)message_is_id(text);
    (void)message_is_room(text);
    assert(message_compare(text, text) == 0);
    return 0;
}

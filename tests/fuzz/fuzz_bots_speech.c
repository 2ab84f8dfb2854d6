/* SPDX-License-Identifier: MIT
 * Any bytes as what a client says in a room, and as a command to the main bot: texts stay within
 * their bounds. */
#include "services/bots/rooms/annex_words.h"
#include "services/bots/rooms/speech.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_command(struct str text, bool is_tagged)
{
    struct annex_words words;
    bool is_for_annex = annex_words_read(text, is_tagged, &words);
    assert(is_for_annex || !is_tagged);
    assert(words.n <= ANNEX_WORDS_MAX);
    assert(words.name.n == 0 ? words.n == 0 : words.name.at[0] == '/');
    for (size_t i = 0; i < words.n; i++) {
        assert(words.words[i].at >= text.at);
        assert(words.words[i].at + words.words[i].n <= text.at + text.n);
        (void)annex_name_of(words.words[i]);
    }
}

static void read_speech(struct str text)
{
    struct json_member members[8];
    struct speech speech;
    char detail[POST_DETAIL_BYTES] = "";
    const char *reason;
    size_t n, at;
    bool is_object;
    if (!json_scan_object(text, members, 8, &n, &reason, &at, &is_object) || n > 8)
        return;
    if (speech_read(members, n, &speech, detail)) {
        assert(detail[0] == 0 && speech.text.n >= 1 && speech.text.n <= MESSAGE_TEXT_MAX_BYTES);
        assert(speech.reply_to.n == 0 || message_is_id(speech.reply_to));
        assert(speech.tagged_n <= POST_TAGS_MAX && str_is_utf8(speech.text));
        for (size_t i = 0; i < speech.tagged_n; i++)
            assert(speech.tagged[i].n >= 1 && speech.tagged[i].n <= USER_MAX_BYTES);
    } else {
        assert(detail[0] != 0);
    }
    speech_fini(&speech);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};
    read_command(text, false);
    read_command(text, true);
    read_speech(text);
    return 0;
}

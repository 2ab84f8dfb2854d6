/* SPDX-License-Identifier: MIT
 * Any bytes as a file of JSON lines: either messages that nodes take, or lines that each name a
 * line of the file. */
#include "services/bots/cli/conversation_file.h"

#include "services/bots/evaluate/conversation.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_faults(struct str faults, size_t line_n)
{
    size_t n = 0;
    assert(faults.n > 0 && faults.at[faults.n - 1] == '\n' && str_is_utf8(faults));
    for (struct str rest = faults; rest.n > 0; n++) {
        struct str line = str_cut(&rest, '\n');
        uint64_t number;
        assert(line.n > 0);
        if (!str_has_prefix(line, STR("f:")) || str_has_prefix(line, STR("f: ")))
            continue;
        (void)str_cut(&line, ':');
        assert(str_parse_u64(str_cut(&line, ':'), &number) && number >= 1 && number <= line_n);
    }
    assert(n <= CONVERSATION_FAULTS_MAX + 1);
}

static void check_messages(const json_t *messages)
{
    const json_t *message;
    size_t i;
    assert(json_array_size(messages) > 0);
    json_array_foreach(messages, i, message)
    {
        assert(json_member_str(message, "from").n > 0);
        assert(json_member_str(message, "text").n > 0);
        assert(json_member_str(message, "text").n <= CONVERSATION_TEXT_MAX_BYTES);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};
    size_t line_n = 1;
    struct buf faults;
    json_t *messages = NULL;
    for (size_t i = 0; i < size; i++)
        line_n += data[i] == '\n';
    buf_init(&faults, CONVERSATION_FAULTS_BYTES);
    if (conversation_file_parse("f", text.n == 0 ? STR("") : text, &faults, &messages))
        check_messages(messages);
    else
        check_faults(buf_str(&faults), line_n);
    json_decref(messages);
    buf_fini(&faults);
    return 0;
}

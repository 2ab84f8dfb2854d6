/* SPDX-License-Identifier: MIT
 * fuzz_hello.c - what comes before TLS is encrypted: it makes no difference in which pieces it
 * comes, and no message is longer than allowed. */
#include "shared/http/wire/hello.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hello whole = {0}, pieces = {0};
    if (size < 2)
        return 0;
    bool is_13 = data[0] & 1, is_good = true;
    size_t step = (size_t)(data[0] >> 1) + 1;
    bool expected = hello_take(&whole, data + 1, size - 1, is_13);
    for (size_t at = 1; at < size && is_good; at += step)
        is_good = hello_take(&pieces, data + at, size - at < step ? size - at : step, is_13);
    require(is_good == expected && whole.messages_n == pieces.messages_n);
    require(!expected || memcmp(&whole, &pieces, sizeof whole) == 0);
    require(!expected || whole.message_left <= HELLO_MOST_BYTES);
    if (size > HELLO_RECORD_HEADER_BYTES)
        require(hello_record_bytes(data + 1) <= HELLO_RECORD_HEADER_BYTES + HELLO_MOST_BYTES);
    return 0;
}

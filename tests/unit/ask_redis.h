/* SPDX-License-Identifier: MIT
 *
 * ask_redis: one command to a Redis server, as an operator would send it.
 */
#ifndef PARLEY_TESTS_UNIT_ASK_REDIS_H
#define PARLEY_TESTS_UNIT_ASK_REDIS_H

#include "shared/redis/blocking.h"

#include <stdio.h>

/* `text`: up to eight words, separated by spaces. Puts the beginning of the first string of the
 * reply into `ret_said`, with a NUL; "" if there is none. Waits up to 20 s for the server. */
static inline enum err ask_server(const struct redis_address *address, const char *text,
                                  char *ret_said, size_t said_size)
{
    struct blocking *blocking = blocking_create(&(struct blocking_config){.address = address,
                                                                          .prefix = "parley:{0}:",
                                                                          .name = "test-operator",
                                                                          .patience_ms = 20000});
    struct str words[8], rest = str_of(text);
    size_t n = 0;
    while (rest.at != NULL)
        words[n++] = str_cut(&rest, ' ');
    struct blocking_answer answer = {0};
    enum err error = blocking_command(blocking, words, n, 0, &answer);
    struct str said = error != ERR_OK || answer.n == 0 ? STR("") : answer.at[0];
    snprintf(ret_said, said_size, "%.*s", STR_ARG(said));
    blocking_destroy(blocking);
    return error;
}

#endif

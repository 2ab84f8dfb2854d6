/* SPDX-License-Identifier: MIT
 * fuzz_request_query.c - query strings as handlers read them: what a parameter holds decodes within
 * its bounds, the second of a name is another one, and a name that is not there is not found. */
#include "shared/http/request/request.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct server server;

static void require(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"Topic", "User", "Wait", "Hash", "a"};
    h2o_req_t h2o;
    memset(&h2o, 0, sizeof h2o);
    h2o_mem_init_pool(&h2o.pool);
    if (server.scratch.max == 0)
        buf_init(&server.scratch, 1 << 20);
    struct request r = {.exchange.h2o = &h2o,
                        .server = &server,
                        .query = {size == 0 ? NULL : (const char *)data, size}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct str one = request_param(&r, names[i]), two = request_second_param(&r, names[i]);
        struct str plus = request_param_plus(&r, names[i]);
        require(one.n <= size && two.n <= size && plus.n <= size);
        require((one.at == NULL) == (plus.at == NULL));
        require(one.n == plus.n);
        for (size_t k = 0; k < one.n; k++)
            require(one.at[k] == plus.at[k] || (one.at[k] == ' ' && plus.at[k] == '+'));
        require(two.at == NULL || two.n == 0 || one.at == NULL || two.at != one.at);
        (void)request_param_is_true(&r, names[i]);
    }
    require(request_param(&r, "no such name\1").at == NULL ||
            memmem(data, size, "no such name\1", 13) != NULL);
    h2o_mem_clear_pool(&h2o.pool);
    return 0;
}

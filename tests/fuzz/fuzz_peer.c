/* SPDX-License-Identifier: MIT
 * fuzz_peer.c - lists of trusted proxies and X-Forwarded-For: the input is a list, a NUL, and up to
 * two headers. Whatever they hold, the address found is the peer's or one that has a
 * network. */
#include "shared/http/request/peer.h"

#include <arpa/inet.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct server_config config;
static struct server server = {.config = &config};

static socklen_t get_peername(h2o_conn_t *conn, struct sockaddr *ret_address)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)ret_address;
    v4->sin_family = AF_INET;
    v4->sin_addr.s_addr = htonl(0x0a010203); /* 10.1.2.3 */
    return sizeof *v4;
}

static void look_up(struct str *headers, unsigned n)
{
    static const h2o_conn_callbacks_t callbacks = {.get_peername = get_peername};
    h2o_conn_t conn = {.callbacks = &callbacks};
    h2o_req_t h2o;
    memset(&h2o, 0, sizeof h2o);
    h2o_mem_init_pool(&h2o.pool);
    h2o.conn = &conn;
    for (unsigned i = 0; i < n; i++)
        if (headers[i].at != NULL)
            h2o_add_header_by_str(&h2o.pool, &h2o.headers, H2O_STRLIT("x-forwarded-for"), 1, NULL,
                                  headers[i].at, headers[i].n);
    struct request r = {.exchange.h2o = &h2o, .server = &server};
    struct str address = peer_address(&r);
    if (address.n == 0 || address.n >= PEER_TEXT_MAX)
        abort();
    struct buf network;
    buf_init(&network, PEER_TEXT_MAX);
    peer_put_network(&network, address);
    if (network.n == 0 || network.is_over)
        abort();
    buf_fini(&network);
    h2o_mem_clear_pool(&h2o.pool);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = {(const char *)data, size};
    char list[512], reason[128];
    struct str parts[3];
    for (unsigned i = 0; i < 3; i++)
        parts[i] = str_cut(&rest, 0);
    if (parts[0].at == NULL || parts[0].n >= sizeof list)
        return 0;
    memcpy(list, parts[0].at, parts[0].n);
    list[parts[0].n] = 0;
    if (!peer_check_list(list, reason, sizeof reason))
        memcpy(list, "10.0.0.0/8", sizeof "10.0.0.0/8");
    config.trusted_proxies = list;
    look_up(parts + 1, 2);
    return 0;
}

/* SPDX-License-Identifier: MIT
 * rights.c - see rights.h. Accounts of former generations of the book live on until the process
 * ends (accounts.h), so those that requests and sockets hold can be compared with the new ones. */
#include "shared/http/access/rights.h"

#include "shared/base/clock.h"
#include "shared/http/access/audit.h"
#include "shared/http/request/stream.h"
#include "shared/http/websocket/websocket.h"
#include "shared/http/wire/leave.h"

void rights_init(struct server *server)
{
    if (server->gate.accounts != NULL)
        server->rights.seen = gate_accounts(&server->gate);
}

void rights_list(struct request *r)
{
    r->next = r->server->rights.requests;
    if (r->next != NULL)
        r->next->previous = r;
    r->server->rights.requests = r;
    r->is_listed = true;
}

void rights_unlist(struct request *r)
{
    if (!r->is_listed)
        return;
    *(r->previous == NULL ? &r->server->rights.requests : &r->previous->next) = r->next;
    if (r->next != NULL)
        r->next->previous = r->previous;
    r->is_listed = false;
}

void rights_end(struct request *r, enum err why)
{
    if (r->revoked == ERR_OK)
        r->revoked = why;
    if (r->is_answered && !r->is_stream)
        return;
    if (r->stream != NULL)
        stream_revoke(r->stream);
    leave_notify(r);
}

void rights_check(struct server *server)
{
    const struct accounts *accounts = gate_accounts(&server->gate);
    struct request *r, *next;
    if (accounts == server->rights.seen)
        return;
    if (server->is_first)
        audit_accounts(server, server->rights.seen, accounts);
    server->rights.seen = accounts;
    websocket_close_revoked(server, accounts);
    /* What is answered here is disposed of later, from the loop. */
    for (r = server->rights.requests; r != NULL; r = next) {
        next = r->next;
        if (r->identity == NULL && !account_keeps_right(accounts, r->account))
            rights_end(r, ERR_REVOKED);
    }
}

uint64_t rights_left_ms(uint64_t expires_s)
{
    uint64_t now_s = clock_wall_s();
    if (now_s < expires_s)
        return (expires_s - now_s) * 1000;
    return now_s < expires_s + TOKEN_SKEW_S ? (expires_s + TOKEN_SKEW_S - now_s) * 1000 : 0;
}

/* SPDX-License-Identifier: MIT
 * rights.c - see rights.h. Accounts of former generations of the book live on until the process
 * ends (accounts.h), so those that requests and sockets hold can be compared with the new ones. */
#include "shared/http/access/rights.h"

#include "shared/http/access/audit.h"
#include "shared/http/access/gate.h"

const struct accounts *rights_check(struct server *server)
{
    const struct accounts *accounts = gate_accounts(server->gate);
    if (accounts == server->gate->seen)
        return NULL;
    if (server->is_first)
        audit_accounts(server, server->gate->seen, accounts);
    server->gate->seen = accounts;
    /* What is answered here is disposed of later, from the loop. */
    list_for_each (struct request, r, &server->requests.with_account, link)
        if (r->identity == NULL && !account_keeps_right(accounts, r->account))
            request_revoke(r, ERR_REVOKED);
    return accounts;
}

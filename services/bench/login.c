/* SPDX-License-Identifier: MIT
 * login.c - `--tokens`: each account logs in once, before anything is measured, and its requests
 * bear the token instead of a signature. */
#include "services/bench/conn.h"

#include "services/bench/bench.h"
#include "shared/auth/signed.h"
#include "shared/base/clock.h"

#include <errno.h>
#include <stdio.h>

enum { LOGIN_MAX_US = 10 * 1000000 };

struct login {
    struct bench_conn conn; /* first: a handler finds its login by this address */
    const struct account *account;
    struct buf *token;
    int status;
};

static void ask(struct bench_conn *conn)
{
    struct login *login = (struct login *)conn;
    struct buf *out = bench_conn_begin(conn);
    buf_printf(out, "GET %s/api/login?", conn->target->prefix);
    signed_put_query(out, login->account->name, login->account->secret);
    buf_printf(out, " HTTP/1.1\r\nHost: %s\r\n\r\n", conn->target->host);
    bench_conn_send(conn);
}

static void on_response(struct bench_conn *conn, const struct bench_response *response)
{
    struct login *login = (struct login *)conn;
    struct str token;
    login->status = response->status;
    if (response->status == 200 && bench_json_member(response->body, STR("Token"), &token) &&
        token.n > 2)
        buf_put(login->token, (struct str){token.at + 1, token.n - 2});
    conn->loop->is_stopped = true;
}

static bool run(const struct bench *bench, const struct account *account, struct buf *ret_token)
{
    static const struct bench_conn_handler handler = {.on_response = on_response, .on_again = ask};
    struct bench_conn_loop loop;
    struct login login = {.account = account, .token = ret_token};
    if (!bench_conn_loop_init(&loop)) {
        fprintf(stderr, "parley: cannot create an event loop: %s\n", strerror(errno));
        return false;
    }
    bench_conn_init(&login.conn, &loop, &bench->targets[0], &handler);
    ask(&login.conn);
    bench_conn_loop_run(&loop, clock_mono_us() + LOGIN_MAX_US);
    bench_conn_fini(&login.conn);
    bench_conn_loop_fini(&loop);
    if (ret_token->n > 0)
        return true;
    fprintf(stderr, "parley: no token for %.*s: ", STR_ARG(account->name));
    if (login.status != 0)
        fprintf(stderr, "the node answered %d\n", login.status);
    else
        fprintf(stderr, "the node did not answer\n");
    return false;
}

bool bench_login(struct bench *bench)
{
    return run(bench, bench->frontend, &bench->frontend_token) &&
           run(bench, bench->engine, &bench->engine_token);
}

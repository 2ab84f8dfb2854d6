/* SPDX-License-Identifier: MIT
 * cli.c - shared by the commands of this folder: lines, signals, settings (cli.h). */
#include "services/users/cli/cli.h"

#include "shared/auth/login.h"
#include "shared/http/client/client.h"
#include "shared/http/client/endpoint.h"
#include "shared/op/signals.h"

#include <openssl/crypto.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { COMPLAINT_MAX_BYTES = 500, URL_MAX_BYTES = 1024, EXIT_FAILED = 1 };

/* --- lines ------------------------------------------------------------------------------------ */

bool cli_complain(struct cli *cli, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (cli->complaints != NULL) {
        char line[COMPLAINT_MAX_BYTES];
        vsnprintf(line, sizeof line, format, list);
        buf_clear(cli->complaints);
        buf_put(cli->complaints, str_of(line));
        buf_terminate(cli->complaints);
    } else {
        status_line_complain(&cli->progress, format, list);
    }
    va_end(list);
    return false;
}

/* --- signals ---------------------------------------------------------------------------------- */

void cli_catch_signals(struct cli *cli)
{
    signal(SIGXFSZ, SIG_IGN); /* a file as large as `ulimit -f` allows is an error of write() */
    cli->signal_fd = signals_catch();
}

bool cli_wait(struct cli *cli, struct pollfd *fd, int ms)
{
    struct pollfd fds[2] = {{.fd = cli->signal_fd, .events = POLLIN}, {.fd = -1}};
    if (fd != NULL)
        fds[1] = *fd;
    if (poll(fds, 2, ms) > 0 && fds[0].revents != 0)
        cli->is_interrupted = true;
    return !cli->is_interrupted;
}

/* --- settings --------------------------------------------------------------------------------- */

bool cli_refuse(struct cli *cli, const char *reason)
{
    return cli_complain(cli, "%s (see parley %s --help)", reason, cli->command);
}

bool cli_read_urls(struct cli *cli)
{
    struct str rest = str_of(config_text(cli->config, "url"));
    while (rest.at != NULL) {
        struct str url = http_base_url(str_trim(str_cut(&rest, ',')));
        if (cli->url_n == CLI_URLS_MAX)
            return cli_refuse(cli, "--url takes at most 16 nodes");
        if (!http_is_base_url(url) || url.n > URL_MAX_BYTES)
            return cli_refuse(cli, "--url takes http://HOST[:PORT] or https://HOST[:PORT], without "
                                   "user information or a query");
        cli->urls[cli->url_n++] = url;
    }
    return true;
}

bool cli_check_account(struct cli *cli)
{
    const char *fault = login_fault(cli->config);
    return fault == NULL || cli_refuse(cli, fault);
}

int cli_run(struct cli *cli, run_word *run)
{
    static const struct http_client_settings http = {.user_agent = "parley-user/" PARLEY_VERSION};
    cli->secret = login_read_secret(cli->config);
    if (cli->secret == NULL)
        return EXIT_FAILED;
    cli->client = http_client_create(&http);
    int code = run(cli);
    if (code == 0 && fflush(stdout) != 0) {
        cli_complain(cli, "cannot write to standard output");
        code = EXIT_FAILED;
    }
    status_line_clear(&cli->progress);
    http_client_destroy(cli->client);
    OPENSSL_cleanse(cli->secret, strlen(cli->secret));
    free(cli->secret);
    if (cli->signal_fd >= 0)
        close(cli->signal_fd);
    return code;
}

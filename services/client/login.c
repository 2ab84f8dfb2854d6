/* SPDX-License-Identifier: MIT
 * login.c - `parley login` and `parley logout`: the file in which a client's URL, account and
 * secret are kept (shared/auth/login.h). What no flag gives is asked for on a terminal, the secret
 * without showing it. It is checked with a node before it is kept. */
#include "services/commands/commands.h"

#include "shared/auth/login.h"
#include "shared/auth/signed.h"
#include "shared/base/shown.h"
#include "shared/base/trust.h"
#include "shared/http/client/node_calls.h"
#include "shared/op/whole_file.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

enum {
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_AWAY = 3,
    EXIT_REFUSED = 4,
    TYPED_MAX_BYTES = 4096,
    FILE_MAX_BYTES = 32 << 10,
    SHOWN_MAX_BYTES = 1024
};

static const struct config_group login_options = {
    "Flags",
    (const struct config_option[]){
        OPTION_TEXT("url", "URL[,URL...]", "http://127.0.0.1:8080",
                    "The nodes, or what balances their load. Requests go to the first; if it "
                    "does not respond, to the next."),
        {0}}};

/* --- asking on the terminal ------------------------------------------------------------------- */

static bool complain(const char *path, const char *reason)
{
    fprintf(stderr, "parley: %s: %s\n", path, reason);
    return false;
}

/* One line; false at its end or when it is too long. */
static bool read_line(char *room, size_t size)
{
    if (fgets(room, (int)size, stdin) == NULL || strchr(room, '\n') == NULL)
        return false;
    struct str line = str_trim(str_of(room));
    memmove(room, line.at, line.n);
    room[line.n] = 0;
    return true;
}

static bool ask(const char *what, const char *fallback, char room[TYPED_MAX_BYTES])
{
    fprintf(stderr, "%s%s%s%s: ", what, fallback == NULL ? "" : " [",
            fallback == NULL ? "" : fallback, fallback == NULL ? "" : "]");
    if (!read_line(room, TYPED_MAX_BYTES))
        return false;
    if (room[0] == 0 && fallback != NULL)
        snprintf(room, TYPED_MAX_BYTES, "%s", fallback);
    return room[0] != 0;
}

/* Without an echo. Signals must not leave the terminal like that, so it discards them meanwhile. */
static bool ask_secret(char room[TYPED_MAX_BYTES])
{
    struct termios shown, hidden;
    if (tcgetattr(STDIN_FILENO, &shown) != 0)
        return false;
    hidden = shown;
    hidden.c_lflag &= (tcflag_t) ~(ECHO | ISIG);
    fputs("Secret (it is not shown): ", stderr);
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden);
    bool is_good =
        read_line(room, TYPED_MAX_BYTES) && room[0] != 0 && strchr(room, 3 /* Ctrl-C */) == NULL;
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &shown);
    fputc('\n', stderr);
    return is_good;
}

static bool is_given(const struct config *config, const char *name)
{
    const struct config_value *value = config_get(config, name);
    return value->text != NULL && value->text[0] != 0 && strcmp(value->source, "default") != 0;
}

/* Asks for what is missing. Returns false when the person gave nothing. */
static bool ask_for_rest(struct config *config, char secret[TYPED_MAX_BYTES])
{
    char typed[TYPED_MAX_BYTES];
    bool is_good = true;
    if (!is_given(config, "url") && (is_good = ask("URL", config_text(config, "url"), typed)))
        config_fill(config, "url", typed, "terminal");
    if (is_good && !is_given(config, "user") && (is_good = ask("Account", NULL, typed)))
        config_fill(config, "user", typed, "terminal");
    if (is_good && !is_given(config, "secret-file"))
        is_good = ask_secret(secret);
    return is_good;
}

/* The secret, from the file or the terminal; the caller wipes and frees it. NULL after a line; its
 * exit code is in *ret_code. */
static char *read_secret(struct config *config, int *ret_code)
{
    char typed[TYPED_MAX_BYTES] = "", *secret = NULL;
    bool is_whole = is_given(config, "user") && is_given(config, "secret-file");
    *ret_code = EXIT_USAGE;
    if (!is_whole && (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))) {
        fputs(
            "parley: login asks for what is missing on a terminal, and there is none: give --user "
            "and --secret-file, which may be /dev/stdin (see parley login --help)\n",
            stderr);
        return NULL;
    }
    if (!is_whole && !ask_for_rest(config, typed)) {
        fputs("parley: nothing was kept\n", stderr);
        return NULL;
    }
    *ret_code = EXIT_FAILED;
    secret = is_given(config, "secret-file")
                 ? config_read_secret(config_text(config, "secret-file"))
                 : str_copy(str_of(typed));
    OPENSSL_cleanse(typed, sizeof typed);
    if (secret == NULL || str_is_utf8(str_of(secret)))
        return secret;
    fputs("parley: the secret is not UTF-8\n", stderr);
    OPENSSL_cleanse(secret, strlen(secret));
    free(secret);
    return NULL;
}

/* --- checking --------------------------------------------------------------------------------- */

static int code_of(enum node_calls_fault fault)
{
    return fault == NODE_CALLS_AWAY      ? EXIT_AWAY
           : fault == NODE_CALLS_REFUSED ? EXIT_REFUSED
                                         : EXIT_FAILED;
}

/* The account's role by the first node that answers, in `role`. Returns an exit code. */
static int check(struct node_calls *calls, struct buf *role)
{
    static const struct node_call call = {.method = "GET", .path = "/api/login", .is_once = true};
    json_t *json = NULL;
    if (!node_calls_open(calls))
        return EXIT_FAILED;
    if (!node_calls_ask(calls, &call, &json))
        return code_of(calls->fault);
    struct str name = json_member_str(json, "Role");
    if (name.at != NULL)
        buf_put_shown(role, name);
    else
        node_calls_complain(calls, "--url: /api/login is not answered by a Parley node");
    json_decref(json);
    return name.at != NULL ? 0 : EXIT_REFUSED;
}

/* --- keeping ---------------------------------------------------------------------------------- */

static bool write_file(const char *path)
{
    struct whole_file file;
    struct buf text;
    buf_init(&text, FILE_MAX_BYTES);
    login_put_file(&text);
    whole_file_make_folders(path);
    bool is_good = whole_file_open(&file, path, true) && whole_file_write(&file, buf_str(&text)) &&
                   whole_file_commit(&file);
    const char *reason = errno == ENOTSUP ? "exists and is not a regular file" : strerror(errno);
    whole_file_leave(&file);
    OPENSSL_cleanse(text.at, text.n);
    buf_fini(&text);
    return is_good || complain(path, reason);
}

static int check_and_keep(struct config *config, const char *path)
{
    struct node_calls calls = {.config = config, .command = "login", .service = "broker"};
    struct buf role;
    buf_init(&role, SHOWN_MAX_BYTES);
    int code = !node_calls_read(&calls) ? EXIT_USAGE : check(&calls, &role);
    node_calls_close(&calls);
    if (code == 0 && !write_file(path))
        code = EXIT_FAILED;
    if (code == 0)
        printf("logged in at %s as %s (role %.*s); kept in %s\n", config_text(config, "url"),
               config_text(config, "user"), STR_ARG(buf_str(&role)), path);
    buf_fini(&role);
    return code;
}

/* --- the commands ----------------------------------------------------------------------------- */

/* The caller frees; NULL after a line. */
static char *path_of(const struct config *config)
{
    char *path = login_path(config);
    if (path == NULL)
        fprintf(stderr, "parley: neither $HOME nor $XDG_CONFIG_HOME is set: where should the login "
                        "be kept? --login-file FILE\n");
    return path;
}

static int run_login(const struct config *given)
{
    struct config config = *given; /* its values are filled in */
    char *path = path_of(given), *secret = NULL;
    int code = EXIT_USAGE;
    if (path != NULL)
        secret = read_secret(&config, &code);
    if (secret != NULL) {
        login_set(config_text(&config, "url"), config_text(&config, "user"), secret);
        OPENSSL_cleanse(secret, strlen(secret));
        code = check_and_keep(&config, path);
    }
    free(secret);
    free(path);
    return code;
}

static int run_logout(const struct config *config)
{
    char *path = path_of(config);
    int code = path == NULL ? EXIT_USAGE : 0;
    if (path != NULL && unlink(path) == 0)
        printf("logged out: %s is removed\n", path);
    else if (path != NULL && (errno == ENOENT || errno == ENOTDIR))
        printf("there was no login in %s\n", path);
    else if (path != NULL && !complain(path, strerror(errno)))
        code = EXIT_FAILED;
    free(path);
    return code;
}

const struct command login_command = {
    .name = "login",
    .summary = "keep the URL, account and secret that other commands use",
    .is_flags_only = true,
    .has_own_login = true,
    .about =
        "usage: parley login [--url URL] [--user NAME] [--secret-file FILE]\n"
        "\n"
        "Checks an account with a node and keeps URL, account and secret in a file of mode 0600, "
        "so\n"
        "that ask, engine, evaluate, sign, top, audit, user, recommendations and workflow need no\n"
        "--url, --user and --secret-file. What no flag gives is asked for; the secret is not "
        "shown.\n"
        "\n"
        "A flag beats a variable, a variable beats --config, and --config beats the login, one\n"
        "setting at a time. The secret is used for its own account and its own URLs only.\n"
        "\n",
    .more =
        "\n"
        "Exit codes\n"
        "  0  logged in\n"
        "  1  the secret cannot be read, or the file cannot be written\n"
        "  2  a wrong flag or value, or no terminal to ask on\n"
        "  3  no node answered\n"
        "  4  the node refused the account, or what answers is no Parley node\n"
        "Nothing is kept except with 0.\n"
        "\n"
        "Examples\n"
        "  parley login\n"
        "  parley login --url https://parley.example.org --user User_1 --secret-file user.secret\n"
        "  pass show parley | parley login --user User_1 --secret-file /dev/stdin\n"
        "  parley login --user Operator_1 --login-file ~/.config/parley/operator.yaml\n"
        "  PARLEY_LOGIN_FILE=~/.config/parley/operator.yaml parley top\n",
    .groups = (const struct config_group *const[]){&login_options, &signed_options,
                                                   &login_file_options, &trust_options, NULL},
    .run = run_login,
};

const struct command logout_command = {
    .name = "logout",
    .summary = "remove what parley login keeps",
    .is_flags_only = true,
    .has_own_login = true,
    .about =
        "usage: parley logout [--login-file FILE]\n"
        "\n"
        "Removes the file in which parley login keeps URL, account and secret. The account stays\n"
        "valid, and so does its secret in other places.\n"
        "\n",
    .more = "\n"
            "Exit codes\n"
            "  0  there is no login any more\n"
            "  1  the file cannot be removed\n"
            "  2  a wrong flag\n",
    .groups = (const struct config_group *const[]){&login_file_options, NULL},
    .run = run_logout,
};

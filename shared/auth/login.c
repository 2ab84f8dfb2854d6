/* SPDX-License-Identifier: MIT
 * login.c - see login.h. */
#include "shared/auth/login.h"

#include "shared/auth/accounts.h"
#include "shared/base/yaml_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MAX_BYTES = 16 << 10, FILE_DEPTH_MAX = 2, REASON_BYTES = 1024, SOURCE_BYTES = 4200 };

const struct config_group login_file_options = {
    "Login",
    (const struct config_option[]){
        OPTION_TEXT(
            "login-file", "FILE", NULL,
            "The file that parley login writes and that other commands read for what no flag "
            "or variable gives. Unset: parley/login.yaml in $XDG_CONFIG_HOME, or in "
            "~/.config."),
        {0}}};

static struct {
    char *path, *url, *user, *secret; /* all NULL: there is no login */
    bool is_new; /* of login_set: its secret is read already, perhaps from a pipe */
} login;

/* --- the file --------------------------------------------------------------------------------- */

char *login_path(const struct config *config)
{
    const char *given = config_text(config, "login-file");
    const char *folder = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    char *path = NULL;
    int n = 0;
    if (given != NULL && given[0] != 0)
        n = asprintf(&path, "%s", given);
    else if (folder != NULL && folder[0] == '/') /* XDG: one that is not absolute is ignored */
        n = asprintf(&path, "%s/parley/login.yaml", folder);
    else if (home != NULL && home[0] == '/')
        n = asprintf(&path, "%s/.config/parley/login.yaml", home);
    if (n < 0)
        abort();
    return path;
}

static bool complain(const char *reason)
{
    fprintf(stderr, "parley: the login in %s: %s\n", login.path, reason);
    return false;
}

/* Others must not be able to read the secret, nor to choose where it is used. */
static bool check_mode(const struct stat *info)
{
    char reason[REASON_BYTES];
    if (!S_ISREG(info->st_mode))
        return complain("it is not a regular file");
    if (info->st_uid != geteuid())
        return complain("it belongs to another user: parley login writes one of your own");
    if ((info->st_mode & 077) == 0)
        return true;
    snprintf(reason, sizeof reason,
             "others may read it (mode %04o), so it is not used: chmod 600 it, and change the "
             "secret if others could log in here",
             (unsigned)info->st_mode & 07777);
    return complain(reason);
}

static char **find_member(struct str name)
{
    return str_eq(name, STR("url"))      ? &login.url
           : str_eq(name, STR("user"))   ? &login.user
           : str_eq(name, STR("secret")) ? &login.secret
                                         : NULL;
}

static bool read_pairs(yaml_document_t *document)
{
    const yaml_node_t *root = yaml_document_get_root_node(document);
    const yaml_node_pair_t *pair = NULL, *end = NULL;
    if (root != NULL && root->type == YAML_MAPPING_NODE) {
        pair = root->data.mapping.pairs.start;
        end = root->data.mapping.pairs.top;
    }
    for (; pair < end; pair++) {
        char **member = find_member(yaml_tree_scalar(yaml_document_get_node(document, pair->key)));
        struct str value = yaml_tree_scalar(yaml_document_get_node(document, pair->value));
        if (member != NULL && *member == NULL && value.n > 0 && strlen(value.at) == value.n)
            *member = str_copy(value);
    }
    return (login.url != NULL && login.user != NULL && login.secret != NULL) ||
           complain("it has no url, user and secret: parley login writes a new one");
}

static bool parse(struct str text)
{
    static const struct yaml_tree_limits limits = {.depth_max = FILE_DEPTH_MAX, .is_plain = true};
    struct yaml_tree_fault fault;
    yaml_document_t document;
    if (!yaml_tree_read(text, &limits, &fault, &document))
        return complain("it is not YAML: parley login writes a new one");
    bool is_good = read_pairs(&document);
    yaml_document_delete(&document);
    return is_good;
}

static bool read_open_file(int fd)
{
    char bytes[FILE_MAX_BYTES];
    struct stat info;
    if (fstat(fd, &info) != 0)
        return complain(strerror(errno));
    if (!check_mode(&info))
        return false;
    ssize_t n = read(fd, bytes, sizeof bytes);
    bool is_good = n < 0               ? complain(strerror(errno))
                   : n == sizeof bytes ? complain("it is too large")
                                       : parse((struct str){bytes, (size_t)n});
    OPENSSL_cleanse(bytes, sizeof bytes);
    return is_good;
}

static bool read_file(bool is_given)
{
    int fd = open(login.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && !is_given && (errno == ENOENT || errno == ENOTDIR || errno == EACCES)) {
        login_forget();
        return true;
    }
    if (fd < 0)
        return complain(errno == ENOENT ? "there is none: parley login writes it"
                                        : strerror(errno));
    bool is_good = read_open_file(fd);
    close(fd);
    return is_good;
}

/* --- settings --------------------------------------------------------------------------------- */

static bool is_unset(const struct config *config, const char *name)
{
    if (!config_has(config, name))
        return false;
    const struct config_value *value = config_get(config, name);
    return value->text == NULL || value->text[0] == 0 || strcmp(value->source, "default") == 0;
}

bool login_use(struct config *config)
{
    if (!config_has(config, "login-file") ||
        (!is_unset(config, "url") && !is_unset(config, "user") && !is_unset(config, "secret-file")))
        return true;
    const char *given = config_text(config, "login-file");
    login_forget();
    login.path = login_path(config);
    if (login.path == NULL)
        return true;
    if (!read_file(given != NULL && given[0] != 0))
        return false;
    if (login.secret == NULL)
        return true;
    if (is_unset(config, "url"))
        config_fill(config, "url", login.url, "login");
    if (is_unset(config, "user"))
        config_fill(config, "user", login.user, "login");
    return true;
}

void login_set(const char *url, const char *user, const char *secret)
{
    char *path = login.path;
    login.path = NULL;
    login_forget();
    login.path = path;
    login.is_new = true;
    login.url = str_copy(str_of(url));
    login.user = str_copy(str_of(user));
    login.secret = str_copy(str_of(secret));
}

void login_forget(void)
{
    if (login.secret != NULL)
        OPENSSL_cleanse(login.secret, strlen(login.secret));
    free(login.path);
    free(login.url);
    free(login.user);
    free(login.secret);
    login.path = login.url = login.user = login.secret = NULL;
    login.is_new = false;
}

/* --- whether it may be used ------------------------------------------------------------------- */

static struct str without_slashes(struct str url)
{
    url = str_trim(url);
    while (url.n > 0 && url.at[url.n - 1] == '/')
        url.n--;
    return url;
}

/* Returns whether `url` is one of the login's nodes, or leads to one. */
static bool is_of_login(struct str url)
{
    struct str rest = str_of(login.url);
    while (rest.at != NULL) {
        struct str node = without_slashes(str_cut(&rest, ','));
        if (node.n == 0 || !str_has_prefix(url, node))
            continue;
        char next = url.n == node.n ? '/' : url.at[node.n];
        if (next == '/' || next == '?' || next == '#')
            return true;
    }
    return false;
}

static bool are_of_login(struct str urls)
{
    while (urls.at != NULL) {
        struct str url = without_slashes(str_cut(&urls, ','));
        if (url.n > 0 && !is_of_login(url))
            return false;
    }
    return true;
}

static const char *fault_of_login(const char *user, struct str urls)
{
    static char reason[REASON_BYTES];
    if (strcmp(user, login.user) != 0)
        snprintf(reason, sizeof reason,
                 "--secret-file is missing: the login in %s is that of %s, not of --user %s",
                 login.path, login.user, user);
    else if (!are_of_login(urls))
        snprintf(reason, sizeof reason,
                 "--secret-file is missing: the login in %s is for %s, and its secret is used for "
                 "no other --url (parley login --url %.*s keeps another one)",
                 login.path, login.url, STR_ARG(urls));
    else
        return NULL;
    return reason;
}

const char *login_fault_of_url(const struct config *config, struct str urls)
{
    const char *user = config_text(config, "user");
    const char *secret_file = config_text(config, "secret-file");
    bool has_file = secret_file != NULL && secret_file[0] != 0;
    if ((user == NULL || user[0] == 0) && !has_file)
        return "--user and --secret-file are missing: the account that signs, and a file that "
               "holds its secret; or keep both with parley login";
    if (user == NULL || user[0] == 0)
        return "--user is missing: the account that signs";
    if (strlen(user) > ACCOUNT_NAME_MAX_BYTES)
        return "--user takes at most 128 bytes";
    if (has_file)
        return NULL;
    if (login.secret == NULL)
        return "--secret-file is missing: a file that holds the account's secret; or keep it with "
               "parley login";
    return fault_of_login(user, urls);
}

const char *login_fault(const struct config *config)
{
    bool has_url = config_has(config, "url") && config_text(config, "url") != NULL;
    return login_fault_of_url(config, has_url ? str_of(config_text(config, "url")) : STR(""));
}

char *login_read_secret(const struct config *config)
{
    const char *secret_file = config_text(config, "secret-file");
    if (!login.is_new && secret_file != NULL && secret_file[0] != 0)
        return config_read_secret(secret_file);
    return str_copy(str_of(login.secret));
}

const char *login_source(const struct config *config)
{
    static char source[SOURCE_BYTES];
    const char *secret_file = config_text(config, "secret-file");
    bool has_file = secret_file != NULL && secret_file[0] != 0;
    if (!has_file && login.path == NULL)
        return "the secret";
    snprintf(source, sizeof source, "%s %s", has_file ? "--secret-file" : "the login in",
             has_file ? secret_file : login.path);
    return source;
}

/* --- writing ---------------------------------------------------------------------------------- */

void login_put_file(struct buf *b)
{
    buf_lit(b, "# Kept by parley login. Anybody who has this file can act as this account.\nurl: ");
    buf_put_json(b, str_of(login.url));
    buf_lit(b, "\nuser: ");
    buf_put_json(b, str_of(login.user));
    buf_lit(b, "\nsecret: ");
    buf_put_json(b, str_of(login.secret));
    buf_put_char(b, '\n');
}

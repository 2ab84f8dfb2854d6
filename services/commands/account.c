/* SPDX-License-Identifier: MIT
 * account.c - `parley account`: lists, adds and removes accounts in the accounts file and gives
 * them new secrets. It only needs the file: nodes notice the change (services/node/serve.c). */
#include "services/commands/account_file.h"
#include "services/commands/account_key.h"
#include "services/commands/account_list.h"
#include "services/commands/commands.h"

#include "shared/auth/accounts_edit.h"
#include "shared/auth/secret.h"
#include "shared/base/clock.h"
#include "shared/base/config.h"
#include "shared/base/mem.h"

#include <openssl/crypto.h>
#include <signal.h>
#include <stdio.h>

enum { EXIT_FAILED = 1, EXIT_USAGE = 2, UNTIL_CHARS = 20, OWN_MEMBERS = 5, DROP_MS = 1000 };

/* Options of `add` that are members of an account, as the file calls them. */
static const struct {
    const char *flag, *member;
} limits[] = {
    {"role", "role"},
    {"namespace", "namespace"},
    {"weight", "weight"},
    {"max-waiting", "max_waiting"},
    {"max-rate", "max_rate"},
    {"upload-rate", "upload_rate"},
    {"max-nonces", "max_nonces"},
    {"max-stored", "max_stored"},
    {"max-stored-per-user", "max_stored_per_user"},
    {"requests-per-minute", "requests_per_minute"},
    {"tokens-per-day", "tokens_per_day"},
    {"max-concurrent", "max_concurrent"},
    {"dialect", "dialect"},
};
enum { LIMIT_NR = sizeof limits / sizeof *limits };

static const struct config_group account_options = {
    "Flags",
    (const struct config_option[]){
        OPTION_TEXT("accounts", "FILE", NULL,
                    "The accounts file, as for parley serve. add makes it if it does not exist."),
        OPTION_CHOICE("role", "frontend|user|engine|operator", NULL,
                      "For add, required: what the account may do."),
        OPTION_TEXT("secret-file", "FILE", NULL,
                    "For add and rotate: writes the new secret to FILE, with mode 0600, instead of "
                    "showing it. rotate replaces FILE; add refuses one that exists."),
        OPTION_TEXT(
            "secret-from", "FILE", NULL,
            "For add and rotate: takes the secret in FILE. Unset: a secret of 192 random bits "
            "is generated."),
        OPTION_BOOL(
            "hashed", "off",
            "For add and rotate: stores only a hash of the generated secret. Such an account "
            "cannot sign requests: it logs in with its secret over HTTPS and uses tokens. Not "
            "for engines. rotate keeps a hashed secret hashed."),
        OPTION_NUMBER(
            "grace-seconds", "N", "86400", 0, 31536000,
            "For rotate: for how many seconds the former secret works too, so that clients "
            "can be changed one by one. 0: it ends at once, for a secret that has leaked."),
        OPTION_TEXT("namespace", "NAME", NULL,
                    "For add: the account shares users and topics only with accounts of the same "
                    "namespace."),
        OPTION_TEXT("weight", "X", NULL,
                    "For add: its share of the engines compared with other accounts, 0.01 to 1000. "
                    "Unset: 1."),
        OPTION_TEXT("max-waiting", "N", NULL, "For add: open queries per user. Unset: 100."),
        OPTION_TEXT("max-rate", "N", NULL, "For add: requests a second. Unset: 100000."),
        OPTION_TEXT("upload-rate", "N", NULL,
                    "For add: uploads a minute of each user; ten times as many an hour. Unset: 5."),
        OPTION_TEXT("max-nonces", "N", NULL, "For add: signed requests a day. Unset: 10000000."),
        OPTION_TEXT("max-stored", "BYTES", NULL,
                    "For add: bytes stored for all its users. Unset: no limit."),
        OPTION_TEXT("max-stored-per-user", "BYTES", NULL,
                    "For add: bytes stored for each of its users. Unset: no limit."),
        OPTION_TEXT("requests-per-minute", "N", NULL,
                    "For add: requests a minute to /v1, 1 to 10000. Unset: no limit."),
        OPTION_TEXT("tokens-per-day", "N", NULL,
                    "For add: tokens that models may read and write for it through /v1 on a day "
                    "(UTC). Unset: no limit."),
        OPTION_TEXT("max-concurrent", "N", NULL,
                    "For add: requests to /v1 at a time, 1 to 1000. Unset: no limit."),
        OPTION_CHOICE("dialect", "deployed", NULL,
                      "For add: the dialect in which its requests are answered."),
        OPTION_BOOL("revoke", "off",
                    "For key: raises the key's generation, which ends the former key and what is "
                    "open on nodes for the account, and prints the new key."),
        OPTION_BOOL("json", "off", "Prints the result as one JSON object."),
        {0}}};

struct account_run {
    const struct config *config;
    const char *path;
    struct str name;
    char *secret; /* the new one, in the clear; cleansed at the end */
    struct buf hash;
    char until[UNTIL_CHARS + 1];
    struct account_file file;
    struct buf out; /* the new text of the file */
};

static bool refuse(const char *reason)
{
    fprintf(stderr, "parley: %s (see parley account --help)\n", reason);
    return false;
}

static bool complain(const struct account_run *x, const char *reason)
{
    fprintf(stderr, "parley: %s: %s\n", x->path, reason);
    return false;
}

static bool is_json(const struct account_run *x)
{
    return config_number(x->config, "json") != 0;
}

/* --- secrets ---------------------------------------------------------------------------------- */

static bool make_secret(struct account_run *x, bool is_hashed)
{
    const char *from = config_text(x->config, "secret-from");
    if (from != NULL) {
        x->secret = config_read_secret(from);
        return x->secret != NULL;
    }
    x->secret = mem_alloc(SECRET_CHARS + 1);
    secret_generate(x->secret);
    buf_init(&x->hash, SECRET_HASH_CHARS);
    if (is_hashed)
        secret_put_hash(&x->hash, str_of(x->secret));
    return true;
}

static struct str none(void)
{
    return (struct str){NULL, 0};
}

/* The members that hold the new secret: one of them. */
static size_t put_secret_members(const struct account_run *x, struct account_member *members)
{
    bool is_hashed = x->hash.n > 0;
    members[0] = (struct account_member){"secret", is_hashed ? none() : str_of(x->secret)};
    members[1] = (struct account_member){"secret_hash", is_hashed ? buf_str(&x->hash) : none()};
    return 2;
}

/* A former secret that has ended stays in the file until the next change of the file. Each costs a
 * few readings of the file: of thousands, the rest are left to the changes after this one. */
static bool drop_ended(struct account_run *x, struct buf *text, char *reason)
{
    static const char *const names[] = {"former_secret", "former_hash", "former_until"};
    struct account_member members[3];
    struct accounts *accounts;
    uint64_t end_ms = clock_mono_ms() + DROP_MS;
    bool ok = true;
    for (unsigned i = 0; i < 3; i++)
        members[i] = (struct account_member){names[i], none()};
    if (text->n == 0 || !accounts_parse(buf_str(text), reason, ACCOUNTS_REASON_BYTES, &accounts))
        return true; /* the change itself says what is wrong */
    for (size_t i = 0; ok && i < accounts_count(accounts) && clock_mono_ms() < end_ms; i++) {
        const struct account *account = accounts_at(accounts, i);
        if (account->former == NULL || account->former_until_s > clock_wall_s())
            continue;
        struct buf next;
        buf_init(&next, ACCOUNTS_FILE_MAX_BYTES);
        ok = accounts_edit_set(buf_str(text), account->name, members, 3, &next, reason);
        if (ok) {
            buf_fini(text);
            *text = next;
        } else {
            buf_fini(&next);
        }
    }
    accounts_destroy(accounts);
    return ok;
}

/* The secret is on disk before an account has it, so that it cannot be lost; and it is in its place
 * only after the account has it, so that no client takes a secret that does not work. */
static bool save(struct account_run *x, bool may_replace_secret)
{
    const char *secret_path = config_text(x->config, "secret-file");
    struct whole_file new_file = {.fd = -1}, secret_file = {.fd = -1};
    bool ok = secret_path == NULL || x->secret == NULL ||
              secret_file_write(&secret_file, secret_path, may_replace_secret, x->secret);
    ok = ok && account_file_write(&x->file, buf_str(&x->out), &new_file) &&
         account_file_commit(&x->file, &new_file);
    if (ok && secret_file.temporary != NULL && !whole_file_commit(&secret_file)) {
        fprintf(stderr, "parley: %s: the secret cannot be written: it is shown instead\n",
                secret_path);
        printf("%s\n", x->secret);
        ok = false;
    }
    whole_file_leave(&new_file);
    whole_file_leave(&secret_file);
    return ok;
}

static void print_result(const struct account_run *x, const char *what, const char *role)
{
    const char *secret_file = config_text(x->config, "secret-file");
    bool shows =
        x->secret != NULL && secret_file == NULL && config_text(x->config, "secret-from") == NULL;
    if (is_json(x)) {
        struct buf b;
        buf_init(&b, SIZE_MAX / 2);
        buf_lit(&b, "{\"account\":");
        buf_put_json(&b, x->name);
        buf_printf(&b, ",\"%s\":true", what);
        if (role != NULL)
            buf_printf(&b, ",\"role\":\"%s\"", role);
        if (shows) {
            buf_lit(&b, ",\"secret\":");
            buf_put_json(&b, str_of(x->secret));
        }
        if (x->until[0] != 0)
            buf_printf(&b, ",\"former_until\":\"%s\"", x->until);
        buf_lit(&b, "}\n");
        fwrite(b.at, 1, b.n, stdout);
        if (b.at != NULL)
            OPENSSL_cleanse(b.at, b.n);
        buf_fini(&b);
        return;
    }
    printf("%s %.*s\n", what, STR_ARG(x->name));
    if (shows)
        printf("secret (shown only now): %s\n", x->secret);
    else if (x->secret != NULL && secret_file != NULL)
        printf("secret written to %s\n", secret_file);
    if (x->until[0] != 0)
        printf("the former secret works until %s\n", x->until);
    printf("nodes that run notice it within 5 seconds\n");
}

/* --- list, add, rotate, remove ---------------------------------------------------------------- */

static bool run_list(struct account_run *x)
{
    return account_list_print(x->path, is_json(x));
}

static bool run_add(struct account_run *x)
{
    char reason[ACCOUNTS_REASON_BYTES];
    struct account_member members[OWN_MEMBERS + LIMIT_NR];
    const char *role = config_text(x->config, "role");
    if (!make_secret(x, config_number(x->config, "hashed") != 0) ||
        !account_file_open(&x->file, x->path, true))
        return false;
    size_t n = put_secret_members(x, members);
    for (unsigned i = 0; i < LIMIT_NR; i++) {
        const char *value = config_text(x->config, limits[i].flag);
        members[n++] = (struct account_member){limits[i].member, value ? str_of(value) : none()};
    }
    if (!drop_ended(x, &x->file.text, reason) ||
        !accounts_edit_add(buf_str(&x->file.text), x->name, members, n, &x->out, reason))
        return complain(x, reason);
    if (!save(x, false))
        return false;
    print_result(x, "added", role);
    return true;
}

/* The secret that has been the current one, as the former one. */
static size_t put_former_members(struct account_run *x, const struct account *account,
                                 struct account_member *members)
{
    uint64_t grace_s = config_number(x->config, "grace-seconds");
    bool is_kept = grace_s > 0;
    if (is_kept) {
        struct buf until;
        buf_init(&until, UNTIL_CHARS);
        buf_put_timestamp(&until, clock_wall_s() + grace_s);
        buf_put_char(&until, 'Z');
        memcpy(x->until, until.at, until.n);
        buf_fini(&until);
    }
    members[0] = (struct account_member){"former_secret",
                                         is_kept && !account->is_hashed ? account->secret : none()};
    members[1] = (struct account_member){"former_hash",
                                         is_kept && account->is_hashed ? account->secret : none()};
    members[2] = (struct account_member){"former_until", is_kept ? str_of(x->until) : none()};
    return 3;
}

static bool change_secret(struct account_run *x, char *reason)
{
    struct account_member members[OWN_MEMBERS];
    struct accounts *accounts;
    if (!accounts_parse(buf_str(&x->file.text), reason, ACCOUNTS_REASON_BYTES, &accounts))
        return false;
    const struct account *account = accounts_find(accounts, x->name);
    bool ok = account != NULL;
    if (!ok) {
        accounts_explain_missing(accounts, x->name, reason);
    } else if (make_secret(x, config_number(x->config, "hashed") || account->is_hashed)) {
        size_t n = put_former_members(x, account, members);
        n += put_secret_members(x, members + n);
        ok = accounts_edit_set(buf_str(&x->file.text), x->name, members, n, &x->out, reason);
    } else {
        reason[0] = 0; /* said already */
        ok = false;
    }
    accounts_destroy(accounts);
    return ok;
}

static bool run_rotate(struct account_run *x)
{
    char reason[ACCOUNTS_REASON_BYTES];
    if (!account_file_open(&x->file, x->path, false))
        return false;
    if (!drop_ended(x, &x->file.text, reason) || !change_secret(x, reason))
        return reason[0] != 0 && complain(x, reason);
    if (!save(x, true))
        return false;
    print_result(x, "rotated", NULL);
    return true;
}

static bool run_remove(struct account_run *x)
{
    char reason[ACCOUNTS_REASON_BYTES];
    struct whole_file new_file = {.fd = -1};
    if (!account_file_open(&x->file, x->path, false))
        return false;
    if (!drop_ended(x, &x->file.text, reason) ||
        !accounts_edit_remove(buf_str(&x->file.text), x->name, &x->out, reason))
        return complain(x, reason);
    bool ok = account_file_write(&x->file, buf_str(&x->out), &new_file) &&
              account_file_commit(&x->file, &new_file);
    whole_file_leave(&new_file);
    if (ok)
        print_result(x, "removed", NULL);
    return ok;
}

static bool run_key(struct account_run *x)
{
    bool revokes = config_number(x->config, "revoke") != 0;
    return account_key_print(&x->file, x->path, x->name, revokes, is_json(x));
}

/* --- words ------------------------------------------------------------------------------------ */

static const struct word {
    const char *word;
    bool (*run)(struct account_run *x);
    bool takes_name, makes_secret, adds;
} words[] = {
    {"list", run_list, false, false, false},    {"add", run_add, true, true, true},
    {"remove", run_remove, true, false, false}, {"rotate", run_rotate, true, true, false},
    {"key", run_key, true, false, false},
};

static bool is_given(const struct config *c, const char *name)
{
    const char *source = config_get(c, name)->source;
    return source != NULL && strcmp(source, "flag") == 0;
}

/* A flag that has no effect is a mistake. */
static bool check_flags(const struct config *c, const struct word *word)
{
    static const char *const secret_flags[] = {"secret-file", "secret-from", "hashed"};
    for (unsigned i = 0; i < LIMIT_NR; i++)
        if (!word->adds && is_given(c, limits[i].flag))
            return config_wrong(limits[i].flag, "is a flag of parley account add");
    for (unsigned i = 0; i < 3; i++)
        if (!word->makes_secret && is_given(c, secret_flags[i]))
            return config_wrong(secret_flags[i], "is a flag of parley account add and rotate");
    if ((!word->makes_secret || word->adds) && is_given(c, "grace-seconds"))
        return config_wrong("grace-seconds", "is a flag of parley account rotate");
    if (word->run != run_key && is_given(c, "revoke"))
        return config_wrong("revoke", "is a flag of parley account key");
    if (word->adds && config_text(c, "role") == NULL)
        return config_wrong("role", "is required: frontend, user, engine or operator");
    if (word->makes_secret && config_number(c, "hashed") && config_text(c, "secret-from") != NULL)
        return config_wrong("hashed", "needs a generated secret: a hash of one that people chose "
                                      "can be guessed. Leave out --secret-from");
    return true;
}

static const struct word *read_words(struct account_run *x)
{
    const struct config *c = x->config;
    const struct word *word = NULL;
    x->path = config_text(c, "accounts");
    for (size_t i = 0; i < sizeof words / sizeof *words && c->argument_n > 0; i++)
        if (strcmp(words[i].word, c->arguments[0]) == 0)
            word = &words[i];
    if (word == NULL)
        abort(); /* not one of account_command.words */
    if (c->argument_n != 1u + word->takes_name) {
        refuse(word->takes_name ? "give the name of one account" : "list takes no name");
        return NULL;
    }
    if (word->takes_name)
        x->name = str_of(c->arguments[1]);
    if (word->takes_name &&
        (x->name.n == 0 || x->name.n > ACCOUNT_NAME_MAX_BYTES || !str_is_utf8(x->name))) {
        refuse("the name of an account is 1 to 128 bytes of UTF-8");
        return NULL;
    }
    if (x->path == NULL) {
        config_wrong("accounts", "is required: the YAML file of accounts");
        return NULL;
    }
    return check_flags(c, word) ? word : NULL;
}

static int run_account(const struct config *config)
{
    struct account_run x = {.config = config, .file.fd = -1};
    const struct word *word = read_words(&x);
    if (word == NULL)
        return EXIT_USAGE;
    signal(SIGXFSZ, SIG_IGN); /* a file as large as `ulimit -f` allows is an error of write() */
    buf_init(&x.out, ACCOUNTS_FILE_MAX_BYTES);
    bool ok = word->run(&x);
    account_file_close(&x.file);
    buf_fini(&x.out);
    buf_fini(&x.hash);
    if (x.secret != NULL)
        OPENSSL_cleanse(x.secret, strlen(x.secret));
    free(x.secret);
    return ok ? 0 : EXIT_FAILED;
}

const struct command account_command = {
    .name = "account",
    .summary = "list, add, remove accounts, give them new secrets, or print their keys",
    .words = "list|add|remove|rotate|key",
    .about = "usage: parley account list --accounts FILE [--json]\n"
             "       parley account add NAME --role ROLE --accounts FILE [flags]\n"
             "       parley account rotate NAME --accounts FILE [--grace-seconds N] [flags]\n"
             "       parley account remove NAME --accounts FILE\n"
             "       parley account key NAME --accounts FILE [--revoke] [--json]\n"
             "\n"
             "Changes the accounts file. Running nodes notice the change within 5 seconds.\n"
             "  list    prints the accounts, without their secrets\n"
             "  add     adds an account after the others and shows its secret once\n"
             "  rotate  gives an account a new secret. The former one works too for\n"
             "          --grace-seconds, then its tokens, polls, streams and sockets end\n"
             "  remove  removes an account. What it has open on nodes ends with status 401; its\n"
             "          users and their topics stay stored\n"
             "  key     prints the key of an account, for programs that take one (sk-...)\n"
             "\n"
             "The file is locked while it is changed and replaced as a whole, with its owner and\n"
             "mode. Comments and the order of accounts stay.\n"
             "\n",
    .more = "\n"
            "Exit codes\n"
            "  0  success\n"
            "  1  the file cannot be read or is read-only, or the account exists or does not\n"
            "  2  invalid argument, flag or value\n"
            "\n"
            "Examples\n"
            "  parley account add Frontend_2 --role frontend --accounts accounts.yaml \\\n"
            "      --secret-file frontend_2.secret\n"
            "  parley account rotate Inference_1 --grace-seconds 3600 --accounts accounts.yaml\n"
            "  parley account list --accounts accounts.yaml --json | jq -r '.accounts[].account'\n",
    .groups = (const struct config_group *const[]){&account_options, NULL},
    .run = run_account,
};

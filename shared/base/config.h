/* SPDX-License-Identifier: MIT
 *
 * config: settings by flag > environment > file > default. Options are table rows that also produce
 * --help and shell completion, so every flag has a help text. Related rows form a group; commands
 * list the groups they use, so a shared option is declared once. Used from main before threads
 * start; values live until exit.
 *
 * Flags: `--name value`, `--name=value`; a boolean also `--name` alone. The environment variable of
 * `--listen` is PARLEY_LISTEN. The file (--config FILE or PARLEY_CONFIG) is YAML: `listen: value`.
 */
#ifndef PARLEY_BASE_CONFIG_H
#define PARLEY_BASE_CONFIG_H

#include "shared/base/str.h"

enum config_kind { CONFIG_TEXT, CONFIG_NUMBER, CONFIG_BOOL };

struct config_option {
    const char *name; /* "listen"; NULL ends a group */
    enum config_kind kind;
    const char *metavar;  /* "ADDR", shown in --help */
    const char *fallback; /* default as text; NULL: none */
    uint64_t min, max;    /* CONFIG_NUMBER */
    const char *help;     /* one or more sentences */
    const char *choices;  /* "json|text": the only values; NULL: any */
    bool is_list;         /* CONFIG_TEXT: each further flag adds a line to the value */
};

/* Rows of a group of options. FALLBACK: the default as text; NULL: none. */
#define OPTION_TEXT(NAME, METAVAR, FALLBACK, HELP)                                                 \
    {                                                                                              \
        .name = NAME, .kind = CONFIG_TEXT, .metavar = METAVAR, .fallback = FALLBACK, .help = HELP  \
    }
/* CHOICES: such as "json|text". */
#define OPTION_CHOICE(NAME, CHOICES, FALLBACK, HELP)                                               \
    {                                                                                              \
        .name = NAME, .kind = CONFIG_TEXT, .choices = CHOICES, .fallback = FALLBACK, .help = HELP  \
    }
#define OPTION_NUMBER(NAME, METAVAR, FALLBACK, MIN, MAX, HELP)                                     \
    {                                                                                              \
        .name = NAME, .kind = CONFIG_NUMBER, .metavar = METAVAR, .fallback = FALLBACK, .min = MIN, \
        .max = MAX, .help = HELP                                                                   \
    }
#define OPTION_BOOL(NAME, FALLBACK, HELP)                                                          \
    {                                                                                              \
        .name = NAME, .kind = CONFIG_BOOL, .fallback = FALLBACK, .help = HELP                      \
    }

/* Must outlive the configuration that is read with it. */
struct config_group {
    const char *title; /* above its options in --help */
    const struct config_option *options;
};

/* --check-config, for commands that can print what would run. */
extern const struct config_group config_check_options;

struct config_value {
    const char *text;   /* NULL when unset; else NUL-terminated */
    uint64_t number;    /* CONFIG_NUMBER; CONFIG_BOOL: 0 or 1 */
    const char *source; /* "flag", "environment", "file", "default", of config_fill, or NULL */
};

struct config {
    const struct config_option **options; /* of all groups; ends with NULL */
    struct config_value *values;          /* same order */
    const char **arguments;               /* positional arguments, in order */
    size_t argument_n;
};

enum config_outcome { CONFIG_READY, CONFIG_HELP, CONFIG_WRONG };

/* Returns the options of all groups in one list, in order, ending with NULL; the caller frees it. A
 * group that is listed twice counts once. Two options with the same name are our own bug and
 * abort. */
const struct config_option **
config_list_options(const struct config_group *const *groups) must_check;
/* Returns whether the group at `at` is in the list before. */
bool config_is_repeated(const struct config_group *const *groups,
                        const struct config_group *const *at);

/* Reads argv (without program and subcommand names). `groups` ends with NULL. CONFIG_HELP: --help
 * was given and the rest is valid. CONFIG_WRONG: one line was written to standard error; exit with
 * 2. */
enum config_outcome config_read(struct config *config, const struct config_group *const *groups,
                                const char *command, int argc, char **argv) must_check;
void config_fini(struct config *config);

bool config_has(const struct config *config, const char *name);
/* Aborts if no option has that name: that is our own bug. */
const struct config_value *config_get(const struct config *config, const char *name);
const char *config_text(const struct config *config, const char *name);
uint64_t config_number(const struct config *config, const char *name);

/* Sets an option to a copy of `text`, which must be valid for it; anything else is our own bug and
 * aborts. */
void config_fill(struct config *config, const char *name, const char *text, const char *source);

/* Writes the options of a --help page to standard output: group by group, then --check-config (if
 * the command has it) and --config. */
void config_print_help(const struct config_group *const *groups);

/* Returns whether a value may be repeated: a URL with user information may hold a password. */
bool config_may_show(const char *text);
/* Writes "parley: --<flag>: <reason>" to standard error, with the value that was read last, if the
 * reason begins with "takes" or "names"; false. A value that may hold a password is left out. */
bool config_wrong(const char *flag, const char *reason);

/* Reads a secret file and trims surrounding white space. Returns NULL, with a line on standard
 * error, if the file cannot be read, is empty, is larger than 4095 bytes or contains a NUL. The
 * caller frees the result. */
char *config_read_secret(const char *path);

#endif

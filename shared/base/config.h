/* SPDX-License-Identifier: MIT
 *
 * config: settings by flag > environment > file > default. Options are rows, which also print
 * --help and completion words, so a flag cannot exist without its text. Rows that belong together
 * are a group; a command names the groups that it takes, so that an option which several of them
 * have stands once. Used from main before threads start; values live until exit.
 *
 * Flags: `--name value`, `--name=value`; a boolean also `--name` alone. The environment twin of
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
};

/* Lives as long as what was read with it. */
struct config_group {
    const char *title; /* above its options in --help */
    const struct config_option *options;
};

/* --check-config: of commands that can say what would run. */
extern const struct config_group config_check_options;

struct config_value {
    const char *text;   /* NULL when unset; else NUL-terminated */
    uint64_t number;    /* CONFIG_NUMBER; CONFIG_BOOL: 0 or 1 */
    const char *source; /* "flag", "environment", "file", "default" or NULL */
};

struct config {
    const struct config_option **options; /* of all groups; ends with NULL */
    struct config_value *values;          /* same order */
    const char **arguments;               /* what is no flag, in order */
    size_t argument_n;
};

enum config_outcome { CONFIG_READY, CONFIG_HELP, CONFIG_WRONG };

/* The options of all groups in one list, in order, which ends with NULL and is the caller's to
 * free. A group that is named twice counts once; two options of one name are a bug of ours and
 * abort. */
const struct config_option **
config_list_options(const struct config_group *const *groups) must_check;

/* Reads argv (without program and subcommand names). `groups` ends with NULL. CONFIG_HELP: --help
 * was asked for and nothing is wrong with it. CONFIG_WRONG: one clear line was written to standard
 * error; exit with 2. */
enum config_outcome config_read(struct config *config, const struct config_group *const *groups,
                                const char *command, int argc, char **argv) must_check;
void config_fini(struct config *config);

bool config_has(const struct config *config, const char *name);
/* Aborts when there is no option of that name: that is our own bug. */
const struct config_value *config_get(const struct config *config, const char *name);
const char *config_text(const struct config *config, const char *name);
uint64_t config_number(const struct config *config, const char *name);

/* Writes the options part of a --help page to standard output: group by group, then --check-config,
 * where it is one of them, and --config. */
void config_print_help(const struct config_group *const *groups);

/* Writes "parley: --<flag>: <reason>" to standard error; false. */
bool config_wrong(const char *flag, const char *reason);

/* Reads a whole file that holds a secret and trims white space at its ends. NULL, with a line on
 * standard error, when it cannot be read, is empty, is larger than 4095 bytes or holds a NUL. The
 * caller frees. */
char *config_read_secret(const char *path);

#endif

/* SPDX-License-Identifier: MIT
 * config_environment.c - see config_environment.h. */
#include "shared/base/config_environment.h"

#include "shared/base/shown.h"

#include <ctype.h>
#include <stdio.h>
#include <unistd.h>

static const char prefix[] = "PARLEY_";

enum { PREFIX_BYTES = sizeof prefix - 1, SHOWN_MAX_BYTES = 1024 };

/* What others than `parley` take (./dev, the tests, docker compose), and the option for which it
 * may be mistaken: a command that has that option warns. */
static const struct of_others {
    const char *name, *option;
} of_others[] = {
    {"PARLEY_CONFIG", NULL}, {"PARLEY_BIN", NULL},      {"PARLEY_LLM_URL", "llm"},
    {"PARLEY_SEED", NULL},   {"PARLEY_PORT", "listen"}, {"PARLEY_REDIS_PORT", "redis"},
    {"PARLEY_SHOW", NULL},
};

void config_put_env_name(const struct config_option *option, char name[CONFIG_ENV_NAME_MAX])
{
    int n = snprintf(name, CONFIG_ENV_NAME_MAX, "%s%s", prefix, option->name);
    for (int i = 0; i < n && i < CONFIG_ENV_NAME_MAX; i++)
        name[i] = name[i] == '-' ? '_' : (char)toupper((unsigned char)name[i]);
}

/* Kubernetes gives every container such variables for each service: of one that is called parley
 * they begin like settings. */
static bool is_service_link(struct str name, struct str value)
{
    return str_has_prefix(value, STR("tcp://")) || str_has_prefix(value, STR("udp://")) ||
           memmem(name.at, name.n, "_SERVICE_HOST", 13) != NULL ||
           memmem(name.at, name.n, "_SERVICE_PORT", 13) != NULL ||
           memmem(name.at, name.n, "_TCP_", 5) != NULL ||
           memmem(name.at, name.n, "_UDP_", 5) != NULL;
}

static const struct of_others *find_of_others(struct str name)
{
    static const struct of_others of_tests = {NULL, NULL};
    for (size_t i = 0; i < sizeof of_others / sizeof *of_others; i++)
        if (str_eq(name, str_of(of_others[i].name)))
            return &of_others[i];
    return str_has_prefix(name, STR("PARLEY_TEST_")) ? &of_tests : NULL;
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* How many characters have to be put in, left out or replaced, or swapped with the next one;
 * capitals are no matter. Both are shorter than CONFIG_ENV_NAME_MAX. */
static unsigned distance(struct str a, struct str b)
{
    unsigned rows[3][CONFIG_ENV_NAME_MAX + 1];
    unsigned *former = rows[0], *above = rows[1], *row = rows[2];
    for (unsigned j = 0; j <= b.n; j++)
        row[j] = j;
    for (unsigned i = 1; i <= a.n; i++) {
        char c = (char)toupper((unsigned char)a.at[i - 1]);
        unsigned *free_row = former;
        former = above;
        above = row;
        row = free_row;
        row[0] = i;
        for (unsigned j = 1; j <= b.n; j++) {
            row[j] = least(above[j - 1] + (c != b.at[j - 1]), least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && c == b.at[j - 2] &&
                toupper((unsigned char)a.at[i - 2]) == b.at[j - 1])
                row[j] = least(row[j], former[j - 2] + 1);
        }
    }
    return row[b.n];
}

/* How far a name is from one that was meant: near when one is the beginning of the other, or a part
 * of it. */
static unsigned misspelt(struct str name, struct str meant)
{
    unsigned n = distance(name, meant);
    if (name.n < 3 || meant.n < 3)
        return n;
    if (str_has_prefix(meant, name) || str_has_prefix(name, meant))
        return least(n, 1);
    return memmem(meant.at, meant.n, name.at, name.n) != NULL ? least(n, 2) : n;
}

struct nearest {
    struct str name; /* of the variable, after the prefix */
    unsigned distance;
    bool is_setting;
    char env_name[CONFIG_ENV_NAME_MAX];
};

static void compare(struct nearest *nearest, const struct config_option *option)
{
    char name[CONFIG_ENV_NAME_MAX];
    config_put_env_name(option, name);
    struct str meant = str_of(name + PREFIX_BYTES);
    nearest->is_setting = nearest->is_setting || str_eq(nearest->name, meant);
    if (nearest->name.n >= CONFIG_ENV_NAME_MAX)
        return;
    unsigned n = misspelt(nearest->name, meant);
    if (n >= nearest->distance)
        return;
    nearest->distance = n;
    memcpy(nearest->env_name, name, sizeof name);
}

static void warn(const struct nearest *nearest)
{
    struct buf shown;
    buf_init(&shown, SHOWN_MAX_BYTES);
    buf_put_shown(&shown,
                  nearest->name.n > 100 ? (struct str){nearest->name.at, 100} : nearest->name);
    fprintf(stderr, "parley: the environment variable %s%.*s is not a setting and has no effect",
            prefix, STR_ARG(buf_str(&shown)));
    /* Where more than a third of it is wrong, the nearest one is none. */
    if (nearest->distance < UINT32_MAX && nearest->distance * 3 <= nearest->name.n)
        fprintf(stderr, ": did you mean %s?\n", nearest->env_name);
    else
        fputs(" (parley COMMAND --help lists the settings)\n", stderr);
    buf_fini(&shown);
}

static void look_at(const struct config *config, const struct config_group *const *all,
                    struct str name)
{
    struct nearest nearest = {.name = {name.at + PREFIX_BYTES, name.n - PREFIX_BYTES},
                              .distance = UINT32_MAX};
    const struct of_others *other = find_of_others(name);
    if (other != NULL) {
        if (other->option == NULL || !config_has(config, other->option))
            return;
        config_put_env_name(&(struct config_option){.name = other->option}, nearest.env_name);
        nearest.distance = 0;
    } else {
        for (size_t i = 0; config->options[i] != NULL; i++)
            compare(&nearest, config->options[i]);
        for (const struct config_group *const *group = all; *group != NULL; group++)
            for (const struct config_option *o = (*group)->options; o->name != NULL; o++)
                compare(&nearest, o);
    }
    if (!nearest.is_setting)
        warn(&nearest);
}

void config_warn_unknown(const struct config *config, const struct config_group *const *all)
{
    for (char **variable = environ; variable != NULL && *variable != NULL; variable++) {
        struct str value = str_of(*variable), name = str_cut(&value, '=');
        if (str_has_prefix(name, STR("PARLEY_")) && value.n > 0 && !is_service_link(name, value))
            look_at(config, all, name);
    }
}

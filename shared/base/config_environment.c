/* SPDX-License-Identifier: MIT
 * config_environment.c - see config_environment.h. */
#include "shared/base/config_environment.h"

#include "shared/base/nearest.h"

#include <ctype.h>
#include <stdio.h>
#include <unistd.h>

static const char prefix[] = "PARLEY_";

enum { PREFIX_BYTES = sizeof prefix - 1, LINE_MAX_BYTES = 1024 };

/* Variables that programs other than `parley` take (./dev, the tests, docker compose), and the
 * option for which it may be mistaken: a command that has that option warns. */
static const struct of_others {
    const char *name, *option;
} of_others[] = {
    {"PARLEY_CONFIG", NULL},        {"PARLEY_BIN", NULL},         {"PARLEY_SEED", NULL},
    {"PARLEY_SHOW", NULL},          {"PARLEY_NIGHTLY", NULL},     {"PARLEY_PORT", "listen"},
    {"PARLEY_REDIS_PORT", "redis"}, {"PARLEY_ADDRESS", "listen"},
};

void config_put_env_name(const struct config_option *option, char name[CONFIG_ENV_NAME_MAX])
{
    int n = snprintf(name, CONFIG_ENV_NAME_MAX, "%s%s", prefix, option->name);
    for (int i = 0; i < n && i < CONFIG_ENV_NAME_MAX; i++)
        name[i] = name[i] == '-' ? '_' : (char)toupper((unsigned char)name[i]);
}

/* --- services of Kubernetes ------------------------------------------------------------------- */

static bool has_suffix(struct str s, struct str suffix)
{
    return s.n >= suffix.n && str_eq((struct str){s.at + s.n - suffix.n, suffix.n}, suffix);
}

static bool is_link_url(struct str value)
{
    return str_has_prefix(value, STR("tcp://")) || str_has_prefix(value, STR("udp://")) ||
           str_has_prefix(value, STR("sctp://"));
}

/* "_PORT_8080_TCP", and that with _PROTO, _PORT or _ADDR. */
static bool is_port_link(struct str name)
{
    static const char *const protocols[] = {"TCP", "UDP", "SCTP"};
    static const char *const parts[] = {"", "_PROTO", "_PORT", "_ADDR"};
    for (size_t i = 0; i < sizeof protocols / sizeof *protocols; i++)
        for (size_t j = 0; j < sizeof parts / sizeof *parts; j++) {
            char end[16];
            snprintf(end, sizeof end, "_%s%s", protocols[i], parts[j]);
            if (!has_suffix(name, str_of(end)))
                continue;
            size_t n = name.n - strlen(end);
            while (n > 0 && isdigit((unsigned char)name.at[n - 1]))
                n--;
            if (n < name.n - strlen(end) && has_suffix((struct str){name.at, n}, STR("_PORT_")))
                return true;
        }
    return false;
}

/* Kubernetes gives every container such variables for each service of its namespace: those of one
 * that is called parley, or parley-redis, begin like settings. */
static bool is_service_link(struct str name, struct str value)
{
    const char *port = memmem(name.at, name.n, "_SERVICE_PORT", 13);
    if (has_suffix(name, STR("_SERVICE_HOST")) || is_port_link(name))
        return true;
    if (port != NULL) /* or that of a port with a name */
        return port + 13 == name.at + name.n || port[13] == '_';
    return has_suffix(name, STR("_PORT")) && is_link_url(value);
}

/* --- the look --------------------------------------------------------------------------------- */

static const struct of_others *find_of_others(struct str name)
{
    static const struct of_others of_tests = {NULL, NULL};
    for (size_t i = 0; i < sizeof of_others / sizeof *of_others; i++)
        if (str_eq(name, str_of(of_others[i].name)))
            return &of_others[i];
    return str_has_prefix(name, STR("PARLEY_TEST_")) ? &of_tests : NULL;
}

static bool is_name_of(struct str name, const struct config_option *option)
{
    char own[CONFIG_ENV_NAME_MAX];
    config_put_env_name(option, own);
    return str_eq(name, str_of(own));
}

static void warn_of(const struct of_others *other, const struct config *config)
{
    char meant[CONFIG_ENV_NAME_MAX];
    if (other->option == NULL || !config_has(config, other->option))
        return;
    config_put_env_name(&(struct config_option){.name = other->option}, meant);
    fprintf(stderr,
            "parley: the environment variable %s is for ./dev and Docker Compose and has no effect "
            "here: did you mean %s?\n",
            other->name, meant);
}

static void refuse(const char *command, struct str name, struct str option)
{
    struct buf b;
    char meant[CONFIG_ENV_NAME_MAX];
    buf_init(&b, LINE_MAX_BYTES);
    buf_lit(&b, "parley: the environment variable ");
    buf_put_typed(&b, "", name);
    buf_lit(&b, " is not a setting");
    if (option.at != NULL) {
        config_put_env_name(&(struct config_option){.name = option.at}, meant);
        buf_put_nearest(&b, "", str_of(meant));
    }
    buf_printf(&b, "%s (see parley %s --help)\n",
               option.at == NULL ? ": unset it" : " If not, unset it", command);
    fprintf(stderr, "%.*s", STR_ARG(buf_str(&b)));
    buf_fini(&b);
}

/* Returns whether it may stay. */
static bool look_at(const struct config *config, const struct config_group *const *all,
                    const char *command, struct str name)
{
    const struct of_others *other = find_of_others(name);
    struct nearest nearest =
        nearest_begin((struct str){name.at + PREFIX_BYTES, name.n - PREFIX_BYTES});
    if (other != NULL) {
        warn_of(other, config);
        return true;
    }
    /* Those of the command itself come first. */
    for (size_t i = 0; config->options[i] != NULL; i++)
        nearest_try(&nearest, str_of(config->options[i]->name));
    for (const struct config_group *const *group = all; *group != NULL; group++)
        for (const struct config_option *o = (*group)->options; o->name != NULL; o++) {
            if (is_name_of(name, o))
                return true;
            nearest_try(&nearest, str_of(o->name));
        }
    refuse(command, name, nearest_end(&nearest));
    return false;
}

bool config_check_environment(const struct config *config, const struct config_group *const *all,
                              const char *command)
{
    bool is_good = true;
    for (char **variable = environ; variable != NULL && *variable != NULL; variable++) {
        struct str value = str_of(*variable), name = str_cut(&value, '=');
        if (str_has_prefix(name, STR("PARLEY_")) && value.n > 0 && !is_service_link(name, value))
            is_good = look_at(config, all, command, name) && is_good;
    }
    return is_good;
}

/* SPDX-License-Identifier: MIT
 * config_help.c - config_print_help of config.h. */
#include "shared/base/config.h"

#include "shared/base/config_environment.h"

#include <stdio.h>

/* Breaks `help` into indented lines of about 72 columns. */
static void print_wrapped(const char *help)
{
    struct str rest = str_of(help);
    size_t column = 0;
    while (rest.at != NULL) {
        struct str word = str_cut(&rest, ' ');
        if (column == 0 || column + word.n + 1 > 72) {
            printf("%s        ", column == 0 ? "" : "\n");
            column = 0;
        } else {
            putchar(' ');
        }
        printf("%.*s", STR_ARG(word));
        column += word.n + 1;
    }
    putchar('\n');
}

static void print_option(const struct config_option *option)
{
    char name[CONFIG_ENV_NAME_MAX];
    config_put_env_name(option, name);
    printf("  --%s%s%s\n", option->name, option->kind == CONFIG_BOOL ? "" : " ",
           option->choices != NULL   ? option->choices
           : option->metavar != NULL ? option->metavar
                                     : "");
    print_wrapped(option->help);
    printf("        Environment: %s.", name);
    if (option->fallback != NULL && option->fallback[0] != 0)
        printf(" Default: %s.", option->fallback);
    printf("\n");
}

static void print_group(const struct config_group *group)
{
    printf("%s:\n", group->title);
    for (const struct config_option *option = group->options; option->name != NULL; option++)
        print_option(option);
    printf("\n");
}

void config_print_help(const struct config_group *const *groups)
{
    const struct config_option *first = NULL; /* that has a value to show */
    bool has_check = false;
    for (const struct config_group *const *group = groups; *group != NULL; group++) {
        has_check = has_check || *group == &config_check_options;
        for (const struct config_option *o = (*group)->options; o->name != NULL; o++)
            if (first == NULL && o->metavar != NULL)
                first = o;
        if (*group != &config_check_options && !config_is_repeated(groups, group))
            print_group(*group);
    }
    printf("%s:\n", config_check_options.title);
    if (has_check)
        print_option(config_check_options.options);
    printf("  --config FILE\n"
           "        Reads settings from a YAML file of lines such as `%s: %s`.\n"
           "        Environment: PARLEY_CONFIG.\n",
           first == NULL ? "option" : first->name, first == NULL ? "VALUE" : first->metavar);
}

/* SPDX-License-Identifier: MIT
 * commands.c - see commands.h. */
#include "services/commands/commands.h"

#include "services/node/service.h"
#include "shared/auth/login.h"
#include "shared/base/config_environment.h"
#include "shared/base/mem.h"
#include "shared/base/nearest.h"
#include "shared/base/trust.h"
#include "shared/base/usage.h"

#include <stdio.h>

enum { EXIT_USAGE = 2 };

static unsigned add_groups(const struct config_group *const *groups,
                           const struct config_group *room[], unsigned n)
{
    for (; groups != NULL && *groups != NULL; groups++) {
        if (n == COMMAND_GROUPS_MAX - 1)
            abort();
        room[n++] = *groups;
    }
    return n;
}

void command_list_groups(const struct command *command,
                         const struct config_group *room[COMMAND_GROUPS_MAX])
{
    unsigned n = add_groups(command->groups, room, 0);
    const struct service *const *service = command->services;
    for (; service != NULL && *service != NULL; service++)
        n = add_groups((*service)->groups, room, n);
    room[n] = NULL;
}

static void print_help(const struct command *command)
{
    const struct config_group *groups[COMMAND_GROUPS_MAX];
    const struct service *const *service = command->services;
    fputs(command->about, stdout);
    if (service != NULL)
        puts("Services (--target):");
    for (; service != NULL && *service != NULL; service++)
        printf("  %-10s %s\n", (*service)->name, (*service)->summary);
    if (command->services != NULL)
        putchar('\n');
    if (command->groups != NULL) {
        command_list_groups(command, groups);
        config_print_help(groups);
    }
    if (command->more != NULL)
        fputs(command->more, stdout);
}

/* A command without options reads no settings, so none that is set for others hinders it. */
static enum config_outcome read_arguments(struct config *config, int argc, char **argv)
{
    *config =
        (struct config){.arguments = mem_zeroed_n((size_t)argc + 1, sizeof *config->arguments)};
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return CONFIG_HELP;
        config->arguments[config->argument_n++] = argv[i];
    }
    return CONFIG_READY;
}

/* The environment is looked at with the settings of all commands in mind. */
static bool check_environment(const struct config *config, const char *command)
{
    unsigned command_n = 0, n = 0;
    while (commands[command_n] != NULL)
        command_n++;
    const struct config_group **all = mem_zeroed_n(command_n * COMMAND_GROUPS_MAX + 1, sizeof *all);
    for (unsigned i = 0; i < command_n; i++) {
        command_list_groups(commands[i], all + n);
        while (all[n] != NULL)
            n++;
    }
    bool is_good = config_check_environment(config, all, command);
    free(all);
    return is_good;
}

static bool is_listed(const char *words, const char *word)
{
    struct str rest = str_of(words);
    while (rest.at != NULL)
        if (str_eq(str_cut(&rest, '|'), str_of(word)))
            return true;
    return false;
}

static bool check_words(const struct command *command, const struct config *config)
{
    const char *first = config->argument_n == 0 ? NULL : config->arguments[0];
    if (command->is_flags_only)
        return first == NULL || usage_flags_only(command->name, first);
    if (command->words == NULL || (first == NULL && command->is_word_optional))
        return true;
    return (first != NULL && is_listed(command->words, first)) ||
           usage_word(command->name, command->words, first);
}

static enum config_outcome read_settings(const struct command *command, struct config *config,
                                         int argc, char **argv)
{
    const struct config_group *groups[COMMAND_GROUPS_MAX];
    if (command->groups == NULL)
        return read_arguments(config, argc, argv);
    command_list_groups(command, groups);
    enum config_outcome outcome = config_read(config, groups, command->name, argc, argv);
    if (outcome == CONFIG_READY && !check_environment(config, command->name))
        return CONFIG_WRONG;
    return outcome;
}

static int run(const struct command *command, int argc, char **argv)
{
    struct config config;
    int code = EXIT_USAGE;
    switch (read_settings(command, &config, argc, argv)) {
    case CONFIG_HELP:
        print_help(command);
        code = 0;
        break;
    case CONFIG_WRONG: break;
    case CONFIG_READY:
        if (check_words(command, &config) &&
            (command->groups == NULL ||
             (trust_read_options(&config) && (command->has_own_login || login_use(&config)))))
            code = command->run(&config);
        login_forget();
    }
    config_fini(&config);
    return code;
}

static void print_commands(FILE *out)
{
    fputs("usage: parley COMMAND [FLAGS]\n\n"
          "Parley is a public, load-balanced front end for inference engines that stay private.\n\n"
          "Commands:\n",
          out);
    for (const struct command *const *command = commands; *command != NULL; command++)
        fprintf(out, "  %-10s %s\n", (*command)->name, (*command)->summary);
    fputs("\nparley COMMAND --help describes a command and all of its flags.\n"
          "Every flag has an environment variable: --listen is PARLEY_LISTEN. A flag takes "
          "precedence\n"
          "over the environment, the environment over a file (--config FILE, YAML), the file over "
          "the\n"
          "default.\n",
          out);
}

static const struct command *find_command(const char *name)
{
    for (const struct command *const *command = commands; *command != NULL; command++)
        if (strcmp(name, (*command)->name) == 0)
            return *command;
    return NULL;
}

static int refuse_command(const char *name)
{
    struct nearest nearest = nearest_begin(str_of(name));
    for (const struct command *const *command = commands; *command != NULL; command++)
        nearest_try(&nearest, str_of((*command)->name));
    nearest_try(&nearest, STR("--help"));
    nearest_try(&nearest, STR("--version"));
    (void)usage_unknown("", "command", "", str_of(name), nearest_end(&nearest));
    return EXIT_USAGE;
}

int commands_run(int argc, char **argv)
{
    if (argc < 1) {
        print_commands(stderr);
        return EXIT_USAGE;
    }
    const char *name = strcmp(argv[0], "--version") == 0 ? "version" : argv[0];
    bool is_help =
        strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0;
    if (is_help && argc == 1) {
        print_commands(stdout);
        return 0;
    }
    const struct command *command = find_command(is_help ? argv[1] : name);
    if (command == NULL)
        return refuse_command(is_help ? argv[1] : name);
    if (!is_help)
        return run(command, argc - 1, argv + 1);
    print_help(command);
    return 0;
}

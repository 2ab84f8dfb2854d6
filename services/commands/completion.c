/* SPDX-License-Identifier: MIT
 * completion.c - `parley completion`: prints the script with which a shell completes the words of
 * `parley`. It is generated from the rows of commands and options, so it always matches the
 * program.
 *
 * All of them do the same: after `parley` a command, after a command its words and flags, after a
 * flag that takes one of a few words these words, and a file's name after every other flag. */
#include "services/commands/commands.h"

#include <stdio.h>
#include <stdlib.h>

enum { EXIT_USAGE = 2 };

/* Flags that commands have besides their own; those that read no settings only the last one. */
static const struct config_group settings_group = {
    "Configuration",
    (const struct config_option[]){
        {.name = "config", .metavar = "FILE", .help = "Reads settings from a YAML file."}, {0}}};
static const struct config_group help_group = {
    "Help", (const struct config_option[]){
                OPTION_BOOL("help", NULL, "Describes the command and its flags."), {0}}};

/* The caller frees. */
static const struct config_option **list_options(const struct command *command)
{
    const struct config_group *groups[COMMAND_GROUPS_MAX + 2];
    unsigned n = 0;
    if (command->groups != NULL) {
        command_list_groups(command, groups);
        while (groups[n] != NULL)
            n++;
        groups[n++] = &settings_group;
    }
    groups[n++] = &help_group;
    groups[n] = NULL;
    return config_list_options(groups);
}

/* The first sentence of a help text, with a backslash in front of each character of `escaped`, and
 * quotes as the shells' quoted words take them. */
static void print_sentence(const char *help, const char *escaped, const char *quote)
{
    for (const char *c = help; *c != 0; c++) {
        if (*c == '.' && (c[1] == ' ' || c[1] == 0))
            break;
        if (*c == '\'')
            fputs(quote, stdout);
        else
            printf("%s%c", strchr(escaped, *c) != NULL ? "\\" : "", *c);
    }
}

/* "a|b" with `between` in place of the bars. */
static void print_choices(const char *choices, const char *between)
{
    for (const char *c = choices; *c != 0; c++)
        if (*c == '|')
            fputs(between, stdout);
        else
            putchar(*c);
}

/* --- bash ------------------------------------------------------------------------------------- */

static void print_bash_command(const struct command *command)
{
    const struct config_option **options = list_options(command);
    if (command->words != NULL) {
        printf("        '%s %s') words='", command->name, command->name);
        print_choices(command->words, " ");
        puts("' ;;");
    }
    for (size_t i = 0; options[i] != NULL; i++)
        if (options[i]->kind != CONFIG_BOOL) {
            printf("        '%s --%s') words='", command->name, options[i]->name);
            print_choices(options[i]->choices == NULL ? "" : options[i]->choices, " ");
            puts("' ;;");
        }
    printf("        '%s '*) words='", command->name);
    for (size_t i = 0; options[i] != NULL; i++)
        printf("%s--%s", i == 0 ? "" : " ", options[i]->name);
    puts("' ;;");
    free(options);
}

static void print_bash(void)
{
    fputs("_parley() {\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words=\n"
          "    # Bash takes --flag=value apart.\n"
          "    if [ \"$word\" = = ]; then\n"
          "        word=\n"
          "    elif [ \"$before\" = = ]; then\n"
          "        before=${COMP_WORDS[COMP_CWORD - 2]}\n"
          "    fi\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
          "        words='",
          stdout);
    for (const struct command *const *command = commands; *command != NULL; command++)
        printf("%s%s", command == commands ? "" : " ", (*command)->name);
    puts(
        "'\n"
        "    else\n"
        "        # A flag where a word may be.\n"
        "        if [ \"$COMP_CWORD\" -eq 2 ] && [ \"${word#-}\" != \"$word\" ]; then before=; fi\n"
        "        case \"${COMP_WORDS[1]} $before\" in");
    for (const struct command *const *command = commands; *command != NULL; command++)
        print_bash_command(*command);
    puts("        esac\n"
         "    fi\n"
         "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
         "}\n"
         "complete -o default -F _parley parley");
}

/* --- zsh -------------------------------------------------------------------------------------- */

static void print_zsh_command(const struct command *command)
{
    const struct config_option **options = list_options(command);
    printf("    %s)\n        _arguments", command->name);
    if (command->words != NULL) {
        fputs(" \\\n            '1:word:(", stdout);
        print_choices(command->words, " ");
        fputs(")'", stdout);
    }
    for (size_t i = 0; options[i] != NULL; i++) {
        const struct config_option *option = options[i];
        printf(" \\\n            '--%s[", option->name);
        print_sentence(option->help, "[]\\:", "'\\''");
        putchar(']');
        if (option->kind != CONFIG_BOOL && option->choices != NULL) {
            printf(":%s:(", option->name);
            print_choices(option->choices, " ");
            putchar(')');
        } else if (option->kind != CONFIG_BOOL) {
            printf(":%s:_files", option->name);
        }
        putchar('\'');
    }
    puts(" \\\n            '*:file:_files'\n        ;;");
    free(options);
}

static void print_zsh(void)
{
    puts("#compdef parley\n"
         "_parley() {\n"
         "    local -a commands\n"
         "    commands=(");
    for (const struct command *const *command = commands; *command != NULL; command++) {
        printf("        '%s:", (*command)->name);
        print_sentence((*command)->summary, "\\:", "'\\''");
        puts("'");
    }
    puts("    )\n"
         "    if ((CURRENT == 2)); then\n"
         "        _describe command commands\n"
         "        return\n"
         "    fi\n"
         "    local command=$words[2]\n"
         "    shift words\n"
         "    ((CURRENT--))\n"
         "    case $command in");
    for (const struct command *const *command = commands; *command != NULL; command++)
        print_zsh_command(*command);
    puts("    esac\n"
         "}\n"
         "if [ \"${funcstack[1]}\" = _parley ]; then _parley \"$@\"; else compdef _parley parley; "
         "fi");
}

/* --- fish ------------------------------------------------------------------------------------- */

static void print_fish_command(const struct command *command)
{
    const struct config_option **options = list_options(command);
    if (command->words != NULL) {
        printf("complete -c parley -n '__fish_seen_subcommand_from %s; and not "
               "__fish_seen_subcommand_from ",
               command->name);
        print_choices(command->words, " ");
        fputs("' -f -a '", stdout);
        print_choices(command->words, " ");
        puts("'");
    }
    for (size_t i = 0; options[i] != NULL; i++) {
        const struct config_option *option = options[i];
        printf("complete -c parley -n '__fish_seen_subcommand_from %s' -l %s", command->name,
               option->name);
        if (option->kind != CONFIG_BOOL)
            fputs(option->choices != NULL ? " -x -a '" : " -r", stdout);
        if (option->kind != CONFIG_BOOL && option->choices != NULL) {
            print_choices(option->choices, " ");
            putchar('\'');
        }
        fputs(" -d '", stdout);
        print_sentence(option->help, "\\", "\\'");
        puts("'");
    }
    free(options);
}

static void print_fish(void)
{
    for (const struct command *const *command = commands; *command != NULL; command++) {
        printf("complete -c parley -f -n __fish_use_subcommand -a %s -d '", (*command)->name);
        print_sentence((*command)->summary, "\\", "\\'");
        puts("'");
    }
    for (const struct command *const *command = commands; *command != NULL; command++)
        print_fish_command(*command);
}

/* ---------------------------------------------------------------------------------------------- */

static int print_completion(const struct config *config)
{
    static const struct {
        const char *shell;
        void (*print)(void);
    } shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
    if (config->argument_n > 1) {
        fputs("parley: completion takes one shell at a time\n", stderr);
        return EXIT_USAGE;
    }
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (strcmp(config->arguments[0], shells[i].shell) == 0)
            shells[i].print();
    return 0;
}

const struct command completion_command = {
    .name = "completion",
    .summary = "print the completion script for a shell",
    .words = "bash|zsh|fish",
    .about = "usage: parley completion SHELL\n"
             "\n"
             "Prints the script that lets SHELL (bash, zsh or fish) complete commands, flags and\n"
             "their values.\n"
             "\n"
             "Examples\n"
             "  source <(parley completion bash)\n"
             "      in ~/.bashrc, and likewise with zsh in ~/.zshrc, after compinit.\n"
             "  parley completion fish >~/.config/fish/completions/parley.fish\n",
    .run = print_completion,
};

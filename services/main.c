/* SPDX-License-Identifier: MIT
 * main.c - picks the subcommand. One executable with many roles: see docs/adr/0001. */
#include "services/commands/commands.h"

#include "shared/extract/extract.h"

#include <stdio.h>
#include <string.h>

#ifndef PARLEY_VERSION
#error "the build defines PARLEY_VERSION"
#endif

static int version_main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    printf("parley %s\n", PARLEY_VERSION);
    return 0;
}

static const struct command {
    const char *name, *help;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"serve", "run a node: HTTP in front, Redis behind", serve_main},
    {"engine", "run the reference inference engine: pulls questions, pushes answers", engine_main},
    {"ingest", "fill a collection with the documents of folders", ingest_main},
    {"reindex", "after a change of the embedding model: queue what is of another one",
     reindex_main},
    {"backup", "write all that a cluster knows into one file, while it works", backup_main},
    {"restore", "put a backup into an empty Redis", restore_main},
    {"bench", "load a node with full cycles and print what it did", bench_main},
    {"extract", "print the text of a document", extract_main},
    {"sign", "print a URL with User, Nonce and Hash added", sign_main},
    {"version", "print the version", version_main},
};
enum { COMMAND_N = sizeof commands / sizeof commands[0] };

static void print_help(FILE *out)
{
    fputs("usage: parley COMMAND [FLAGS]\n\n"
          "Parley is a public, load-balanced front for inference engines that stay private.\n\n"
          "Commands:\n",
          out);
    for (size_t i = 0; i < COMMAND_N; i++)
        fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].help);
    fputs("\nparley COMMAND --help describes a command and all of its flags.\n"
          "Every flag has an environment twin: --listen is PARLEY_LISTEN. Flag beats environment\n"
          "beats file (--config FILE, YAML) beats default.\n",
          out);
}

int main(int argc, char **argv)
{
    extract_set_program("/proc/self/exe");
    if (argc < 2) {
        print_help(stderr);
        return 2;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        print_help(stdout);
        return 0;
    }
    if (strcmp(argv[1], "--version") == 0)
        return version_main(argc, argv);
    for (size_t i = 0; i < COMMAND_N; i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 2, argv + 2);
    fprintf(stderr, "parley: no such command: %s (see parley --help)\n", argv[1]);
    return 2;
}

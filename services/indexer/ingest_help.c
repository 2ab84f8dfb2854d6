/* SPDX-License-Identifier: MIT
 * ingest_help.c - `parley ingest` as its users see it: the options and the help around them. */
#include "services/commands/commands.h"
#include "services/indexer/ingest.h"
#include "services/indexer/job_options.h"

#include "shared/base/log_options.h"
#include "shared/base/trust.h"
#include "shared/embed/embed_options.h"
#include "shared/extract/scan.h"
#include "shared/redis/start.h"
#include "shared/search/space_settings.h"

static const struct config_group ingest_options = {
    "Flags",
    (const struct config_option[]){
        OPTION_TEXT("collection", "NAME", NULL,
                    "The collection to fill, 1 to 64 bytes; created if it does not exist. Nodes "
                    "answer /ask from the collection in their --public-collection. Required."),
        OPTION_TEXT(
            "base-url", "URL", NULL,
            "The URL (http:// or https://) under which these files are published. The page "
            "address of each file starts with it, see below. Unset: sources do not link to a "
            "page."),
        OPTION_BOOL(
            "prune", "off",
            "Removes documents of this collection whose file no longer exists or is left out, but "
            "only those whose name is below one of the given paths."),
        OPTION_BOOL(
            "reindex", "off",
            "Switches the collection to the model of --embeddings: documents that another "
            "model embedded are indexed again even if their file is unchanged. Without it, a "
            "model other than the collection's is refused."),
        {.name = "include",
         .kind = CONFIG_TEXT,
         .metavar = "GLOB",
         .is_list = true,
         .help =
             "Reads only files whose name matches, such as *.md (in a shell, quote it). A pattern "
             "with a slash is compared with the whole name, as in docs/new/*. May be given "
             "several times."},
        {.name = "exclude",
         .kind = CONFIG_TEXT,
         .metavar = "GLOB",
         .is_list = true,
         .help = "Leaves out files, and folders with all below them, whose name matches, such as "
                 "node_modules or *.log. May be given several times."},
        OPTION_BOOL("exclude-code", "off",
                    "Leaves out source code and scripts: .c, .py, .js, .sh, .sql and about 65 "
                    "more. JSON, XML, YAML and other data are read."),
        OPTION_BOOL("verbose", "off",
                    "Prints a line for each file, also for those that are unchanged or skipped."),
        OPTION_BOOL("dry-run", "off", "Prints what would be done and changes nothing."),
        OPTION_BOOL("json", "off",
                    "Prints one JSON object per line for each file, then one with the counts."),
        {0}}};

const struct command ingest_command = {
    .name = "ingest",
    .summary = "index files and folders into a collection",
    .about =
        "usage: parley ingest --collection NAME --base-url URL [--redis URL] [--prune]\n"
        "                     [--include GLOB] [--exclude GLOB] [--exclude-code] [--reindex]\n"
        "                     [--verbose] [--dry-run] [--json] [FLAGS] PATH...\n"
        "\n"
        "Fills a collection with documents: files, and folders with their subfolders (except "
        "hidden\n"
        "files and folders and linked folders). It reads PDF, DOCX, PPTX, XLSX, OpenDocument, "
        "EPUB,\n"
        "RTF, HTML, mail (EML), CSV, JSON, XML, Markdown, source code and other plain text of up "
        "to\n"
        "25 MiB each and skips other files. It needs no account and no node, only Redis: this\n"
        "process parses, embeds and stores the files.\n"
        "\n"
        "What happens to each file, in the order of the names\n"
        "  unchanged  same name and bytes, already indexed: nothing is done.\n"
        "  indexed    new or changed, read by an earlier version of Parley that read less of such\n"
        "             files, or (with --reindex) embedded by another model. Searches use the old\n"
        "             text until the new one is complete, never a mixture.\n"
        "  failed     the file cannot be read; the reason is printed and the run continues.\n"
        "  skipped    hidden, of a kind that is not read, or left out by a flag. At the end each\n"
        "             reason is printed with the number of files and the first names.\n"
        "  With --prune, before all of these:\n"
        "  removed    the file no longer exists, or is left out now.\n"
        "The command can be interrupted and run again at any time, and run twice at once: it\n"
        "continues with what is missing.\n"
        "\n"
        "Names\n"
        "  A file's name in the collection is PATH as given, normalised, followed by the path "
        "below\n"
        "  it: `parley ingest ./docs/` stores docs/a/b.md. Give the same PATHs from the same "
        "folder\n"
        "  each time, or the files count as different ones. --prune only removes names below the\n"
        "  given PATHs, so several folders can fill one collection, in one run or in several.\n"
        "\n"
        "Selection\n"
        "  --include and --exclude take shell patterns (*, ?, [...]). One without a slash is "
        "compared\n"
        "  with the last segment of a name: '*.md'. Any other is compared with the whole name, as\n"
        "  it is printed, where * stands for slashes, too: 'docs/old/*'. --exclude wins over\n"
        "  --include.\n"
        "\n"
        "Addresses of pages\n"
        "  The address is --base-url, a slash, and the path from PATH to the file, without the\n"
        "  extensions .md, .markdown, .html, .htm and .xhtml. README and index with such an\n"
        "  extension stand for their folder. With PATH docs and --base-url https://host/book:\n"
        "    docs/a/b.md        https://host/book/a/b\n"
        "    docs/a/README.md   https://host/book/a/\n"
        "    docs/index.html    https://host/book/\n"
        "    docs/price list.pdf  https://host/book/price%20list.pdf\n"
        "  A PATH that is a file is placed directly below --base-url. A different --base-url than\n"
        "  last time moves the documents to their new addresses.\n"
        "\n"
        "On a terminal, a bar shows files and bytes; otherwise a line is printed for each file "
        "that\n"
        "is neither unchanged nor skipped. The last line sums up.\n"
        "\n",
    .more =
        "\n"
        "Signals\n"
        "  SIGTERM, SIGINT  stop after giving the current file back; run it again to continue.\n"
        "\n"
        "Exit codes\n"
        "  0  all files are in the collection\n"
        "  1  some files failed (they are listed), Redis was unreachable for 30 seconds, or the\n"
        "     command was interrupted\n"
        "  2  a wrong flag or value, or a PATH that does not exist\n"
        "\n"
        "Examples\n"
        "  parley ingest --collection public --base-url https://example.org/handbook docs/\n"
        "      fills the collection that /ask answers from.\n"
        "  parley ingest --collection project --exclude-code --exclude node_modules .\n"
        "      reads the texts of a project, without its source code.\n"
        "  parley ingest --redis redis://10.0.0.5:6379/0 --collection public --prune \\\n"
        "      --base-url https://example.org/handbook docs/\n"
        "      keeps it identical to the folder: run this in the job that publishes the pages.\n",
    .groups = (const struct config_group *const[]){&ingest_options, &embed_options, &space_options,
                                                   &scan_options, &job_options, &redis_options,
                                                   &trust_options, &log_tool_options, NULL},
    .run = ingest_run,
};

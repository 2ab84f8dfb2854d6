/* SPDX-License-Identifier: MIT
 * ingest_help.c - `parley ingest` as its users see it: the options and the help around them. */
#include "services/commands/commands.h"
#include "services/indexer/ingest.h"
#include "services/indexer/job_options.h"

#include "shared/base/log_options.h"
#include "shared/embed/embed_options.h"
#include "shared/redis/start.h"
#include "shared/search/space_settings.h"

static const struct config_group ingest_options = {
    "Flags",
    (const struct config_option[]){
        {.name = "collection",
         .kind = CONFIG_TEXT,
         .metavar = "NAME",
         .help =
             "The collection to fill, 1 to 64 bytes. It is made when it is not there. Nodes answer "
             "/ask from the one that their --public-collection names. Required."},
        {.name = "base-url",
         .kind = CONFIG_TEXT,
         .metavar = "URL",
         .help =
             "Where the pages of these files can be read: http:// or https://. The address of each "
             "file's page begins with it, see below. Unset: sources have no link to a page."},
        {.name = "prune",
         .kind = CONFIG_BOOL,
         .fallback = "off",
         .help =
             "Removes the documents of this collection whose file is gone, but only those whose "
             "name is below one of the given paths."},
        {.name = "reindex",
         .kind = CONFIG_BOOL,
         .fallback = "off",
         .help =
             "The collection goes over to the model of --embeddings: what was embedded by another "
             "one is indexed again, also where the file is unchanged. Without it, indexing with "
             "another model than the collection's is refused."},
        {.name = "dry-run",
         .kind = CONFIG_BOOL,
         .fallback = "off",
         .help = "Says what would be done, and changes nothing."},
        {.name = "json",
         .kind = CONFIG_BOOL,
         .fallback = "off",
         .help = "Writes one JSON object per file on a line of its own, and a last one with the "
                 "counts."},
        {0}}};

const struct command ingest_command = {
    .name = "ingest",
    .summary = "fill a collection with the documents of folders",
    .about =
        "usage: parley ingest --collection NAME --base-url URL [--redis URL] [--prune]\n"
        "                     [--reindex] [--dry-run] [--json] [FLAGS] PATH...\n"
        "\n"
        "Fills a collection with documents: files, and folders with all below them (hidden files\n"
        "and folders and linked folders aside). PDF, DOCX, HTML, Markdown and plain text are\n"
        "read, each at most 25 MiB; files of other kinds are passed over. It needs no account\n"
        "and no node, only Redis: the files are parsed, embedded and stored by this process.\n"
        "\n"
        "What it does with each file, in the order of their names\n"
        "  unchanged  same name, same bytes, indexed: nothing is done.\n"
        "  indexed    it is new or has changed, or (with --reindex) another model embedded it.\n"
        "             What is searched is the old text until the new one is ready, then the new\n"
        "             one, never a mixture.\n"
        "  failed     it cannot be read; the reason is printed, and the others go on.\n"
        "  With --prune, before all that:\n"
        "  removed    the file is gone.\n"
        "It may be interrupted and run again at any time, and run twice at once: it goes on with\n"
        "what is missing.\n"
        "\n"
        "Names\n"
        "  A file's name in the collection is PATH as it was given, tidied, and the way from\n"
        "  there: `parley ingest ./docs/` has a file docs/a/b.md. Give the same PATHs from the\n"
        "  same folder each time, or the files count as others. --prune keeps to names below the\n"
        "  given PATHs, so several folders may fill one collection, in one run or in several.\n"
        "\n"
        "Addresses of pages\n"
        "  The address is --base-url, a slash, and the way from PATH to the file, with the\n"
        "  endings .md, .markdown, .html, .htm and .xhtml left out. README and index with such\n"
        "  an ending stand for their folder. With PATH docs and --base-url https://host/book:\n"
        "    docs/a/b.md        https://host/book/a/b\n"
        "    docs/a/README.md   https://host/book/a/\n"
        "    docs/index.html    https://host/book/\n"
        "    docs/price list.pdf  https://host/book/price%20list.pdf\n"
        "  A PATH that is a file lies directly below --base-url. Another --base-url than last\n"
        "  time moves the documents to their new addresses.\n"
        "\n"
        "On a terminal a bar shows files and bytes; otherwise there is a line for each file that\n"
        "was not unchanged. The last line sums up.\n"
        "\n",
    .more =
        "\n"
        "Signals\n"
        "  SIGTERM, SIGINT  give the file at hand back and end; run it again to go on.\n"
        "\n"
        "Exit codes\n"
        "  0  all files are in the collection\n"
        "  1  some failed (they are listed), Redis was gone for 30 seconds, or it was interrupted\n"
        "  2  a wrong flag or value, or a PATH that is not there\n"
        "\n"
        "Examples\n"
        "  parley ingest --collection public --base-url https://example.org/handbook docs/\n"
        "      fills the collection that /ask answers from.\n"
        "  parley ingest --redis redis://10.0.0.5:6379/0 --collection public --prune \\\n"
        "      --base-url https://example.org/handbook docs/\n"
        "      keeps it as the folder is: put this into the job that publishes the pages.\n",
    .groups =
        (const struct config_group *const[]){&ingest_options, &embed_options, &space_options,
                                             &job_options, &redis_options, &log_tool_options, NULL},
    .run = ingest_run,
};

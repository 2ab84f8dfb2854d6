/* SPDX-License-Identifier: MIT
 * extract.c - `parley extract`: prints the text of a document, as indexing sees it. With --parse it
 * is the child that a node or an indexer starts of itself: it reads standard input, parses in this
 * very process, and says by its exit status what was wrong (shared/extract/extract.c has the
 * numbers). Nothing else is done in the child: no settings but its arguments, no log. Before it
 * looks at the document it gives up all system calls but a few (shared/extract/sandbox_filter.h).
 * So it has read its input before then, and it ends without the handlers of exit(). */
#include "services/commands/commands.h"

#include "shared/base/config.h"
#include "shared/extract/extract.h"
#include "shared/extract/sandbox_filter.h"
#include "shared/extract/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { EXIT_FAILED = 1, EXIT_USAGE = 2, READ_STEP_BYTES = 65536 };

static const struct config_group extract_options = {
    "Flags",
    (const struct config_option[]){
        {.name = "parse",
         .kind = CONFIG_TEXT,
         .choices = "text|html|docx|pdf|pptx|xlsx|odt|ods|odp|epub|rtf|csv|json|xml|eml",
         .metavar = "KIND",
         .help =
             "Reads a document of this kind, or what `pdftotext -tsv` printed of a PDF, from "
             "standard "
             "input and parses it within this process, "
             "without the limits of a child. Parley starts itself like this. If it fails, the exit "
             "status is 64 plus the number of the fault."},
        OPTION_NUMBER("attachment", "N", "0", 0, EXTRACT_MAIL_PDFS_MAX,
                      "With --parse eml: prints the bytes of the Nth PDF file that is attached to "
                      "the mail instead of its text. 0: its text."),
        {0}}};

static int refuse(const char *reason)
{
    fprintf(stderr, "parley: %s (see parley extract --help)\n", reason);
    return EXIT_USAGE;
}

/* False with errno, which is EFBIG past the maximum. */
static bool read_all(int fd, struct buf *bytes)
{
    for (;;) {
        char *at = buf_reserve(bytes, READ_STEP_BYTES);
        ssize_t n = at == NULL ? -1 : read(fd, at, READ_STEP_BYTES);
        if (at == NULL)
            errno = EFBIG;
        else if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0;
        bytes->n += (size_t)n;
    }
}

static bool print_all(struct str text)
{
    while (text.n > 0) {
        ssize_t n = write(STDOUT_FILENO, text.at, text.n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        text = (struct str){text.at + n, text.n - (size_t)n};
    }
    return true;
}

static _Noreturn void parse(enum extract_kind kind, unsigned attachment)
{
    struct buf bytes, text;
    buf_init(&bytes, MEMORY_FILE_MAX_BYTES + READ_STEP_BYTES);
    buf_init(&text, EXTRACT_TEXT_MAX_BYTES);
    int status = EXIT_FAILED;
    if (read_all(STDIN_FILENO, &bytes)) {
        enum extract_fault fault = EXTRACT_FAULT_NO_CHILD;
        if (sandbox_confine_parser())
            fault = attachment > 0 ? extract_put_mail_pdf(&text, buf_str(&bytes), attachment)
                                   : extract_parse(kind, buf_str(&bytes), &text);
        status = fault != EXTRACT_FAULT_NONE ? extract_fault_status(fault)
                 : print_all(buf_str(&text)) ? 0
                                             : EXIT_FAILED;
    }
    _exit(status);
}

static int print_text(const char *path)
{
    struct buf bytes, text;
    struct text_pages pages = {0};
    enum extract_kind kind = extract_kind_of(str_of(path));
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    const char *reason = NULL;
    buf_init(&bytes, EXTRACT_FILE_MAX_BYTES + READ_STEP_BYTES);
    buf_init(&text, EXTRACT_TEXT_MAX_BYTES);
    if (fd < 0 || !read_all(fd, &bytes)) {
        reason = strerror(errno);
    } else {
        enum extract_fault fault = kind == EXTRACT_NONE ? extract_refusal(str_of(path))
                                                        : extract_sniff(kind, buf_str(&bytes));
        if (fault == EXTRACT_FAULT_NONE)
            fault = extract_text(kind, buf_str(&bytes), NULL, &text, &pages);
        if (fault != EXTRACT_FAULT_NONE)
            reason = extract_fault_text(fault);
        else if (!print_all(buf_str(&text)))
            reason = strerror(errno);
    }
    if (reason != NULL)
        fprintf(stderr, "parley: %s: %s\n", path, reason);
    if (fd >= 0)
        close(fd);
    buf_fini(&bytes);
    buf_fini(&text);
    text_pages_fini(&pages);
    return reason == NULL ? 0 : EXIT_FAILED;
}

static int run_extract(const struct config *config)
{
    const char *kind = config_text(config, "parse");
    if (kind != NULL && config->argument_n == 0)
        parse(extract_kind_named(str_of(kind)), (unsigned)config_number(config, "attachment"));
    if (kind != NULL)
        return refuse("--parse reads standard input and takes no file");
    if (config->argument_n != 1)
        return refuse(config->argument_n == 0 ? "which file?" : "give one file at a time");
    return scan_read_options(config) ? print_text(config->arguments[0]) : EXIT_USAGE;
}

const struct command extract_command = {
    .name = "extract",
    .summary = "print the text that is extracted from a document",
    .about =
        "usage: parley extract FILE\n"
        "\n"
        "Prints the text of a document as it is indexed: PDF, DOCX, PPTX, XLSX, OpenDocument, "
        "EPUB,\n"
        "RTF, HTML, mail (EML), CSV, JSON, XML, Markdown, source code and other plain text.\n"
        "The file extension determines the type and must match the content. The document is read\n"
        "in a child process with limits on time, memory and files.\n"
        "\n",
    .more = "\n"
            "Examples:\n"
            "  See what a search will find in a PDF:\n"
            "    parley extract report.pdf | less\n"
            "\n"
            "Exit status: 0 printed; 1 no text could be read, standard error says why; 2 wrong "
            "usage.\n",
    .groups = (const struct config_group *const[]){&extract_options, &scan_options, NULL},
    .run = run_extract,
};

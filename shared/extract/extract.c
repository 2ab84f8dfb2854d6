/* SPDX-License-Identifier: MIT
 * extract.c - see extract.h. Which kind a document is of, and who reads it:
 *
 *   TEXT         here if it is UTF-8, which is only copied; else as HTML
 *   HTML, DOCX   `parley extract --parse KIND` in a sandbox; exits with 0, or with 64 + the fault
 *   PDF          pdftotext in a sandbox prints words with their places, and `parley extract --parse
 *                pdf` in another one makes text of them (pdf_text.h)
 *   EML          as HTML; then for each attached PDF one more `--parse eml --attachment N`, which
 *                prints its bytes, and with these as PDF
 *
 * Output of a child is cleaned again, because a compromised child can write anything. */
#include "shared/extract/extract.h"

#include "shared/base/clock.h"
#include "shared/extract/encoding.h"
#include "shared/extract/office.h"
#include "shared/extract/pdf_text.h"
#include "shared/extract/sandbox.h"
#include "shared/extract/scan.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    /* Limits of a child: so much, and so much more for each MiB of the file, up to the most.
     * docs/performance.md has what documents take. */
    HTML_CPU_S = 2,
    DOCX_CPU_S = 5, /* it unpacks to many times its size */
    PDF_CPU_S = 10,
    MIB_CPU_S = 1,
    PDF_MIB_CPU_S = 4,
    CPU_MAX_S = 60,
    WALL_MS = 120 * 1000,
    MAIL_WALL_MS = 15 * 60 * 1000, /* after it no further PDF of a mail is begun */
    SIGNATURE_WITHIN_BYTES = 1024,
    NUL_PER_BYTES = 4096,
    CONTROL_PER_BYTES = 100,
    EXIT_FAULT = 64, /* and the number of the fault */
    PDFTOTEXT_NOT_ALLOWED = 3,
};
static const uint64_t pdf_memory_bytes = (uint64_t)1 << 30;
/* Sanitizers reserve far more address space than any limit would leave. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(IS_SANITIZED)
static const uint64_t own_memory_bytes = 0;
enum { OWN_CPU_FACTOR = 4 };
#else
enum { OWN_CPU_FACTOR = 1 };
static const uint64_t own_memory_bytes = (uint64_t)1 << 30;
#endif

static const char *own_program; /* see extract_set_program */

void extract_set_program(const char *path)
{
    own_program = path;
}

/* ---- faults ---- */

const char *extract_fault_text(enum extract_fault fault)
{
    static const char *const texts[EXTRACT_FAULT_NR] = {
#define X(name, text) [EXTRACT_FAULT_##name] = text,
        EXTRACT_FAULTS(X)
#undef X
    };
    return texts[fault < EXTRACT_FAULT_NR ? fault : EXTRACT_FAULT_CRASHED];
}

int extract_fault_status(enum extract_fault fault)
{
    return fault == EXTRACT_FAULT_NONE ? 0 : EXIT_FAULT + (int)fault;
}

/* ---- signatures ---- */

/* UTF-16 that is cut off in the middle of a character. */
static bool is_half_utf16(struct str s)
{
    return s.n % 2 != 0 &&
           (str_has_prefix(s, STR("\xff\xfe")) || str_has_prefix(s, STR("\xfe\xff")));
}

/* The letters of other formats at the start, or many control characters. One NUL may slip into a
 * text. */
static bool is_binary(struct str s)
{
    static const struct str signatures[] = {{"%PDF-", 5}, {"PK\x03\x04", 4}, {"{\\rtf", 5}};
    size_t control_n = 0, nul_n = 0;
    for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++)
        if (str_has_prefix(s, signatures[i]))
            return true;
    if (is_half_utf16(s))
        return true;
    if (encoding_is_wide(s) || encoding_has_shifts(s))
        return false;
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.at[i];
        control_n += c < 0x20 && !(c >= '\t' && c <= '\r') && c != 0x1b;
        nul_n += c == 0;
    }
    return nul_n > 1 + s.n / NUL_PER_BYTES || control_n > 1 + s.n / CONTROL_PER_BYTES;
}

/* A zip file with a part for its text, wherever that is: only relationships say so. */
static bool is_docx(struct str s)
{
    return str_has_prefix(s, STR("PK\x03\x04")) &&
           (str_holds(s, STR("word/")) ||
            (str_holds(s, STR("_rels/.rels")) && !str_holds(s, STR("xl/")) &&
             !str_holds(s, STR("ppt/"))));
}

enum extract_fault extract_sniff(enum extract_kind kind, struct str bytes)
{
    static const struct str ole = {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 8};
    struct str front = {bytes.at,
                        bytes.n < SIGNATURE_WITHIN_BYTES ? bytes.n : SIGNATURE_WITHIN_BYTES};
    if (kind != EXTRACT_NONE && bytes.n == 0)
        return EXTRACT_FAULT_EMPTY;
    switch (kind) {
    case EXTRACT_TEXT: return is_binary(bytes) ? EXTRACT_FAULT_NOT_TEXT : EXTRACT_FAULT_NONE;
    case EXTRACT_HTML: return is_binary(bytes) ? EXTRACT_FAULT_NOT_HTML : EXTRACT_FAULT_NONE;
    case EXTRACT_PDF:
        return str_holds(front, STR("%PDF-")) ? EXTRACT_FAULT_NONE : EXTRACT_FAULT_NOT_PDF;
    case EXTRACT_DOCX:
        if (str_has_prefix(bytes, ole))
            return EXTRACT_FAULT_OLD_OFFICE;
        return is_docx(bytes) ? EXTRACT_FAULT_NONE : EXTRACT_FAULT_NOT_DOCX;
    default: return office_sniff(kind, bytes, is_binary(bytes));
    }
}

/* ---- children ---- */

static bool is_blank(const struct buf *text)
{
    return str_trim(buf_str(text)).n == 0;
}

static enum extract_fault fault_of(enum sandbox_end end)
{
    switch (end) {
    case SANDBOX_EXITED: break;
    case SANDBOX_SLOW: return EXTRACT_FAULT_SLOW;
    case SANDBOX_FULL: return EXTRACT_FAULT_TOO_MUCH_TEXT;
    case SANDBOX_STOPPED: return EXTRACT_FAULT_STOPPED;
    case SANDBOX_CRASHED: return EXTRACT_FAULT_CRASHED;
    case SANDBOX_UNBORN: return EXTRACT_FAULT_NO_CHILD;
    }
    return EXTRACT_FAULT_NONE;
}

/* Runs a child that prints text, and puts that; `pages` is NULL for a format without them. */
static enum extract_fault run_reader(const struct sandbox_job *job, struct buf *text,
                                     struct text_pages *pages, int *ret_status)
{
    struct buf out;
    buf_init(&out, EXTRACT_TEXT_MAX_BYTES);
    enum extract_fault fault = fault_of(sandbox_run(job, &out, ret_status));
    bool has_text = fault == EXTRACT_FAULT_NONE && *ret_status == 0;
    if (has_text && pages != NULL)
        extract_put_paged(text, buf_str(&out), pages);
    else if (has_text)
        extract_put_clean(text, buf_str(&out));
    buf_fini(&out);
    return text->is_over ? EXTRACT_FAULT_TOO_MUCH_TEXT : fault;
}

static unsigned cpu_seconds(enum extract_kind kind, size_t bytes)
{
    unsigned mib = (unsigned)(bytes >> 20), seconds = 0;
    switch (kind) {
    case EXTRACT_TEXT:
    case EXTRACT_HTML: seconds = (HTML_CPU_S + MIB_CPU_S * mib) * OWN_CPU_FACTOR; break;
    case EXTRACT_PDF: seconds = PDF_CPU_S + PDF_MIB_CPU_S * mib; break;
    default: seconds = (DOCX_CPU_S + MIB_CPU_S * mib) * OWN_CPU_FACTOR; break;
    }
    return seconds < CPU_MAX_S ? seconds : CPU_MAX_S;
}

/* Formats whose readers put form feeds between pages. */
static const bool has_pages[EXTRACT_KIND_NR] = {
    [EXTRACT_PDF] = true, [EXTRACT_PPTX] = true, [EXTRACT_ODP] = true};

/* Runs `parley extract --parse KIND` and puts what it prints: text, or, of a mail, the bytes of the
 * attached PDF of that number. */
static enum extract_fault run_parser(enum extract_kind kind, unsigned attachment,
                                     const struct memory_file *file, const atomic_bool *is_stopping,
                                     struct buf *out)
{
    char number[16];
    snprintf(number, sizeof number, "%u", attachment);
    const char *const argv[] = {own_program,
                                "extract",
                                "--parse",
                                extract_kind_name(kind),
                                attachment > 0 ? "--attachment" : NULL,
                                number,
                                NULL};
    struct sandbox_job job = {.argv = argv,
                              .input = file->fd,
                              .cpu_s = cpu_seconds(kind, file->n),
                              .wall_ms = WALL_MS,
                              .memory_bytes = own_memory_bytes,
                              .is_stopping = is_stopping};
    int status = 0;
    if (own_program == NULL)
        return attachment > 0 ? extract_put_mail_pdf(out, file->bytes, attachment)
                              : extract_parse(kind, file->bytes, out);
    enum extract_fault fault = fault_of(sandbox_run(&job, out, &status));
    if (fault != EXTRACT_FAULT_NONE || status == 0)
        return fault;
    return status > EXIT_FAULT && status < EXIT_FAULT + EXTRACT_FAULT_NR
               ? (enum extract_fault)(status - EXIT_FAULT)
               : EXTRACT_FAULT_CRASHED;
}

static enum extract_fault parse_in_child(enum extract_kind kind, const struct memory_file *file,
                                         const atomic_bool *is_stopping, struct buf *text,
                                         struct text_pages *pages)
{
    struct buf out;
    buf_init(&out, EXTRACT_TEXT_MAX_BYTES);
    enum extract_fault fault = run_parser(kind, 0, file, is_stopping, &out);
    if (fault == EXTRACT_FAULT_NONE && has_pages[kind])
        extract_put_paged(text, buf_str(&out), pages);
    else if (fault == EXTRACT_FAULT_NONE)
        extract_put_clean(text, buf_str(&out));
    buf_fini(&out);
    return text->is_over ? EXTRACT_FAULT_TOO_MUCH_TEXT : fault;
}

bool extract_can_read_pdf(void)
{
    char *program = sandbox_find_program("pdftotext");
    free(program);
    return program != NULL;
}

/* Makes text of what `pdftotext -tsv` printed. */
static enum extract_fault put_words(struct str words, const atomic_bool *is_stopping,
                                    struct buf *text, struct text_pages *pages)
{
    struct memory_file file;
    memory_file_init(&file);
    bool is_there = memory_file_put(&file, words) && memory_file_seal(&file);
    enum extract_fault fault = is_there
                                   ? parse_in_child(EXTRACT_PDF, &file, is_stopping, text, pages)
                                   : EXTRACT_FAULT_NO_CHILD;
    memory_file_fini(&file);
    return fault;
}

/* Makes text of the pictures of a PDF whose pages `words` lists. */
static enum extract_fault read_scan(const struct sandbox_job *job, struct buf *words,
                                    struct buf *text, struct text_pages *pages)
{
    uint32_t page_n = 0;
    for (struct str rest = buf_str(words); rest.n > 0;)
        page_n += str_has_prefix(str_cut(&rest, '\n'), STR("1\t"));
    buf_clear(words);
    int status = 0;
    enum extract_fault fault =
        fault_of(scan_put_words(job->input, page_n, job->is_stopping, words, &status));
    if (fault == EXTRACT_FAULT_NONE && status != 0)
        return EXTRACT_FAULT_NO_OCR;
    return fault == EXTRACT_FAULT_NONE ? put_words(buf_str(words), job->is_stopping, text, pages)
                                       : fault;
}

/* Runs pdftotext and makes text of its words; or of what it calls text, where there are so many
 * words that their places would take too much memory. */
static enum extract_fault run_pdftotext(const struct sandbox_job *job, struct buf *text,
                                        struct text_pages *pages, int *ret_status)
{
    const char *const plain[] = {job->argv[0], "-q", "-enc", "UTF-8", "-", "-", NULL};
    struct buf words;
    buf_init(&words, MEMORY_FILE_MAX_BYTES);
    enum extract_fault fault = fault_of(sandbox_run(job, &words, ret_status));
    if (fault == EXTRACT_FAULT_NONE && *ret_status == 0)
        fault = put_words(buf_str(&words), job->is_stopping, text, pages);
    if (fault == EXTRACT_FAULT_NO_TEXT && scan_is_on())
        fault = read_scan(job, &words, text, pages);
    buf_fini(&words);
    if (fault != EXTRACT_FAULT_TOO_MUCH_TEXT)
        return fault;
    struct sandbox_job again = *job;
    again.argv = plain;
    return run_reader(&again, text, pages, ret_status);
}

static enum extract_fault extract_pdf(const struct memory_file *file,
                                      const atomic_bool *is_stopping, struct buf *text,
                                      struct text_pages *pages)
{
    char *program = sandbox_find_program("pdftotext");
    if (program == NULL)
        return EXTRACT_FAULT_NO_PDFTOTEXT;
    const char *const argv[] = {program, "-q", "-enc", "UTF-8", "-tsv", "-", "-", NULL};
    struct sandbox_job job = {.argv = argv,
                              .input = file->fd,
                              .cpu_s = cpu_seconds(EXTRACT_PDF, file->n),
                              .wall_ms = WALL_MS,
                              .memory_bytes = pdf_memory_bytes,
                              .is_stopping = is_stopping};
    int status = 0;
    enum extract_fault fault = run_pdftotext(&job, text, pages, &status);
    free(program);
    /* It says the same of a wrong password and of a broken file; only one of them is encrypted. */
    if (fault == EXTRACT_FAULT_NONE && status != 0)
        return status == PDFTOTEXT_NOT_ALLOWED || str_holds(file->bytes, STR("/Encrypt"))
                   ? EXTRACT_FAULT_PDF_ENCRYPTED
                   : EXTRACT_FAULT_PDF_BROKEN;
    bool is_empty = fault == EXTRACT_FAULT_NONE && is_blank(text);
    if (!is_empty && fault != EXTRACT_FAULT_NO_TEXT)
        return fault;
    return scan_is_on() ? EXTRACT_FAULT_NO_TEXT : EXTRACT_FAULT_SCANNED;
}

/* ---- mail ---- */

/* A PDF that cannot be read leaves its reason in the text. */
static enum extract_fault put_attached_pdf(const struct memory_file *mail, unsigned number,
                                           const atomic_bool *is_stopping, struct buf *text)
{
    struct memory_file file;
    struct text_pages pages = {0};
    struct buf bytes, own;
    buf_init(&bytes, EXTRACT_FILE_MAX_BYTES);
    buf_init(&own, EXTRACT_TEXT_MAX_BYTES);
    memory_file_init(&file);
    enum extract_fault fault = run_parser(EXTRACT_EML, number, mail, is_stopping, &bytes);
    if (fault == EXTRACT_FAULT_NONE)
        fault = extract_sniff(EXTRACT_PDF, buf_str(&bytes));
    if (fault == EXTRACT_FAULT_NONE)
        fault = memory_file_put(&file, buf_str(&bytes)) && memory_file_seal(&file)
                    ? extract_pdf(&file, is_stopping, &own, &pages)
                    : EXTRACT_FAULT_NO_CHILD;
    buf_put(text, fault == EXTRACT_FAULT_NONE ? str_trim(buf_str(&own))
                                              : str_of(extract_fault_text(fault)));
    memory_file_fini(&file);
    text_pages_fini(&pages);
    buf_fini(&own);
    buf_fini(&bytes);
    return fault == EXTRACT_FAULT_STOPPED || fault == EXTRACT_FAULT_NO_CHILD ? fault
                                                                             : EXTRACT_FAULT_NONE;
}

/* Puts a mail's text, with that of each attached PDF in the place of its form feed. */
static enum extract_fault extract_mail(const struct memory_file *file,
                                       const atomic_bool *is_stopping, struct buf *text)
{
    uint64_t deadline_ms = clock_mono_ms() + MAIL_WALL_MS;
    struct buf out;
    buf_init(&out, EXTRACT_TEXT_MAX_BYTES);
    enum extract_fault fault = run_parser(EXTRACT_EML, 0, file, is_stopping, &out);
    struct str rest = buf_str(&out);
    for (unsigned n = 1; fault == EXTRACT_FAULT_NONE && rest.at != NULL; n++) {
        struct str piece = str_cut(&rest, '\f');
        bool has_pdf = rest.at != NULL && n <= EXTRACT_MAIL_PDFS_MAX;
        if (n > 1 && piece.n > 0)
            buf_lit(text, "\n\n");
        extract_put_clean(text, piece);
        if (has_pdf)
            buf_lit(text, "\n\n");
        if (has_pdf && clock_mono_ms() > deadline_ms)
            buf_put(text, str_of(extract_fault_text(EXTRACT_FAULT_SLOW)));
        else if (has_pdf)
            fault = put_attached_pdf(file, n, is_stopping, text);
    }
    buf_fini(&out);
    return text->is_over ? EXTRACT_FAULT_TOO_MUCH_TEXT : fault;
}

/* ---- documents ---- */

enum extract_fault extract_parse(enum extract_kind kind, struct str bytes, struct buf *text)
{
    enum extract_fault fault = EXTRACT_FAULT_NONE;
    switch (kind) {
    case EXTRACT_TEXT: fault = extract_put_text(text, bytes); break;
    case EXTRACT_HTML: fault = extract_put_html(text, bytes); break;
    case EXTRACT_DOCX: fault = extract_put_docx(text, bytes); break;
    case EXTRACT_PDF: pdf_put_text(text, bytes); break;
    default: fault = office_put(kind, text, bytes); break;
    }
    if (fault == EXTRACT_FAULT_NONE && text->is_over)
        return EXTRACT_FAULT_TOO_MUCH_TEXT;
    return fault == EXTRACT_FAULT_NONE && is_blank(text) ? EXTRACT_FAULT_NO_TEXT : fault;
}

/* Text that is UTF-8 is only copied; other encodings take libraries. */
static bool needs_child(enum extract_kind kind, struct str bytes)
{
    return kind == EXTRACT_PDF || kind == EXTRACT_EML ||
           (own_program != NULL && kind != EXTRACT_NONE &&
            !(kind == EXTRACT_TEXT && encoding_is_plain(bytes)));
}

enum extract_fault extract_file_text(enum extract_kind kind, const struct memory_file *file,
                                     const atomic_bool *is_stopping, struct buf *text,
                                     struct text_pages *pages)
{
    if (kind != EXTRACT_NONE && file->n == 0)
        return EXTRACT_FAULT_EMPTY;
    if (!needs_child(kind, file->bytes))
        return extract_parse(kind, file->bytes, text);
    if (kind == EXTRACT_EML)
        return extract_mail(file, is_stopping, text);
    return kind == EXTRACT_PDF ? extract_pdf(file, is_stopping, text, pages)
                               : parse_in_child(kind, file, is_stopping, text, pages);
}

enum extract_fault extract_text(enum extract_kind kind, struct str bytes,
                                const atomic_bool *is_stopping, struct buf *text,
                                struct text_pages *pages)
{
    struct memory_file file;
    if (kind != EXTRACT_NONE && bytes.n == 0)
        return EXTRACT_FAULT_EMPTY;
    if (!needs_child(kind, bytes))
        return extract_parse(kind, bytes, text);
    memory_file_init(&file);
    bool is_there = memory_file_put(&file, bytes) && memory_file_seal(&file);
    enum extract_fault fault = is_there ? extract_file_text(kind, &file, is_stopping, text, pages)
                                        : EXTRACT_FAULT_NO_CHILD;
    memory_file_fini(&file);
    return fault;
}

/* SPDX-License-Identifier: MIT
 *
 * extract: extracts plain text from documents: texts, HTML, PDF, office documents, books, mail and
 * data (enum extract_kind has all). The result is valid UTF-8 without control characters except
 * newline and tab. Blocking; any thread.
 *
 * Parsers of formats that hostile files attack run in a child process (shared/extract/sandbox.h):
 * PDF in poppler's pdftotext, what that prints, HTML and DOCX in this very program, started as a
 * new process (see extract_set_program).
 */
#ifndef PARLEY_EXTRACT_EXTRACT_H
#define PARLEY_EXTRACT_EXTRACT_H

#include "shared/base/buf.h"
#include "shared/extract/memory_file.h"
#include "shared/text/text_pages.h"

#include <stdatomic.h>

/* Maximum size of a file and of a document's text. */
enum { EXTRACT_FILE_MAX_BYTES = 25 << 20, EXTRACT_TEXT_MAX_BYTES = 32 << 20 };

/* Maximum number of attached PDF files that are read of a mail. */
enum { EXTRACT_MAIL_PDFS_MAX = 10 };

enum extract_kind {
    EXTRACT_NONE,
    EXTRACT_TEXT,
    EXTRACT_HTML,
    EXTRACT_DOCX,
    EXTRACT_PDF,
    EXTRACT_PPTX,
    EXTRACT_XLSX,
    EXTRACT_ODT,
    EXTRACT_ODS,
    EXTRACT_ODP,
    EXTRACT_EPUB,
    EXTRACT_RTF,
    EXTRACT_CSV,
    EXTRACT_JSON,
    EXTRACT_XML,
    EXTRACT_EML,
    EXTRACT_KIND_NR
};

/* The kind by the name's ending, in any case; EXTRACT_NONE for all that is not read here. */
enum extract_kind extract_kind_of(struct str name);
/* Is it source code by its ending, of those texts that are read? */
bool extract_is_code(struct str name);
/* The media type of such a file, by the same ending; NULL for all that is not read here. */
const char *extract_content_type(struct str name);
/* "text", "html", "docx", "pdf", "xlsx" and so on; "none" for all else. */
const char *extract_kind_name(enum extract_kind kind);
/* The inverse; EXTRACT_NONE for an unknown word. */
enum extract_kind extract_kind_named(struct str word);
/* Returns the version of what is read of a kind. It is stored with a text: one of an earlier
 * version (0: of before texts had versions) is worth reading again. 0 for EXTRACT_NONE. */
unsigned extract_readers_version(enum extract_kind kind);

/* Reasons why a document gave no text. The first word is the name, the sentence is shown to users.
 * STOPPED and the following are not the document's fault: retry later or elsewhere. */
/* clang-format off */
#define EXTRACT_FAULTS(X)                                                                         \
    X(NONE,           "")                                                                         \
    X(KIND,           "Unsupported file type: send PDF, DOCX, PPTX, XLSX, OpenDocument, EPUB, RTF, HTML, mail (EML), data (CSV, JSON, XML), Markdown or plain text.") \
    X(KIND_OFFICE,    "Unsupported file type: save the document as DOCX or PDF and send that.")   \
    X(KIND_IMAGE,     "Text in images is not read: run OCR on the image and send the text, or a PDF that has it.") \
    X(KIND_ARCHIVE,   "Archives are not read: unpack the file and send what is in it.")            \
    X(KIND_MEDIA,     "Sound and video are not read: send a transcript as text.")                  \
    X(EMPTY,          "The file is empty.")                                                       \
    X(NOT_TEXT,       "The file has the extension of a text file but contains binary data: save it as UTF-8, or as UTF-16 with a byte order mark.") \
    X(NOT_HTML,       "The file has the extension of a web page but contains binary data.")       \
    X(NOT_PDF,        "The file has the extension .pdf but is not a PDF.")                        \
    X(NOT_DOCX,       "The file has the extension .docx but is not a DOCX document.")             \
    X(NOT_KIND,       "The content of the file is not what its extension says: save it again in that format.") \
    X(OLD_OFFICE,     "The file is an Office document in the old format or is password-protected: save it as DOCX, XLSX or PPTX without a password.") \
    X(NO_TEXT,        "The document contains no text.")                                           \
    X(SCANNED,        "The PDF contains no text. It is probably a scan: run OCR on it first, or start Parley with --ocr.")    \
    X(TOO_MUCH_TEXT,  "The document contains too much text: split it.")                           \
    X(PDF_ENCRYPTED,  "The PDF is encrypted: save it without a password and upload it again.")    \
    X(PDF_BROKEN,     "The PDF is damaged and cannot be read.")                                   \
    X(ENCRYPTED,      "The document is encrypted: save it without a password and upload it again.") \
    X(BROKEN,         "The document is damaged and cannot be read.")                              \
    X(BOMB,           "The document decompresses to more data than is allowed.")                  \
    X(SLOW,           "Reading the document took too long for its size: simplify it or split it.") \
    X(CRASHED,        "The program that reads this document crashed: the document is damaged or needs too much memory.") \
    X(STOPPED,        "Reading was cancelled.")                                                   \
    X(NO_PDFTOTEXT,   "This machine cannot read PDF: install pdftotext (package poppler-utils).") \
    X(NO_OCR,         "This machine cannot read scans: install pdftoppm (package poppler-utils), tesseract-ocr and the languages of --ocr.") \
    X(NO_CHILD,       "The document cannot be read at the moment because no process could be started. Parley retries automatically.")
/* clang-format on */

enum extract_fault {
#define X(name, text) EXTRACT_FAULT_##name,
    EXTRACT_FAULTS(X)
#undef X
        EXTRACT_FAULT_NR
};

/* A sentence for users, never NULL. */
const char *extract_fault_text(enum extract_fault fault);

/* The exit status with which a child reports it. */
int extract_fault_status(enum extract_fault fault);

/* Says of a name whose kind is EXTRACT_NONE what to send instead: KIND or KIND_.... OLD_OFFICE for
 * the formats of Office before 2007. */
enum extract_fault extract_refusal(struct str name) must_check;

/* Compares the content with the kind that the name claims: EMPTY, NOT_..., OLD_OFFICE, KIND, or
 * NONE when nothing speaks against it. Looks at signatures only; any bytes are safe. */
enum extract_fault extract_sniff(enum extract_kind kind, struct str bytes) must_check;

/* Puts the text of a document into the empty `text`, whose maximum counts, and adds its pages to
 * the empty `pages`, which stay none where a format has none. `is_stopping` (may be NULL) ends it
 * early. */
enum extract_fault extract_text(enum extract_kind kind, struct str bytes,
                                const atomic_bool *is_stopping, struct buf *text,
                                struct text_pages *pages) must_check;

/* The same of a document that is in a sealed file already, which a child is given as it is. */
enum extract_fault extract_file_text(enum extract_kind kind, const struct memory_file *file,
                                     const atomic_bool *is_stopping, struct buf *text,
                                     struct text_pages *pages) must_check;

/* Returns whether the program that reads PDF (pdftotext of poppler-utils) is on PATH. Checks each
 * time.
 */
bool extract_can_read_pdf(void);

/* Sets the program that, started as `PROGRAM extract --parse KIND`, reads HTML and DOCX: main
 * passes "/proc/self/exe" before threads start. Borrowed for the life of the process. Without it
 * they are read within this process, which is only right for tests of the parsers. */
void extract_set_program(const char *path);

/* ---- within this process ---- */

/* The same for TEXT, HTML and DOCX, without a child; for PDF the bytes are what `pdftotext -tsv`
 * printed. Form feeds are between pages, and in the text of a mail in place of attached PDF. */
enum extract_fault extract_parse(enum extract_kind kind, struct str bytes,
                                 struct buf *text) must_check;
/* Puts a text of any encoding. NONE or NOT_TEXT. */
enum extract_fault extract_put_text(struct buf *text, struct str bytes) must_check;
/* Puts the visible text of the page: its title, without tags, scripts, styles or navigation; blocks
 * become lines, table cells are separated by " | ". NONE or NOT_HTML. */
enum extract_fault extract_put_html(struct buf *text, struct str html) must_check;
/* Puts the paragraphs, tables and notes of a DOCX file. NONE, NOT_DOCX, ENCRYPTED, BROKEN, BOMB or
 * TOO_MUCH_TEXT. */
enum extract_fault extract_put_docx(struct buf *text, struct str bytes) must_check;
/* The same for the XML of its main part alone. */
enum extract_fault extract_put_docx_xml(struct buf *text, struct str xml) must_check;
/* Puts the bytes of the attached PDF of that number, from 1 on. In the text that extract_parse
 * makes of this mail, a form feed marks its place. NONE or EMPTY. */
enum extract_fault extract_put_mail_pdf(struct buf *pdf, struct str bytes,
                                        unsigned number) must_check;
/* Puts UTF-8 without control characters and without a byte order mark: bad bytes become U+FFFD,
 * line ends "\n", a form feed an empty line. */
void extract_put_clean(struct buf *text, struct str s);
/* Puts what the reader of a format with pages prints, UTF-8 with a form feed between two pages, and
 * adds where each begins. A form feed after white space leaves nothing, any other an empty line. */
void extract_put_paged(struct buf *text, struct str s, struct text_pages *pages);

#endif

/* SPDX-License-Identifier: MIT
 * scan.c - see scan.h.
 *
 * A page is drawn so large that its longer side has PAGE_PIXELS, which is 300 dots per inch of A4.
 * So its picture takes 12 MB at most, however large the page and the pictures in it are. */
#include "shared/extract/scan.h"

#include "shared/base/clock.h"
#include "shared/extract/memory_file.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    PICTURE_MAX_BYTES = 16 << 20,
    PAGE_CPU_S = 60,
    PAGE_WALL_MS = 180 * 1000,
    DOCUMENT_WALL_MS = 15 * 60 * 1000,
    PAGES_MAX = 500,
};
#define PAGE_PIXELS "3508"

static const uint64_t memory_bytes = (uint64_t)1 << 30;
static const char prefix[] = "tesseract:";
static const char *languages; /* NULL: off */

/* ---- settings ---- */

const struct config_group scan_options = {
    "Scans",
    (const struct config_option[]){
        OPTION_TEXT(
            "ocr", "ENGINE", NULL,
            "Reads scanned PDF files, which hold pictures and no text: tesseract:LANGUAGES, "
            "as in tesseract:eng+deu. Needs the packages tesseract-ocr and "
            "tesseract-ocr-LANGUAGE. A page takes 2 to 10 seconds of processor time. "
            "Without it such files are FAILED."),
        {0}}};

static bool are_languages(const char *text)
{
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_+");
    return n > 0 && text[n] == 0;
}

bool scan_read_options(const struct config *config)
{
    const char *engine = config_text(config, "ocr");
    if (engine == NULL)
        return true;
    if (strncmp(engine, prefix, sizeof prefix - 1) != 0 ||
        !are_languages(engine + sizeof prefix - 1)) {
        config_wrong("ocr", "it must be tesseract: and languages, as in tesseract:eng+deu");
        return false;
    }
    scan_set_languages(engine + sizeof prefix - 1);
    return true;
}

void scan_set_languages(const char *names)
{
    languages = names;
}

bool scan_is_on(void)
{
    return languages != NULL;
}

/* ---- pages ---- */

struct scan {
    char *draw, *read; /* programs */
    int pdf;
    const atomic_bool *is_stopping;
    struct buf *words;
};

/* Draws a page as a grey picture (PGM). */
static enum sandbox_end draw_page(const struct scan *scan, uint32_t page, struct buf *picture,
                                  int *ret_status)
{
    char number[16];
    snprintf(number, sizeof number, "%u", page);
    const char *const argv[] = {scan->draw, "-q", "-gray", "-scale-to", PAGE_PIXELS, "-f",
                                number,     "-l", number,  "-",         NULL};
    const struct sandbox_job job = {.argv = argv,
                                    .input = scan->pdf,
                                    .cpu_s = PAGE_CPU_S,
                                    .wall_ms = PAGE_WALL_MS,
                                    .memory_bytes = memory_bytes,
                                    .is_stopping = scan->is_stopping};
    return sandbox_run(&job, picture, ret_status);
}

/* Reads the words of a picture. Without the variable tesseract would start threads. */
static enum sandbox_end read_picture(const struct scan *scan, struct str picture, int *ret_status)
{
    const char *const argv[] = {
        scan->read, "stdin", "stdout", "-l", languages, "-c", "tessedit_create_tsv=1", NULL};
    static const char *const environment[] = {"OMP_THREAD_LIMIT=1", NULL};
    struct memory_file file;
    memory_file_init(&file);
    const struct sandbox_job job = {.argv = argv,
                                    .environment = environment,
                                    .input = file.fd,
                                    .cpu_s = PAGE_CPU_S,
                                    .wall_ms = PAGE_WALL_MS,
                                    .memory_bytes = memory_bytes,
                                    .is_stopping = scan->is_stopping};
    enum sandbox_end end = memory_file_put(&file, picture) && memory_file_seal(&file)
                               ? sandbox_run(&job, scan->words, ret_status)
                               : SANDBOX_UNBORN;
    memory_file_fini(&file);
    return end;
}

static enum sandbox_end put_page(const struct scan *scan, uint32_t page, int *ret_status)
{
    struct buf picture;
    buf_init(&picture, PICTURE_MAX_BYTES);
    enum sandbox_end end = draw_page(scan, page, &picture, ret_status);
    if (end == SANDBOX_EXITED && *ret_status == 0)
        end = read_picture(scan, buf_str(&picture), ret_status);
    buf_fini(&picture);
    return end;
}

enum sandbox_end scan_put_words(int pdf, uint32_t page_n, const atomic_bool *is_stopping,
                                struct buf *words, int *ret_status)
{
    struct scan scan = {.draw = sandbox_find_program("pdftoppm"),
                        .read = sandbox_find_program("tesseract"),
                        .pdf = pdf,
                        .is_stopping = is_stopping,
                        .words = words};
    uint64_t deadline_ms = clock_mono_ms() + DOCUMENT_WALL_MS;
    enum sandbox_end end = page_n > PAGES_MAX ? SANDBOX_SLOW : SANDBOX_EXITED;
    *ret_status = scan.draw == NULL || scan.read == NULL;
    for (uint32_t page = 1; page <= page_n && end == SANDBOX_EXITED && *ret_status == 0; page++)
        end = clock_mono_ms() > deadline_ms ? SANDBOX_SLOW : put_page(&scan, page, ret_status);
    free(scan.draw);
    free(scan.read);
    return end;
}

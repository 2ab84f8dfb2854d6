/* SPDX-License-Identifier: MIT
 * extract_pptx.c - PPTX: the main part names the slides in their order. Each slide is a page: with
 * the form feeds between them, passages know the number of theirs. */
#include "shared/base/mem.h"
#include "shared/extract/office.h"
#include "shared/extract/pptx_slide.h"

#include <stdlib.h>

enum { SLIDES_MAX = 10000, IDS_MAX_BYTES = 1 << 20 };

struct presentation {
    struct pool texts;
    struct str *slides; /* relationships */
    size_t n;
    bool is_presentation;
};

static void on_start(struct xml_reader *reader, const struct xml_tag *tag)
{
    struct presentation *presentation = reader->data;
    if (tag->space != XML_SLIDES)
        return;
    presentation->is_presentation = true;
    if (!xml_is(tag, "sldId") || presentation->n == SLIDES_MAX)
        return;
    presentation->slides =
        mem_grow(presentation->slides, presentation->n, sizeof *presentation->slides);
    presentation->slides[presentation->n++] =
        pool_keep(&presentation->texts, xml_relation(tag, "id"));
}

static enum extract_fault put_slide(struct package *package, const struct relation *relation,
                                    struct buf *text)
{
    struct buf rough;
    if (relation == NULL)
        return EXTRACT_FAULT_NONE;
    buf_init(&rough, EXTRACT_TEXT_MAX_BYTES);
    enum extract_fault fault = pptx_slide_read(package, relation->target, &rough);
    if (fault == EXTRACT_FAULT_NONE)
        extract_put_clean(text, str_trim(buf_str(&rough)));
    text->is_over |= rough.is_over;
    buf_fini(&rough);
    return text->is_over && fault == EXTRACT_FAULT_NONE ? EXTRACT_FAULT_TOO_MUCH_TEXT : fault;
}

/* A presentation without words has no pages. */
static enum extract_fault put_slides(struct package *package, struct str main,
                                     const struct presentation *presentation, struct buf *text)
{
    struct relations relations;
    size_t from = text->n, words_n = 0;
    enum extract_fault fault = relations_read(package, main, &relations);
    for (size_t i = 0; fault == EXTRACT_FAULT_NONE && i < presentation->n; i++) {
        if (i > 0)
            buf_put_char(text, '\f');
        size_t before = text->n;
        fault = put_slide(package, relations_find(&relations, presentation->slides[i]), text);
        words_n += text->n - before;
    }
    if (words_n == 0)
        text->n = from;
    relations_fini(&relations);
    return fault;
}

static enum extract_fault read_main(struct package *package, struct str main, struct buf *text)
{
    struct presentation presentation = {.texts.max_bytes = IDS_MAX_BYTES};
    struct xml_handler handler = {.data = &presentation, .on_start = on_start};
    enum extract_fault fault = package_read_xml(package, main, &handler);
    if (fault == EXTRACT_FAULT_NONE && !presentation.is_presentation)
        fault = EXTRACT_FAULT_NOT_KIND;
    if (fault == EXTRACT_FAULT_NONE)
        fault = put_slides(package, main, &presentation, text);
    free(presentation.slides);
    pool_fini(&presentation.texts);
    return fault;
}

enum extract_fault extract_put_pptx(struct buf *text, struct str bytes)
{
    struct package package;
    struct relations relations;
    enum extract_fault fault = package_open(&package, bytes);
    if (fault != EXTRACT_FAULT_NONE)
        return fault;
    fault = relations_read(&package, STR(""), &relations);
    if (fault == EXTRACT_FAULT_NONE)
        fault = read_main(&package, relations_target(&relations, "officeDocument"), text);
    relations_fini(&relations);
    package_close(&package);
    return fault;
}

/* SPDX-License-Identifier: MIT
 * extract_epub.c - EPUB: META-INF/container.xml names the book's package document, whose spine
 * names the chapters in the order of reading. Each is a web page, and read as one. */
#include "shared/base/mem.h"
#include "shared/extract/office.h"
#include "shared/extract/office_finish.h"
#include "shared/extract/package.h"

#include <stdlib.h>

enum { ITEMS_MAX = 16384, CHAPTER_MAX_BYTES = 25 << 20 };

struct item {
    struct str id, href;
    bool is_page;
};

struct book {
    struct package package;
    struct pool texts;
    struct buf name;  /* of the package document */
    struct buf title; /* of the last chapter */
    struct item *items;
    struct str *spine; /* ids of items */
    size_t item_n, spine_n;
};

/* ---- the package document ---- */

static void on_container(struct xml_reader *reader, const struct xml_tag *tag)
{
    struct book *book = reader->data;
    if (!xml_is(tag, "rootfile") || book->name.n > 0)
        return;
    package_put_target(&book->name, STR(""), xml_attribute(tag, "full-path"));
}

static void add_item(struct book *book, const struct xml_tag *tag)
{
    struct str type = xml_attribute(tag, "media-type");
    if (book->item_n == ITEMS_MAX)
        return;
    book->items = mem_grow(book->items, book->item_n, sizeof *book->items);
    book->items[book->item_n++] = (struct item){
        .id = pool_keep(&book->texts, xml_attribute(tag, "id")),
        .href = pool_keep(&book->texts, xml_attribute(tag, "href")),
        .is_page = str_eq(type, STR("application/xhtml+xml")) || str_eq(type, STR("text/html"))};
}

static void on_package(struct xml_reader *reader, const struct xml_tag *tag)
{
    struct book *book = reader->data;
    if (xml_is(tag, "item"))
        add_item(book, tag);
    if (!xml_is(tag, "itemref") || book->spine_n == ITEMS_MAX)
        return;
    book->spine = mem_grow(book->spine, book->spine_n, sizeof *book->spine);
    book->spine[book->spine_n++] = pool_keep(&book->texts, xml_attribute(tag, "idref"));
}

static int compare_items(const void *a, const void *b)
{
    return str_compare(((const struct item *)a)->id, ((const struct item *)b)->id);
}

static const struct item *find_item(const struct book *book, struct str id)
{
    struct item wanted = {.id = id};
    return book->item_n == 0
               ? NULL
               : bsearch(&wanted, book->items, book->item_n, sizeof *book->items, compare_items);
}

/* ---- chapters ---- */

/* Returns the chapter without its title where that is only the name of the file, as some programs
 * write it. */
static struct str without_file_name(struct str text, struct str name)
{
    struct str rest = text, line = str_cut(&rest, '\n');
    for (size_t i = name.n; i > 0; i--)
        if (name.at[i - 1] == '/') {
            name = (struct str){name.at + i, name.n - i};
            break;
        }
    bool is_name =
        str_has_prefix(line, STR("# ")) && str_eq((struct str){line.at + 2, line.n - 2}, name);
    return is_name && rest.at != NULL ? str_trim(rest) : text;
}

static enum extract_fault put_chapter(struct book *book, const struct item *item, struct buf *rough)
{
    struct buf name, page, text;
    buf_init(&name, 4096);
    buf_init(&page, CHAPTER_MAX_BYTES);
    buf_init(&text, EXTRACT_TEXT_MAX_BYTES);
    /* Names with spaces are written with %20. */
    struct buf decoded;
    buf_init(&decoded, 4096);
    if (!buf_put_url_decoded(&decoded, item->href, false))
        buf_clear(&decoded);
    package_put_target(&name, buf_str(&book->name), buf_str(&decoded));
    enum extract_fault fault = package_read(&book->package, buf_str(&name), &page);
    if (fault == EXTRACT_FAULT_NONE && page.n > 0 &&
        extract_put_chapter(&text, buf_str(&page), &book->title) == EXTRACT_FAULT_NONE &&
        text.n > 0) {
        if (rough->n > 0)
            buf_lit(rough, "\n\n");
        buf_put(rough, without_file_name(buf_str(&text), buf_str(&name)));
    }
    rough->is_over |= text.is_over || page.is_over;
    buf_fini(&decoded);
    buf_fini(&name);
    buf_fini(&page);
    buf_fini(&text);
    return fault;
}

static enum extract_fault put_chapters(struct book *book, struct buf *rough)
{
    enum extract_fault fault = EXTRACT_FAULT_NONE;
    for (size_t i = 0; fault == EXTRACT_FAULT_NONE && i < book->spine_n && !rough->is_over; i++) {
        const struct item *item = find_item(book, book->spine[i]);
        if (item != NULL && item->is_page)
            fault = put_chapter(book, item, rough);
    }
    return fault;
}

static enum extract_fault read_book(struct book *book, struct buf *rough)
{
    struct xml_handler container = {
        .data = book, .on_start = on_container, .allows_document_type = true};
    struct xml_handler package = {
        .data = book, .on_start = on_package, .allows_document_type = true};
    /* Fonts may be scrambled in any book; pages that are encrypted can only be read by a shop's own
     * programs. */
    enum extract_fault fault = package_check_encrypted(&book->package, "META-INF/encryption.xml",
                                                       "http://www.w3.org/2001/04/xmlenc#aes");
    if (fault == EXTRACT_FAULT_NONE)
        fault = package_read_xml(&book->package, STR("META-INF/container.xml"), &container);
    if (fault == EXTRACT_FAULT_NONE && book->name.n == 0)
        fault = EXTRACT_FAULT_NOT_KIND;
    if (fault == EXTRACT_FAULT_NONE)
        fault = package_read_xml(&book->package, buf_str(&book->name), &package);
    if (book->item_n > 0)
        qsort(book->items, book->item_n, sizeof *book->items, compare_items);
    return fault == EXTRACT_FAULT_NONE ? put_chapters(book, rough) : fault;
}

enum extract_fault extract_put_epub(struct buf *text, struct str bytes)
{
    struct book book = {.texts.max_bytes = 8 << 20};
    struct buf rough;
    enum extract_fault fault = package_open(&book.package, bytes);
    if (fault != EXTRACT_FAULT_NONE)
        return fault;
    buf_init(&book.name, 4096);
    buf_init(&book.title, 4096);
    buf_init(&rough, EXTRACT_TEXT_MAX_BYTES);
    fault = office_finish(text, &rough, read_book(&book, &rough));
    buf_fini(&rough);
    buf_fini(&book.name);
    buf_fini(&book.title);
    free(book.items);
    free(book.spine);
    pool_fini(&book.texts);
    package_close(&book.package);
    return fault;
}

/* SPDX-License-Identifier: MIT
 * docx_numbering.c - see docx_numbering.h. A scheme has nine levels, each with a form, a text such
 * as "%1.%2)" and a start. Lists share the counters of their scheme; a list may start a level at
 * another number, once, or replace it. */
#include "shared/extract/docx_numbering.h"

#include "shared/base/mem.h"

#include <stdlib.h>

enum {
    LEVELS = 9,
    SCHEMES_MAX = 8192,
    LISTS_MAX = 65536,
    REPLACED_MAX = 4096,
    TEXTS_MAX_BYTES = 8 << 20,
    NUMBER_MAX = 1000000,
};

struct level {
    struct str text, style;
    enum number_form form;
    unsigned start;
    unsigned restart; /* restarts after a paragraph of this level, counted from 1; 0: never */
    bool is_legal;    /* all numbers of its text are decimal, with their zeros */
};

struct docx_scheme {
    unsigned id;
    struct str link, linked; /* has the levels of the scheme whose `linked` is this `link` */
    struct level levels[LEVELS];
    unsigned counters[LEVELS]; /* DOCX_UNSET: not begun */
};

struct docx_list {
    unsigned id, scheme;
    unsigned starts[LEVELS]; /* DOCX_UNSET: as in the scheme */
    struct level *replaced;  /* levels of its own; NULL: none. Those with a start are in force */
    bool was_used;
};

struct reading {
    struct docx_numbering *numbering;
    struct docx_scheme *scheme;
    struct docx_list *list;
    struct level *level;
    unsigned overridden; /* the level of w:lvlOverride */
    size_t replaced_n;
};

static const struct level fresh_level = {.start = DOCX_UNSET, .restart = DOCX_UNSET};

/* ---- reading ---- */

static enum number_form form_of(struct str name)
{
    static const struct {
        const char *name;
        enum number_form form;
    } forms[] = {
        {"bullet", NUMBER_BULLET},
        {"none", NUMBER_NONE},
        {"decimalZero", NUMBER_ZERO},
        {"ordinal", NUMBER_ORDINAL},
        {"lowerLetter", NUMBER_LOWER_LETTER},
        {"upperLetter", NUMBER_UPPER_LETTER},
        {"lowerRoman", NUMBER_LOWER_ROMAN},
        {"upperRoman", NUMBER_UPPER_ROMAN},
        {"chineseCounting", NUMBER_CHINESE},
        {"chineseCountingThousand", NUMBER_CHINESE},
        {"ideographDigital", NUMBER_CHINESE},
        {"japaneseCounting", NUMBER_CHINESE},
        {"taiwaneseCountingThousand", NUMBER_CHINESE},
        {"decimalEnclosedCircle", NUMBER_CIRCLED},
        {"decimalEnclosedCircleChinese", NUMBER_CIRCLED},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (str_eq(name, str_of(forms[i].name)))
            return forms[i].form;
    return NUMBER_DECIMAL;
}

static void begin_scheme(struct reading *reading, const struct xml_tag *tag)
{
    struct docx_numbering *numbering = reading->numbering;
    reading->scheme = NULL;
    if (numbering->scheme_n == SCHEMES_MAX)
        return;
    numbering->schemes =
        mem_grow(numbering->schemes, numbering->scheme_n, sizeof *numbering->schemes);
    reading->scheme = &numbering->schemes[numbering->scheme_n++];
    *reading->scheme =
        (struct docx_scheme){.id = xml_number(tag, "abstractNumId", INT32_MAX, DOCX_UNSET)};
    for (unsigned i = 0; i < LEVELS; i++) {
        reading->scheme->levels[i] = fresh_level;
        reading->scheme->counters[i] = DOCX_UNSET;
    }
}

static void begin_list(struct reading *reading, const struct xml_tag *tag)
{
    struct docx_numbering *numbering = reading->numbering;
    reading->list = NULL;
    if (numbering->list_n == LISTS_MAX)
        return;
    numbering->lists = mem_grow(numbering->lists, numbering->list_n, sizeof *numbering->lists);
    reading->list = &numbering->lists[numbering->list_n++];
    *reading->list = (struct docx_list){.id = xml_number(tag, "numId", INT32_MAX, DOCX_UNSET),
                                        .scheme = DOCX_UNSET};
    for (unsigned i = 0; i < LEVELS; i++)
        reading->list->starts[i] = DOCX_UNSET;
}

static struct level *replace_level(struct reading *reading, unsigned number)
{
    struct docx_list *list = reading->list;
    if (list->replaced == NULL) {
        if (reading->replaced_n++ >= REPLACED_MAX)
            return NULL;
        list->replaced = mem_zeroed_n(LEVELS, sizeof *list->replaced);
        for (unsigned i = 0; i < LEVELS; i++)
            list->replaced[i] = fresh_level;
    }
    return &list->replaced[number];
}

static void begin_level(struct reading *reading, const struct xml_tag *tag)
{
    unsigned number = xml_number(tag, "ilvl", LEVELS - 1, DOCX_UNSET);
    reading->level = NULL;
    if (number == DOCX_UNSET)
        return;
    if (reading->list != NULL)
        reading->level = replace_level(reading, number);
    else if (reading->scheme != NULL)
        reading->level = &reading->scheme->levels[number];
    if (reading->level != NULL)
        reading->level->start = 0; /* the standard's value if it is not given (17.9.25) */
}

static void read_level(struct reading *reading, const struct xml_tag *tag)
{
    struct level *level = reading->level;
    struct pool *texts = &reading->numbering->texts;
    if (xml_is(tag, "start"))
        level->start = xml_number(tag, "val", NUMBER_MAX, 1);
    else if (xml_is(tag, "numFmt"))
        level->form = form_of(xml_attribute(tag, "val"));
    else if (xml_is(tag, "lvlText"))
        level->text = pool_keep(texts, xml_attribute(tag, "val"));
    else if (xml_is(tag, "pStyle"))
        level->style = pool_keep(texts, xml_attribute(tag, "val"));
    else if (xml_is(tag, "lvlRestart"))
        level->restart = xml_number(tag, "val", LEVELS, DOCX_UNSET);
    else if (xml_is(tag, "isLgl"))
        level->is_legal = xml_is_on(tag);
}

static void read_list(struct reading *reading, const struct xml_tag *tag)
{
    struct docx_list *list = reading->list;
    if (xml_is(tag, "abstractNumId"))
        list->scheme = xml_number(tag, "val", INT32_MAX, DOCX_UNSET);
    else if (xml_is(tag, "lvlOverride"))
        reading->overridden = xml_number(tag, "ilvl", LEVELS - 1, DOCX_UNSET);
    else if (xml_is(tag, "startOverride") && reading->overridden < LEVELS)
        list->starts[reading->overridden] = xml_number(tag, "val", NUMBER_MAX, 1);
}

static void on_start(struct xml_reader *reader, const struct xml_tag *tag)
{
    struct reading *reading = reader->data;
    struct pool *texts = &reading->numbering->texts;
    if (tag->space != XML_WORD)
        return;
    if (xml_is(tag, "abstractNum"))
        begin_scheme(reading, tag);
    else if (xml_is(tag, "num"))
        begin_list(reading, tag);
    else if (xml_is(tag, "lvl"))
        begin_level(reading, tag);
    else if (reading->level != NULL)
        read_level(reading, tag);
    else if (reading->list != NULL)
        read_list(reading, tag);
    else if (reading->scheme != NULL && xml_is(tag, "numStyleLink"))
        reading->scheme->link = pool_keep(texts, xml_attribute(tag, "val"));
    else if (reading->scheme != NULL && xml_is(tag, "styleLink"))
        reading->scheme->linked = pool_keep(texts, xml_attribute(tag, "val"));
}

static void on_end(struct xml_reader *reader, const struct xml_tag *tag)
{
    struct reading *reading = reader->data;
    if (tag->space != XML_WORD)
        return;
    if (xml_is(tag, "lvl"))
        reading->level = NULL;
    else if (xml_is(tag, "abstractNum"))
        reading->scheme = NULL;
    else if (xml_is(tag, "num"))
        reading->list = NULL;
}

/* Both begin with their id. */
static int compare_ids(const void *a, const void *b)
{
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    return x < y ? -1 : x > y;
}

/* Gives a scheme that only names a style the levels of the scheme that the style has. */
static void follow_links(struct docx_numbering *numbering)
{
    for (size_t i = 0; i < numbering->scheme_n; i++) {
        struct docx_scheme *scheme = &numbering->schemes[i], *linked = NULL;
        for (size_t k = 0; scheme->link.n > 0 && linked == NULL && k < numbering->scheme_n; k++)
            if (str_eq(numbering->schemes[k].linked, scheme->link))
                linked = &numbering->schemes[k];
        if (linked != NULL && linked != scheme)
            memcpy(scheme->levels, linked->levels, sizeof scheme->levels);
    }
}

enum extract_fault docx_numbering_read(struct package *package, struct str part,
                                       struct docx_numbering *numbering)
{
    struct reading reading = {.numbering = numbering, .overridden = DOCX_UNSET};
    struct xml_handler handler = {.data = &reading, .on_start = on_start, .on_end = on_end};
    *numbering = (struct docx_numbering){.texts.max_bytes = TEXTS_MAX_BYTES};
    enum extract_fault fault = package_read_xml(package, part, &handler);
    follow_links(numbering);
    if (numbering->scheme_n > 0)
        qsort(numbering->schemes, numbering->scheme_n, sizeof *numbering->schemes, compare_ids);
    if (numbering->list_n > 0)
        qsort(numbering->lists, numbering->list_n, sizeof *numbering->lists, compare_ids);
    return fault;
}

void docx_numbering_fini(struct docx_numbering *numbering)
{
    for (size_t i = 0; i < numbering->list_n; i++)
        free(numbering->lists[i].replaced);
    free(numbering->lists);
    free(numbering->schemes);
    pool_fini(&numbering->texts);
}

/* ---- counting ---- */

static struct docx_list *find_list(const struct docx_numbering *numbering, unsigned id)
{
    return numbering->list_n == 0 ? NULL
                                  : bsearch(&id, numbering->lists, numbering->list_n,
                                            sizeof *numbering->lists, compare_ids);
}

static struct docx_scheme *find_scheme(const struct docx_numbering *numbering, unsigned id)
{
    return numbering->scheme_n == 0 ? NULL
                                    : bsearch(&id, numbering->schemes, numbering->scheme_n,
                                              sizeof *numbering->schemes, compare_ids);
}

static const struct level *level_of(const struct docx_list *list, const struct docx_scheme *scheme,
                                    unsigned level)
{
    bool is_replaced = list->replaced != NULL && list->replaced[level].start != DOCX_UNSET;
    return is_replaced ? &list->replaced[level] : &scheme->levels[level];
}

static unsigned start_of(const struct docx_list *list, const struct docx_scheme *scheme,
                         unsigned level)
{
    unsigned start = level_of(list, scheme, level)->start;
    if (list->starts[level] != DOCX_UNSET)
        return list->starts[level];
    return start == DOCX_UNSET ? 1 : start;
}

static void count(struct docx_list *list, struct docx_scheme *scheme, unsigned level)
{
    for (unsigned i = 0; !list->was_used && i < LEVELS; i++)
        if (list->starts[i] != DOCX_UNSET)
            scheme->counters[i] = DOCX_UNSET;
    list->was_used = true;
    for (unsigned i = 0; i <= level; i++)
        if (scheme->counters[i] == DOCX_UNSET)
            scheme->counters[i] = start_of(list, scheme, i) - (i == level);
    scheme->counters[level]++;
    for (unsigned i = level + 1; i < LEVELS; i++) {
        unsigned restart = level_of(list, scheme, i)->restart;
        if (restart == DOCX_UNSET || level < restart)
            scheme->counters[i] = DOCX_UNSET;
    }
}

static void put_number(struct buf *number, const struct docx_list *list,
                       const struct docx_scheme *scheme, unsigned level)
{
    const struct level *own = level_of(list, scheme, level);
    for (size_t i = 0; i < own->text.n; i++) {
        char c = own->text.at[i], digit = i + 1 < own->text.n ? own->text.at[i + 1] : 0;
        if (c != '%' || digit < '1' || digit > '9') {
            buf_put_char(number, c);
            continue;
        }
        unsigned other = (unsigned)(digit - '1');
        enum number_form form = level_of(list, scheme, other)->form;
        if (own->is_legal && form != NUMBER_ZERO)
            form = NUMBER_DECIMAL;
        if (other <= level)
            numbers_put(number, form, scheme->counters[other]);
        i++;
    }
}

unsigned docx_numbering_level(const struct docx_numbering *numbering, unsigned list,
                              struct str style)
{
    const struct docx_list *found = find_list(numbering, list);
    const struct docx_scheme *scheme = found == NULL ? NULL : find_scheme(numbering, found->scheme);
    for (unsigned i = 0; scheme != NULL && i < LEVELS; i++)
        if (style.n > 0 && str_eq(level_of(found, scheme, i)->style, style))
            return i;
    return 0;
}

enum docx_mark docx_numbering_count(struct docx_numbering *numbering, unsigned list, unsigned level,
                                    struct buf *number)
{
    struct docx_list *found = find_list(numbering, list);
    struct docx_scheme *scheme = found == NULL ? NULL : find_scheme(numbering, found->scheme);
    if (scheme == NULL || level >= LEVELS)
        return DOCX_BULLET;
    count(found, scheme, level);
    enum number_form form = level_of(found, scheme, level)->form;
    if (form == NUMBER_BULLET)
        return DOCX_BULLET;
    put_number(number, found, scheme, level);
    while (number->n > 0 && number->at[number->n - 1] == ' ')
        number->n--;
    return number->n > 0 ? DOCX_NUMBER : DOCX_NO_MARK;
}

/* SPDX-License-Identifier: MIT
 * extract_rtf.c - Rich Text Format (Microsoft, version 1.9.1): groups in braces, control words, and
 * bytes in the encoding of their font. Left out are headers and footers, pictures, hidden and
 * deleted text, and groups that are marked as safe to skip. */
#include "shared/base/mem.h"
#include "shared/extract/docx_fields.h"
#include "shared/extract/office.h"
#include "shared/extract/office_finish.h"
#include "shared/extract/rtf_fonts.h"
#include "shared/extract/rtf_text.h"
#include "shared/text/text.h"

#include <stdlib.h>

enum {
    GROUPS_MAX = 256,
    WORD_MAX_BYTES = 32,
    PENDING_MAX_BYTES = 4096,
    STYLES_MAX = 256,
    NAME_MAX_BYTES = 64,
};

/* The purpose of a group. */
enum place {
    PLACE_TEXT,
    PLACE_NOWHERE,
    PLACE_FONTS,
    PLACE_STYLES,
    PLACE_NOTE,
    PLACE_MARK,
    PLACE_INSTRUCTION /* of a field */
};

struct group {
    enum place place;
    bool is_place_begun; /* this group is the first of its place */
    bool is_hidden;
    char script;         /* '^', '_' or 0 */
    unsigned fallback_n; /* bytes after \u for readers without Unicode */
    unsigned page, font;
};

struct rtf {
    struct rtf_fonts fonts;
    struct group groups[GROUPS_MAX];
    unsigned depth; /* the open groups; those beyond GROUPS_MAX are left out */
    struct rtf_text text;
    struct docx_fields fields;
    struct buf pending;                 /* bytes in the encoding of the group */
    unsigned char headings[STYLES_MAX]; /* of styles by their number; 0: none */
    char style_name[NAME_MAX_BYTES];
    size_t style_name_n;
    unsigned style, skip_n;
    uint32_t high; /* the first half of a pair */
    bool is_star;
};

static struct group *group_of(struct rtf *rtf)
{
    return &rtf->groups[rtf->depth < GROUPS_MAX ? rtf->depth : GROUPS_MAX - 1];
}

static bool is_shown(struct rtf *rtf)
{
    const struct group *group = group_of(rtf);
    bool has_place = group->place == PLACE_TEXT || group->place == PLACE_NOTE ||
                     group->place == PLACE_MARK || group->place == PLACE_INSTRUCTION;
    return has_place && !group->is_hidden && rtf->depth < GROUPS_MAX;
}

/* ---- text ---- */

static void put_utf8(struct rtf *rtf, struct str letters)
{
    if (!is_shown(rtf))
        return;
    if (group_of(rtf)->place == PLACE_INSTRUCTION)
        docx_fields_add(&rtf->fields, letters);
    else
        rtf_text_put(&rtf->text, letters, group_of(rtf)->script);
}

/* Puts the bytes that were collected in one encoding. */
static void flush(struct rtf *rtf)
{
    struct buf utf8;
    if (rtf->pending.n == 0)
        return;
    buf_init(&utf8, 4 * PENDING_MAX_BYTES);
    rtf_put_bytes(&utf8, buf_str(&rtf->pending), group_of(rtf)->page);
    put_utf8(rtf, buf_str(&utf8));
    buf_fini(&utf8);
    buf_clear(&rtf->pending);
}

static void put_code(struct rtf *rtf, uint32_t code)
{
    char bytes[4];
    flush(rtf);
    put_utf8(rtf, (struct str){bytes, text_put_char(bytes, code)});
}

/* A unit of UTF-16. */
static void put_unit(struct rtf *rtf, int number)
{
    uint32_t unit = (uint32_t)number & 0xffff, high = rtf->high;
    rtf->high = 0;
    if ((unit & 0xfc00) == 0xd800)
        rtf->high = unit;
    else if ((unit & 0xfc00) != 0xdc00)
        put_code(rtf, unit);
    else if (high != 0)
        put_code(rtf, 0x10000 + ((high & 0x3ff) << 10) + (unit & 0x3ff));
    rtf->skip_n = group_of(rtf)->fallback_n;
}

/* ---- groups ---- */

static void begin_group(struct rtf *rtf)
{
    flush(rtf);
    if (rtf->depth + 1 < GROUPS_MAX) {
        rtf->groups[rtf->depth + 1] = rtf->groups[rtf->depth];
        rtf->groups[rtf->depth + 1].is_place_begun = false;
    }
    rtf->depth++;
    rtf->is_star = false;
}

/* The group is the first of a place, at whose end that ends. */
static void begin_place(struct rtf *rtf, enum place place)
{
    group_of(rtf)->place = place;
    group_of(rtf)->is_place_begun = true;
    group_of(rtf)->script = 0;
}

static void begin_instruction(struct rtf *rtf)
{
    if (!is_shown(rtf) || group_of(rtf)->place == PLACE_INSTRUCTION) {
        group_of(rtf)->place = PLACE_NOWHERE;
        return;
    }
    begin_place(rtf, PLACE_INSTRUCTION);
    (void)docx_fields_read(&rtf->fields, STR("begin"));
}

static void end_group(struct rtf *rtf)
{
    struct str shown = STR("");
    flush(rtf);
    if (rtf->depth == 0)
        return;
    if (rtf->depth < GROUPS_MAX && group_of(rtf)->is_place_begun) {
        if (group_of(rtf)->place == PLACE_NOTE)
            rtf_text_end_note(&rtf->text);
        else if (group_of(rtf)->place == PLACE_MARK)
            rtf_text_end_mark(&rtf->text);
        else if (group_of(rtf)->place == PLACE_INSTRUCTION)
            shown = docx_fields_read(&rtf->fields, STR("end"));
    }
    rtf->depth--;
    rtf->skip_n = 0;
    put_utf8(rtf, shown);
}

/* ---- control words ---- */

struct word {
    struct str name;
    int number;
    bool has_number;
};

static bool is_one_of(struct str name, const char *names)
{
    return str_is_listed(str_of(names), name);
}

/* Returns whether the word says what its group is for. */
static bool read_place(struct rtf *rtf, struct str name)
{
    static const char nowhere[] =
        "colortbl,info,pict,objdata,objclass,header,headerl,headerr,headerf,footer,footerl,footerr,"
        "footerf,nonshppict,listtable,listoverridetable,revtbl,rsidtbl,generator,xmlnstbl,"
        "themedata,colorschememapping,datastore,latentstyles,sn,sv,bkmkstart,bkmkend,atnid,"
        "atnauthor,annotation,template,ftnsep,ftnsepc,aftnsep,aftnsepc,tc,xe,filetbl,mmathPr";
    struct group *group = group_of(rtf);
    if (str_eq(name, STR("fldinst")))
        begin_instruction(rtf);
    else if (str_eq(name, STR("fonttbl")))
        group->place = PLACE_FONTS;
    else if (str_eq(name, STR("stylesheet")))
        group->place = PLACE_STYLES;
    else if (str_eq(name, STR("footnote"))) {
        if (is_shown(rtf) && rtf_text_begin_note(&rtf->text))
            begin_place(rtf, PLACE_NOTE);
    } else if (is_one_of(name, "listtext,pntext")) {
        if (is_shown(rtf) && rtf_text_begin_mark(&rtf->text))
            begin_place(rtf, PLACE_MARK);
    } else if (is_one_of(name, nowhere) ||
               (rtf->is_star && !is_one_of(name, "shpinst,shptxt,listtext,pntext,cs,ds")))
        group->place = PLACE_NOWHERE;
    else
        return false;
    return true;
}

static void read_font(struct rtf *rtf, const struct word *word)
{
    struct group *group = group_of(rtf);
    bool is_known = word->number >= 0 && word->number < RTF_FONTS_MAX;
    if (str_eq(word->name, STR("f")) && is_known) {
        group->font = (unsigned)word->number;
        group->page = rtf->fonts.pages[word->number];
    } else if (str_eq(word->name, STR("fcharset")) && group->font < RTF_FONTS_MAX) {
        rtf->fonts.pages[group->font] = (unsigned short)rtf_page_of_charset(word->number);
    }
    if (group->page == 0)
        group->page = rtf->fonts.default_page;
}

/* Properties of letters. */
static bool read_letters(struct rtf *rtf, const struct word *word)
{
    struct group *group = group_of(rtf);
    bool is_on = !word->has_number || word->number != 0;
    if (str_eq(word->name, STR("v")) || str_eq(word->name, STR("deleted")))
        group->is_hidden = is_on;
    else if (str_eq(word->name, STR("super")))
        group->script = (char)(is_on ? '^' : 0);
    else if (str_eq(word->name, STR("sub")))
        group->script = (char)(is_on ? '_' : 0);
    else if (str_eq(word->name, STR("nosupersub")))
        group->script = 0;
    else if (str_eq(word->name, STR("plain"))) {
        group->is_hidden = false;
        group->script = 0;
    } else
        return false;
    return true;
}

/* Properties of paragraphs; in a mark they are those of the mark. */
static bool read_paragraph(struct rtf *rtf, const struct word *word)
{
    if (rtf->text.is_in_mark)
        return false;
    if (str_eq(word->name, STR("pard"))) {
        rtf->text.is_in_table = false;
        rtf->text.heading = 0;
    } else if (str_eq(word->name, STR("intbl"))) {
        rtf->text.is_in_table = true;
    } else if (str_eq(word->name, STR("outlinelevel"))) {
        rtf->text.heading = word->number >= 0 && word->number < 6 ? (unsigned)word->number + 1 : 0;
    } else if (str_eq(word->name, STR("s"))) {
        rtf->style = word->number >= 0 && word->number < STYLES_MAX ? (unsigned)word->number : 0;
        rtf->text.heading = rtf->headings[rtf->style];
    } else {
        return false;
    }
    return true;
}

/* Words that stand for characters and breaks. */
static void put_word(struct rtf *rtf, const struct word *word)
{
    static const struct {
        const char *name;
        uint32_t code;
    } characters[] = {{"emdash", 0x2014}, {"endash", 0x2013},    {"lquote", 0x2018},
                      {"rquote", 0x2019}, {"ldblquote", 0x201c}, {"rdblquote", 0x201d},
                      {"bullet", 0x2022}, {"tab", ' '},          {"emspace", ' '},
                      {"enspace", ' '},   {"qmspace", ' '}};
    for (size_t i = 0; i < sizeof characters / sizeof *characters; i++)
        if (str_eq(word->name, str_of(characters[i].name)))
            put_code(rtf, characters[i].code);
    if (!is_shown(rtf) || group_of(rtf)->place == PLACE_INSTRUCTION)
        return;
    if (is_one_of(word->name, "par,sect,page"))
        rtf_text_end_paragraph(&rtf->text);
    else if (str_eq(word->name, STR("line")))
        flow_break(&rtf->text.flow, 1);
    else if (str_eq(word->name, STR("cell")))
        rtf_text_end_cell(&rtf->text);
    else if (str_eq(word->name, STR("row")))
        rtf_text_end_row(&rtf->text);
    else if (is_one_of(word->name, "nestcell,nestrow"))
        flow_put(&rtf->text.flow, STR(" "));
}

/* The cells of a row, which may continue those beside or above them. */
static bool read_row(struct rtf *rtf, struct str name)
{
    struct rtf_text *text = &rtf->text;
    if (str_eq(name, STR("trowd")))
        text->defined_n = 0;
    else if (str_eq(name, STR("clmrg")))
        text->defined = RTF_CELL_BESIDE;
    else if (str_eq(name, STR("clvmrg")))
        text->defined = RTF_CELL_BELOW;
    else if (str_eq(name, STR("cellx"))) {
        if (text->defined_n < TABLE_COLUMNS_MAX)
            text->cells[text->defined_n++] = text->defined;
        text->defined = RTF_CELL_OWN;
    } else
        return false;
    return true;
}

static void read_page(struct rtf *rtf, const struct word *word)
{
    rtf->fonts.default_page = str_eq(word->name, STR("mac")) ? 10000
                              : word->number > 0             ? (unsigned)word->number
                                                             : 1252;
    group_of(rtf)->page = rtf->fonts.default_page;
}

static void do_word(struct rtf *rtf, const struct word *word)
{
    flush(rtf);
    if (group_of(rtf)->place == PLACE_NOWHERE)
        return;
    if (read_place(rtf, word->name)) {
        rtf->is_star = false;
        return;
    }
    rtf->is_star = false;
    if (is_one_of(word->name, "ansicpg,mac"))
        read_page(rtf, word);
    else if (is_one_of(word->name, "f,fcharset"))
        read_font(rtf, word);
    else if (str_eq(word->name, STR("u")))
        put_unit(rtf, word->number);
    else if (str_eq(word->name, STR("uc")))
        group_of(rtf)->fallback_n =
            word->number >= 0 && word->number < 16 ? (unsigned)word->number : 1;
    else if (!read_letters(rtf, word) && !read_paragraph(rtf, word) && !read_row(rtf, word->name))
        put_word(rtf, word);
}

/* ---- bytes ---- */

/* "heading 2;" in the table of styles. */
static void read_style_name(struct rtf *rtf, char c)
{
    static const struct str heading = {"heading ", 8};
    if (c != ';') {
        if (rtf->style_name_n < NAME_MAX_BYTES)
            rtf->style_name[rtf->style_name_n++] = c;
        return;
    }
    struct str name = str_trim((struct str){rtf->style_name, rtf->style_name_n});
    char level = name.n == heading.n + 1 ? name.at[heading.n] : 0;
    if (level >= '1' && level <= '9' && str_eq_nocase((struct str){name.at, heading.n}, heading))
        rtf->headings[rtf->style] = (unsigned char)(level > '6' ? 6 : level - '0');
    rtf->style_name_n = 0;
}

static void put_byte(struct rtf *rtf, char c)
{
    if (rtf->skip_n > 0) {
        rtf->skip_n--;
        return;
    }
    if (group_of(rtf)->place == PLACE_STYLES)
        read_style_name(rtf, c);
    if (!is_shown(rtf))
        return;
    buf_put_char(&rtf->pending, c);
    if (rtf->pending.n >= PENDING_MAX_BYTES - 2 && !rtf_page_is_wide(group_of(rtf)->page))
        flush(rtf);
    else if (rtf->pending.n >= PENDING_MAX_BYTES - 2 && rtf->pending.n % 2 == 0)
        flush(rtf);
}

/* ---- the text ---- */

/* Takes a control word or symbol, after its backslash. */
static struct str take_control(struct rtf *rtf, struct str rest)
{
    struct word word = {.name = {rest.at, 0}};
    bool is_negative = false;
    size_t i = 0;
    while (i < rest.n && i < WORD_MAX_BYTES && (rest.at[i] | 0x20) >= 'a' &&
           (rest.at[i] | 0x20) <= 'z')
        i++;
    word.name.n = i;
    if (i < rest.n && rest.at[i] == '-') {
        is_negative = true;
        i++;
    }
    for (; i < rest.n && rest.at[i] >= '0' && rest.at[i] <= '9'; i++) {
        word.has_number = true;
        word.number = word.number > 1 << 26 ? word.number : word.number * 10 + (rest.at[i] - '0');
    }
    word.number = is_negative ? -word.number : word.number;
    i += i < rest.n && rest.at[i] == ' ';
    if (str_eq(word.name, STR("bin")) && word.number > 0)
        i += (size_t)word.number < rest.n - i ? (size_t)word.number : rest.n - i;
    else
        do_word(rtf, &word);
    return (struct str){rest.at + i, rest.n - i};
}

static struct str take_symbol(struct rtf *rtf, struct str rest)
{
    unsigned char byte;
    char c = *rest.at;
    size_t n = 1;
    if (c == '\'' && rest.n > 2) {
        n = 3;
        if (str_unhex((struct str){rest.at + 1, 2}, &byte))
            put_byte(rtf, (char)byte);
    } else if (c == '*') {
        rtf->is_star = true;
    } else if (c == '~') {
        put_code(rtf, ' ');
    } else if (c == '_') {
        put_code(rtf, '-');
    } else if (c == '\n' || c == '\r') {
        do_word(rtf, &(struct word){.name = {"par", 3}});
    } else if (c == '\\' || c == '{' || c == '}') {
        put_byte(rtf, c);
    }
    return (struct str){rest.at + n, rest.n - n};
}

static void read_rtf(struct rtf *rtf, struct str rest)
{
    while (rest.n > 0 && !rtf->text.flow.out->is_over) {
        char c = *rest.at;
        rest = (struct str){rest.at + 1, rest.n - 1};
        if (c == '{')
            begin_group(rtf);
        else if (c == '}')
            end_group(rtf);
        else if (c == '\\' && rest.n > 0 && (*rest.at | 0x20) >= 'a' && (*rest.at | 0x20) <= 'z')
            rest = take_control(rtf, rest);
        else if (c == '\\' && rest.n > 0)
            rest = take_symbol(rtf, rest);
        else if (c != '\r' && c != '\n')
            put_byte(rtf, c);
    }
    flush(rtf);
    while (rtf->depth > 0)
        end_group(rtf);
}

static struct rtf *make_rtf(struct buf *rough)
{
    struct rtf *rtf = mem_zeroed(sizeof *rtf);
    rtf->fonts.default_page = 1252;
    rtf->groups[0] = (struct group){.fallback_n = 1, .page = 1252};
    rtf_text_init(&rtf->text, rough);
    buf_init(&rtf->pending, PENDING_MAX_BYTES);
    return rtf;
}

static void free_rtf(struct rtf *rtf)
{
    rtf_text_fini(&rtf->text);
    buf_fini(&rtf->pending);
    free(rtf);
}

enum extract_fault extract_put_rtf(struct buf *text, struct str bytes)
{
    struct buf rough;
    buf_init(&rough, EXTRACT_TEXT_MAX_BYTES);
    struct rtf *rtf = make_rtf(&rough);
    read_rtf(rtf, bytes);
    rtf_text_finish(&rtf->text, &rough);
    free_rtf(rtf);
    enum extract_fault fault = office_finish(text, &rough, EXTRACT_FAULT_NONE);
    buf_fini(&rough);
    return fault;
}

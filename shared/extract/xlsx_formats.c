/* SPDX-License-Identifier: MIT
 * xlsx_formats.c - see xlsx_formats.h (SpreadsheetML of ECMA-376, 18.8.30). */
#include "shared/extract/xlsx_formats.h"

#include "shared/base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    STYLES_MAX = 65536,
    CODES_MAX = 4096,
    DECIMALS_MAX = 15,
    FIRST_OWN_ID = 164,
    DAY_S = 86400,
    DAYS_MAX = 2958465, /* the end of 9999 */
};

struct code {
    unsigned id;
    struct xlsx_format format;
};

struct reading {
    struct xlsx_formats *formats;
    struct code *codes;
    size_t code_n;
    bool is_in_styles;
};

/* ---- formats ---- */

static void put_sign(struct xlsx_format *format, bool has_digits, struct str sign)
{
    char *signs = has_digits ? format->after : format->before;
    size_t n = strlen(signs);
    if (n + sign.n >= XLSX_SIGN_BYTES)
        return;
    memcpy(signs + n, sign.at, sign.n);
    signs[n + sign.n] = 0;
}

/* "[$€-407]" is a sign, "[h]" is elapsed time, all else in brackets is a color or a condition. */
static void read_bracket(struct xlsx_format *format, bool has_digits, struct str inside)
{
    if (inside.n > 1 && *inside.at == '$') {
        inside = (struct str){inside.at + 1, inside.n - 1};
        put_sign(format, has_digits, str_cut(&inside, '-'));
    } else if (inside.n > 0 && inside.n <= 2 && strchr("hHmMsS", *inside.at) != NULL) {
        format->has_time = format->is_elapsed = true;
    }
}

static void read_letter(struct xlsx_format *format, char letter, bool *has_month)
{
    char lower = (char)(letter | 0x20);
    *has_month |= lower == 'm';
    format->has_date |= lower == 'y' || lower == 'd';
    format->has_time |= lower == 'h' || lower == 's';
    format->has_seconds |= lower == 's';
}

static void read_digit(struct xlsx_format *format, char digit, bool is_after_point)
{
    if (is_after_point && format->decimals < DECIMALS_MAX) {
        format->decimals++;
        if (digit == '0')
            format->least_decimals = format->decimals;
    }
}

/* How much of the code its next item takes; 0 ends the section that is for positive numbers. */
static size_t item_length(struct str code)
{
    const char *end = NULL;
    if (*code.at == ';')
        return 0;
    if (*code.at == '"')
        end = memchr(code.at + 1, '"', code.n - 1);
    else if (*code.at == '[')
        end = memchr(code.at, ']', code.n);
    else if (strchr("\\_*", *code.at) != NULL)
        return code.n < 2 ? 1 : 2;
    return end == NULL ? 1 : (size_t)(end - code.at) + 1;
}

struct xlsx_format xlsx_format_of(struct str code)
{
    struct xlsx_format format = {0};
    bool has_month = false, has_digits = false, is_after_point = false;
    size_t n;
    if (code.n == 0 || str_eq_nocase(code, STR("General")) || str_eq(code, STR("@")))
        return (struct xlsx_format){.is_general = true};
    for (; code.n > 0 && (n = item_length(code)) > 0;
         code = (struct str){code.at + n, code.n - n}) {
        char c = *code.at;
        if (c == '"' && n > 1)
            put_sign(&format, has_digits, (struct str){code.at + 1, n - 2});
        else if (c == '[' && n > 1)
            read_bracket(&format, has_digits, (struct str){code.at + 1, n - 2});
        else if (c == '\\' && n > 1)
            put_sign(&format, has_digits, (struct str){code.at + 1, 1});
        else if (c == '0' || c == '#' || c == '?') {
            has_digits = true;
            read_digit(&format, c, is_after_point);
        } else if (c == '.')
            is_after_point = has_digits;
        else if (c == '%')
            format.is_percent = true;
        else if ((c | 0x20) == 'e' && has_digits)
            format.is_general = true;
        else if (strchr("yYmMdDhHsS", c) != NULL)
            read_letter(&format, c, &has_month);
        else if ((unsigned char)c >= 0x80 || c == '$' || c == ' ')
            put_sign(&format, has_digits, (struct str){code.at, 1});
    }
    format.has_date |= has_month && !format.has_time;
    return format;
}

/* Formats that every workbook has, by their numbers. */
static struct xlsx_format format_of_id(const struct reading *reading, unsigned id)
{
    static const char *const codes[] = {"",     "0",       "0.00",  "0",       "0.00",      "",
                                        "",     "",        "",      "0%",      "0.00%",     "",
                                        "",     "",        "d/m/y", "d/m",     "d/m",       "m/y",
                                        "h:mm", "h:mm:ss", "h:mm",  "h:mm:ss", "d/m/y h:mm"};
    for (size_t i = 0; i < reading->code_n; i++)
        if (reading->codes[i].id == id)
            return reading->codes[i].format;
    if (id < sizeof codes / sizeof *codes)
        return xlsx_format_of(str_of(codes[id]));
    if ((id >= 27 && id <= 36) || (id >= 50 && id <= 58))
        return xlsx_format_of(STR("y/m/d"));
    if (id >= 45 && id <= 47)
        return xlsx_format_of(STR("h:mm:ss"));
    return xlsx_format_of(id == 37 || id == 38   ? STR("0")
                          : id == 39 || id == 40 ? STR("0.00")
                                                 : STR(""));
}

/* ---- reading ---- */

static void add_style(struct reading *reading, const struct xml_tag *tag)
{
    struct xlsx_formats *formats = reading->formats;
    if (formats->n == STYLES_MAX)
        return;
    formats->styles = mem_grow(formats->styles, formats->n, sizeof *formats->styles);
    formats->styles[formats->n++] =
        format_of_id(reading, xml_number(tag, "numFmtId", INT32_MAX, 0));
}

static void on_start(struct xml_reader *reader, const struct xml_tag *tag)
{
    struct reading *reading = reader->data;
    if (tag->space != XML_SHEETS)
        return;
    if (xml_is(tag, "numFmt") && reading->code_n < CODES_MAX) {
        reading->codes = mem_grow(reading->codes, reading->code_n, sizeof *reading->codes);
        reading->codes[reading->code_n++] =
            (struct code){xml_number(tag, "numFmtId", INT32_MAX, 0),
                          xlsx_format_of(xml_attribute(tag, "formatCode"))};
    } else if (xml_is(tag, "cellXfs")) {
        reading->is_in_styles = true;
    } else if (xml_is(tag, "xf") && reading->is_in_styles) {
        add_style(reading, tag);
    }
}

static void on_end(struct xml_reader *reader, const struct xml_tag *tag)
{
    struct reading *reading = reader->data;
    if (tag->space == XML_SHEETS && xml_is(tag, "cellXfs"))
        reading->is_in_styles = false;
}

enum extract_fault xlsx_formats_read(struct package *package, struct str part,
                                     struct xlsx_formats *formats)
{
    struct reading reading = {.formats = formats};
    struct xml_handler handler = {.data = &reading, .on_start = on_start, .on_end = on_end};
    formats->styles = NULL;
    formats->n = 0;
    enum extract_fault fault = package_read_xml(package, part, &handler);
    free(reading.codes);
    return fault;
}

void xlsx_formats_fini(struct xlsx_formats *formats)
{
    free(formats->styles);
}

/* ---- values ---- */

/* The date of a day since 1970 in the Gregorian calendar (Howard Hinnant, "chrono-Compatible
 * Low-Level Date Algorithms", civil_from_days). */
static void put_date(struct buf *b, int64_t day)
{
    day += 719468;
    int64_t era = day / 146097, of_era = day % 146097;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * of_year + 2) / 153;
    int64_t of_month = of_year - (153 * month + 2) / 5 + 1;
    month += month < 10 ? 3 : -9;
    buf_printf(b, "%04d-%02d-%02d", (int)(year + era * 400 + (month <= 2)), (int)month,
               (int)of_month);
}

static void put_time(struct buf *b, const struct xlsx_format *format, int64_t seconds)
{
    buf_printf(b, "%02d:%02d", (int)(seconds / 3600), (int)(seconds / 60 % 60));
    if (format->has_seconds && seconds % 60 != 0)
        buf_printf(b, ":%02d", (int)(seconds % 60));
}

static void put_moment(struct buf *b, const struct xlsx_format *format, bool is_1904, double value)
{
    int64_t seconds = (int64_t)llround(value * DAY_S), day = seconds / DAY_S;
    /* Excel counts February 29, 1900, which was not. */
    int64_t first = is_1904 ? -24107 : day < 61 ? -25568 : -25569;
    if (format->has_date)
        put_date(b, day + first);
    if (format->has_date && format->has_time)
        buf_put_char(b, ' ');
    if (format->has_time)
        put_time(b, format, format->is_elapsed ? seconds : seconds % DAY_S);
}

static void put_decimals(struct buf *b, const struct xlsx_format *format, double value)
{
    size_t from = b->n;
    /* 1234.55 is a little less in binary, and yet shown as 1234.6. */
    buf_printf(b, "%.*f", (int)format->decimals, value + value * 1e-15);
    for (unsigned n = format->decimals; n > format->least_decimals; n--) {
        if (b->n <= from || b->at[b->n - 1] != '0')
            return;
        b->n--;
    }
    b->n -= format->decimals > 0 && format->least_decimals == 0 && b->n > from;
}

void xlsx_put_value(struct buf *b, const struct xlsx_formats *formats, unsigned style, double value)
{
    static const struct xlsx_format general = {.is_general = true};
    const struct xlsx_format *format = style < formats->n ? &formats->styles[style] : &general;
    bool is_moment = format->has_date || format->has_time;
    if (is_moment && value >= 0 && value < DAYS_MAX) {
        put_moment(b, format, formats->is_1904, value);
        return;
    }
    buf_put(b, str_of(format->before));
    if (format->is_percent)
        value *= 100;
    if (format->is_general || is_moment || fabs(value) >= 1e15)
        buf_printf(b, "%.15g", value);
    else
        put_decimals(b, format, value);
    buf_put(b, str_of(format->after));
    if (format->is_percent)
        buf_put_char(b, '%');
}

/* SPDX-License-Identifier: MIT
 * docx_fields.c - see docx_fields.h (ECMA-376, 17.16; EQ as Word's help describes it):
 *
 *   EQ \* jc2 \o\ad(\s\up 9(reading),base)     base(reading)
 *   EQ \f(1;2), EQ \f(1,2)                     1/2 */
#include "shared/extract/docx_fields.h"

enum { LEVELS_MAX = 32 };

static unsigned bit_of(const struct docx_fields *fields)
{
    return fields->depth > 0 && fields->depth <= LEVELS_MAX ? 1u << (fields->depth - 1) : 0;
}

/* ---- equations ---- */

/* Takes what is before the parenthesis or the comma at the front's own depth. */
static struct str take_argument(struct str *s)
{
    size_t n = 0;
    for (unsigned depth = 0; n < s->n; n++) {
        char c = s->at[n];
        if (depth == 0 && (c == ')' || c == ',' || c == ';'))
            break;
        depth += c == '(';
        depth -= c == ')';
    }
    struct str argument = str_trim((struct str){s->at, n});
    size_t skip_n = n < s->n ? n + 1 : n;
    *s = (struct str){s->at + skip_n, s->n - skip_n};
    return argument;
}

static struct str after(struct str s, const char *word)
{
    const char *found = s.n == 0 ? NULL : memmem(s.at, s.n, word, strlen(word));
    if (found == NULL)
        return (struct str){NULL, 0};
    size_t n = (size_t)(found - s.at) + strlen(word);
    return (struct str){s.at + n, s.n - n};
}

/* Replaces the instruction by what it shows: two arguments, with signs between and after them. */
static struct str show(struct docx_fields *fields, struct str first, struct str between,
                       struct str second, struct str end)
{
    char shown[DOCX_INSTRUCTION_MAX_BYTES];
    const struct str pieces[] = {first, between, second, end};
    size_t n = 0;
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        if (pieces[i].n > sizeof shown - n)
            return STR("");
        if (pieces[i].n > 0)
            memcpy(shown + n, pieces[i].at, pieces[i].n);
        n += pieces[i].n;
    }
    memcpy(fields->instruction, shown, n);
    return (struct str){fields->instruction, n};
}

static struct str show_equation(struct docx_fields *fields)
{
    struct str all = str_trim((struct str){fields->instruction, fields->n});
    struct str raised = after(after(all, "\\o"), "\\up"), fraction = after(all, "\\f(");
    if (fields->is_lost || !str_has_prefix(all, STR("EQ ")))
        return STR("");
    if (raised.at != NULL) {
        str_cut(&raised, '(');
        if (raised.at == NULL)
            return STR("");
        struct str reading = take_argument(&raised);
        take_argument(&raised);
        return show(fields, take_argument(&raised), STR("("), reading, STR(")"));
    }
    if (fraction.at == NULL)
        return STR("");
    struct str numerator = take_argument(&fraction);
    return show(fields, numerator, STR("/"), take_argument(&fraction), STR(""));
}

/* ---- fields ---- */

struct str docx_fields_read(struct docx_fields *fields, struct str type)
{
    struct str shown = STR("");
    if (str_eq(type, STR("begin"))) {
        fields->is_lost = docx_fields_hide(fields);
        fields->depth++;
        fields->n = 0;
    } else if (str_eq(type, STR("separate"))) {
        fields->instructions &= ~bit_of(fields);
        fields->is_lost = true;
    } else if (str_eq(type, STR("end")) && fields->depth > 0) {
        fields->instructions &= ~bit_of(fields);
        fields->depth--;
        shown = show_equation(fields);
        fields->is_lost = true;
    }
    return shown;
}

void docx_fields_add(struct docx_fields *fields, struct str instruction)
{
    fields->instructions |= bit_of(fields);
    if (fields->is_lost || instruction.n > sizeof fields->instruction - fields->n) {
        fields->is_lost = true;
        return;
    }
    memcpy(fields->instruction + fields->n, instruction.at, instruction.n);
    fields->n += instruction.n;
}

void docx_fields_end_paragraph(struct docx_fields *fields)
{
    fields->instructions = 0;
}

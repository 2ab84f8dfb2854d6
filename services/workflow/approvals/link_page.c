/* SPDX-License-Identifier: MIT
 * link_page.c - see link_page.h. Everything that is not a literal passes buf_put_html: texts
 * of agents, of models and of clients are not to be trusted. */
#include "services/workflow/approvals/link_page.h"

#include "shared/base/html.h"

#include <stdio.h>

/* Texts that may be longer than this get a field of several lines. */
enum { LINE_MAX_CHARS = 120, MOMENT_MAX_BYTES = 32 };

/* A text as it is, any other value as JSON. */
static void put_value(struct buf *b, const json_t *value)
{
    struct buf json;
    if (json_is_string(value)) {
        buf_put_html(b, json_str(value));
        return;
    }
    buf_init(&json, LINK_PAGE_MAX_BYTES);
    buf_put_json_value(&json, value);
    buf_put_html(b, buf_str(&json));
    buf_fini(&json);
}

static void put_entry(struct buf *b, const char *name, struct str value)
{
    buf_printf(b, "<dt>%s</dt><dd>", name);
    buf_put_html(b, value);
    buf_lit(b, "</dd>\n");
}

/* --- fields ----------------------------------------------------------------------------------- */

struct field {
    const char *name;
    const json_t *schema;
    const json_t *initial; /* NULL: none */
    struct str sent;       /* of a refused attempt; at == NULL: none */
    unsigned number;       /* ids of the page: names of members may hold anything */
    bool is_required;
};

static bool is_type(const struct field *field, const char *name)
{
    return form_post_takes(field->schema, name);
}

static void put_attribute(struct buf *b, const char *name, const json_t *number)
{
    if (!json_is_number(number))
        return;
    buf_printf(b, " %s=\"", name);
    buf_put_json_value(b, number);
    buf_put_char(b, '"');
}

static void put_common(struct buf *b, const struct field *field)
{
    buf_printf(b, " id=\"f%u\" name=\"field.", field->number);
    buf_put_html(b, str_of(field->name));
    buf_put_char(b, '"');
    if (json_is_string(json_object_get(field->schema, "description")))
        buf_printf(b, " aria-describedby=\"d%u\"", field->number);
}

static void put_shown(struct buf *b, const struct field *field)
{
    if (field->sent.at != NULL)
        buf_put_html(b, field->sent);
    else if (field->initial != NULL && !json_is_null(field->initial))
        put_value(b, field->initial);
}

static bool is_shown(const struct field *field, const json_t *choice)
{
    struct buf b;
    bool is;
    if (field->sent.at == NULL)
        return field->initial != NULL && json_equal(field->initial, choice);
    if (json_is_string(choice))
        return str_eq(field->sent, json_str(choice));
    buf_init(&b, 64 << 10);
    buf_put_json_value(&b, choice);
    is = str_eq(field->sent, buf_str(&b));
    buf_fini(&b);
    return is;
}

static void put_select(struct buf *b, const struct field *field, const json_t *choices)
{
    size_t i;
    json_t *choice;
    bool is_any = false;
    struct buf options;
    buf_init(&options, LINK_PAGE_MAX_BYTES);
    json_array_foreach(choices, i, choice)
    {
        bool is = !is_any && is_shown(field, choice);
        is_any |= is;
        buf_lit(&options, "<option value=\"");
        put_value(&options, choice);
        buf_put(&options, is ? STR("\" selected>") : STR("\">"));
        put_value(&options, choice);
        buf_lit(&options, "</option>\n");
    }
    buf_lit(b, "<select");
    put_common(b, field);
    buf_lit(b, ">\n");
    if (!is_any) /* otherwise the browser would choose the first */
        buf_lit(b, "<option value=\"\" selected>Choose one</option>\n");
    buf_put(b, buf_str(&options));
    buf_lit(b, "</select>\n");
    buf_fini(&options);
}

/* A box that is not ticked sends nothing: the hidden field before it says that it was there. */
static void put_box(struct buf *b, const struct field *field)
{
    bool is_on = field->sent.at != NULL ? str_eq(field->sent, STR("true"))
                                        : field->initial != NULL && json_is_true(field->initial);
    buf_lit(b, "<input type=\"hidden\" value=\"false\" name=\"field.");
    buf_put_html(b, str_of(field->name));
    buf_lit(b, "\">\n<input type=\"checkbox\" value=\"true\"");
    put_common(b, field);
    buf_put(b, is_on ? STR(" checked>") : STR(">"));
}

static void put_number(struct buf *b, const struct field *field)
{
    buf_lit(b, "<input type=\"number\"");
    put_common(b, field);
    buf_put(b, is_type(field, "integer") ? STR(" step=\"1\"") : STR(" step=\"any\""));
    put_attribute(b, "min", json_object_get(field->schema, "minimum"));
    put_attribute(b, "max", json_object_get(field->schema, "maximum"));
    buf_lit(b, " value=\"");
    put_shown(b, field);
    buf_lit(b, "\">\n");
}

static void put_text_field(struct buf *b, const struct field *field)
{
    const json_t *most = json_object_get(field->schema, "maxLength");
    struct str shown = field->sent.at != NULL ? field->sent : json_str(field->initial);
    bool is_line = is_type(field, "string") && json_is_integer(most) &&
                   json_integer_value(most) <= LINE_MAX_CHARS &&
                   (shown.n == 0 || memchr(shown.at, '\n', shown.n) == NULL);
    buf_put(b, is_line ? STR("<input type=\"text\"") : STR("<textarea rows=\"4\""));
    put_common(b, field);
    if (is_type(field, "string")) {
        put_attribute(b, "maxlength", most);
        put_attribute(b, "minlength", json_object_get(field->schema, "minLength"));
    }
    /* Browsers drop the first line end of a textarea. */
    buf_put(b, is_line ? STR(" value=\"") : STR(">\n"));
    put_shown(b, field);
    buf_put(b, is_line ? STR("\">\n") : STR("</textarea>\n"));
}

static void put_label(struct buf *b, const struct field *field)
{
    struct str title = json_member_str(field->schema, "title");
    buf_put_html(b, title.n > 0 ? title : str_of(field->name));
    if (field->is_required)
        buf_lit(b, " (required with corrections)");
}

static void put_field(struct buf *b, const struct field *field)
{
    const json_t *choices = json_object_get(field->schema, "enum");
    bool is_box = is_type(field, "boolean") && !json_is_array(choices);
    buf_printf(b, "<label for=\"f%u\">", field->number);
    if (is_box)
        put_box(b, field);
    put_label(b, field);
    buf_lit(b, "</label>\n");
    if (json_is_array(choices))
        put_select(b, field, choices);
    else if (is_type(field, "number") || is_type(field, "integer"))
        put_number(b, field);
    else if (!is_box)
        put_text_field(b, field);
    struct str description = json_member_str(field->schema, "description");
    if (description.at != NULL) {
        buf_printf(b, "<p class=\"note\" id=\"d%u\">", field->number);
        buf_put_html(b, description);
        if (is_type(field, "object") || is_type(field, "array"))
            buf_lit(b, " (JSON)");
        buf_lit(b, "</p>\n");
    }
}

static bool is_listed(const json_t *list, const char *name)
{
    size_t i;
    json_t *one;
    json_array_foreach(list, i, one) if (str_eq(json_str(one), str_of(name))) return true;
    return false;
}

static void put_fields(struct buf *b, const struct link_question *question, const json_t *form,
                       const struct form_post *post)
{
    const char *name;
    json_t *schema, *properties = json_object_get(form, "properties");
    const json_t *required = json_object_get(form, "required");
    unsigned number = 0;
    if (json_object_size(properties) == 0)
        return;
    buf_lit(b,
            "<fieldset>\n<legend>Corrections</legend>\n<p class=\"note\">Leave everything as it is "
            "to approve without corrections. If you change something and approve, the agent is "
            "asked again with your values.</p>\n");
    json_object_foreach(properties, name, schema)
    {
        number++;
        const struct field field = {.name = name,
                                    .schema = schema,
                                    .initial = form_post_initial(schema, question->body, name),
                                    .sent = post == NULL ? (struct str){NULL, 0}
                                                         : json_member_str(post->fields, name),
                                    .number = number,
                                    .is_required = is_listed(required, name)};
        put_field(b, &field);
    }
    buf_lit(b, "</fieldset>\n");
}

/* --- pages ------------------------------------------------------------------------------------ */

static void put_about(struct buf *b, const struct link_question *question)
{
    const char *name;
    json_t *value;
    buf_lit(b, "<h2>What it is about</h2>\n<dl>\n");
    put_entry(b, "Agent that stopped", question->agent);
    put_entry(b, "Started by", question->user.n > 0 ? question->user : question->account);
    json_object_foreach((json_t *)question->body, name, value)
    {
        buf_lit(b, "<dt dir=\"auto\">");
        buf_put_html(b, str_of(name));
        buf_lit(b, "</dt><dd dir=\"auto\">");
        put_value(b, value);
        buf_lit(b, "</dd>\n");
    }
    buf_lit(b, "</dl>\n");
}

/* For people: a space in place of the T. */
static void put_moment(struct buf *b, uint64_t ms)
{
    struct buf text;
    buf_init(&text, MOMENT_MAX_BYTES);
    buf_put_timestamp(&text, ms / 1000);
    struct str rest = buf_str(&text), day = str_cut(&rest, 'T');
    buf_put(b, day);
    buf_put_char(b, ' ');
    buf_put(b, rest);
    buf_fini(&text);
}

static void put_terms(struct buf *b, const struct link_question *question, struct str account)
{
    buf_lit(b, "<p class=\"note\">It counts as the answer of <strong>");
    buf_put_html(b, account);
    buf_lit(b, "</strong>, once.");
    if (question->quorum > 1)
        buf_printf(b, " %llu of %llu %s been given; one rejection ends the run.",
                   (unsigned long long)question->approvals,
                   COUNTED_AS(question->quorum, "approval has", "approvals have"));
    if (question->deadline_ms != 0) {
        buf_lit(b, " It can be given until <time datetime=\"");
        buf_put_timestamp(b, question->deadline_ms / 1000);
        buf_lit(b, "Z\">");
        put_moment(b, question->deadline_ms);
        buf_lit(b, " UTC</time>.");
    }
    buf_lit(b, "</p>\n");
}

/* Comes before the buttons, and is short: so both are in sight on a phone. */
static void put_head(struct buf *b, const struct link_question *question)
{
    buf_lit(b, "<p class=\"step\"><strong>");
    buf_put_html(b, question->verb);
    buf_lit(b, "</strong> <span>");
    buf_put_html(b, question->description.n > 0 ? question->description : question->agent);
    buf_lit(b, "</span></p>\n<p class=\"reason\" dir=\"auto\">");
    buf_put_html(b, question->reason);
    buf_lit(b, "</p>\n");
}

/* Enter in a field would press the first button, so that is one that cannot be pressed. */
static void put_buttons(struct buf *b)
{
    buf_lit(b, "<h2 class=\"hidden\">Your answer</h2>\n<button disabled hidden></button>\n"
               "<div class=\"answers\">\n"
               "<button type=\"submit\" name=\"decision\" value=\"approve\">Approve</button>\n"
               "<button type=\"submit\" name=\"decision\" value=\"reject\">Reject</button>\n"
               "</div>\n");
}

static void put_comment(struct buf *b, const struct form_post *post)
{
    buf_lit(b, "<label for=\"comment\">Comment</label>\n<textarea id=\"comment\" name=\"comment\" "
               "rows=\"2\" maxlength=\"1000\">\n");
    if (post != NULL)
        buf_put_html(b, str_of(post->comment));
    buf_lit(b, "</textarea>\n");
}

void link_page_put_question(struct buf *b, const struct link_question *question, struct str account,
                            const char *fault, const struct form_post *post)
{
    buf_put(b, link_frame.head);
    buf_lit(b, "<h1>A workflow waits for you</h1>\n");
    put_head(b, question);
    if (fault != NULL) {
        buf_lit(b, "<p class=\"fault\" role=\"alert\">");
        buf_put_html(b, str_of(fault));
        buf_lit(b, "</p>\n");
    }
    buf_lit(b, "<form method=\"post\" novalidate>\n");
    put_buttons(b);
    put_terms(b, question, account);
    json_t *own = question->form == NULL ? form_post_default(question->body) : NULL;
    put_fields(b, question, own != NULL ? own : question->form, post);
    json_decref(own);
    put_comment(b, post);
    buf_lit(b, "</form>\n");
    put_about(b, question);
    buf_put(b, link_frame.foot);
}

void link_page_put_notice(struct buf *b, const char *heading, const char *text)
{
    buf_put(b, link_frame.head);
    buf_lit(b, "<h1>");
    buf_put_html(b, str_of(heading));
    buf_lit(b, "</h1>\n<p>");
    buf_put_html(b, str_of(text));
    buf_lit(b, "</p>\n");
    buf_put(b, link_frame.foot);
}

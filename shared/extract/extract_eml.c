/* SPDX-License-Identifier: MIT
 * extract_eml.c - mail (EML): subject, sender, receivers and date, then the text, or the HTML part
 * if there is no text, then attachments, each read as the kind that its name says, within the same
 * child. PDF is read by another program, which cannot be started there: a form feed marks the place
 * of its text, and its bytes are handed out on demand. Messages in messages are read to a depth of
 * five. */
#include "shared/extract/encoding.h"
#include "shared/extract/mime.h"
#include "shared/extract/office.h"
#include "shared/extract/office_finish.h"

enum { DEPTH_MAX = 5, PARTS_MAX = 1000, NAME_MAX_BYTES = 1024, BOUNDARY_MAX_BYTES = 200 };

struct mail {
    struct buf *out;
    struct buf *pdf; /* gets the bytes of PDF number `wanted`, without other work; or NULL */
    unsigned wanted, pdf_n;
    unsigned depth; /* of multiparts and messages that are open */
    unsigned part_n;
};

static void put_message(struct mail *mail, struct str bytes);

static void begin_block(struct buf *out)
{
    if (out->n > 0)
        buf_lit(out, "\n\n");
}

/* ---- heads ---- */

/* Cleans at once: only attached PDF files are form feeds. */
static void put_words(struct buf *out, struct str value)
{
    struct buf words;
    buf_init(&words, EXTRACT_TEXT_MAX_BYTES);
    mime_put_words(&words, value);
    extract_put_clean(out, buf_str(&words));
    buf_fini(&words);
}

static void put_head(struct buf *out, struct str head)
{
    static const char *const names[] = {"From", "To", "Cc", "Date", NULL};
    struct str subject = mime_field(head, "Subject");
    bool is_first = true;
    if (subject.n > 0) {
        begin_block(out);
        buf_lit(out, "# ");
        put_words(out, subject);
    }
    for (const char *const *name = names; *name != NULL; name++) {
        struct str value = mime_field(head, *name);
        if (value.n == 0)
            continue;
        if (is_first)
            begin_block(out);
        else
            buf_put_char(out, '\n');
        is_first = false;
        buf_put(out, str_of(*name));
        buf_lit(out, ": ");
        put_words(out, value);
    }
}

/* ---- texts ---- */

struct entity {
    struct str type, disposition, encoding, body; /* type and disposition with parameters */
};

static struct entity read_entity(struct str bytes)
{
    struct entity entity;
    struct str head;
    mime_split(bytes, &head, &entity.body);
    entity.type = mime_field(head, "Content-Type");
    entity.disposition = mime_field(head, "Content-Disposition");
    entity.encoding = mime_main_value(mime_field(head, "Content-Transfer-Encoding"));
    return entity;
}

static bool is_type(const struct entity *entity, const char *type)
{
    struct str wanted = str_of(type), own = mime_main_value(entity->type);
    bool is_family = wanted.n > 0 && wanted.at[wanted.n - 1] == '/';
    if (is_family && own.n > wanted.n)
        own.n = wanted.n;
    return str_eq_nocase(own, wanted);
}

/* Text of a named encoding, or HTML, which may name its own. */
static void put_text(struct buf *out, const struct entity *entity, bool is_html)
{
    struct buf bytes, utf8, label, text;
    buf_init(&bytes, EXTRACT_FILE_MAX_BYTES);
    buf_init(&label, NAME_MAX_BYTES);
    buf_init(&text, EXTRACT_TEXT_MAX_BYTES);
    mime_put_decoded(&bytes, entity->body, entity->encoding);
    mime_put_parameter(&label, entity->type, "charset");
    buf_init(&utf8, bytes.n * 4 + 16);
    bool is_text = bytes.n > 0 && encoding_put_utf8(&utf8, buf_str(&bytes), buf_str(&label));
    if (is_text && is_html)
        is_text = extract_put_html(&text, label.n > 0 ? buf_str(&utf8) : buf_str(&bytes)) ==
                  EXTRACT_FAULT_NONE;
    else if (is_text)
        extract_put_clean(&text, buf_str(&utf8));
    struct str shown = str_trim(buf_str(&text));
    if (is_text && shown.n > 0) {
        begin_block(out);
        buf_put(out, shown);
    }
    out->is_over |= text.is_over;
    buf_fini(&bytes);
    buf_fini(&utf8);
    buf_fini(&label);
    buf_fini(&text);
}

/* ---- attachments ---- */

static void put_attached(struct buf *out, enum extract_kind kind, struct str bytes)
{
    struct buf text;
    buf_init(&text, EXTRACT_TEXT_MAX_BYTES);
    enum extract_fault fault = extract_sniff(kind, bytes);
    if (fault == EXTRACT_FAULT_NONE)
        fault = extract_parse(kind, bytes, &text);
    begin_block(out);
    extract_put_clean(out, fault == EXTRACT_FAULT_NONE ? str_trim(buf_str(&text))
                                                       : str_of(extract_fault_text(fault)));
    buf_fini(&text);
}

static void put_pdf(struct mail *mail, const struct entity *entity)
{
    begin_block(mail->out);
    if (++mail->pdf_n > EXTRACT_MAIL_PDFS_MAX)
        buf_lit(mail->out, "Only ten PDF files of a mail are read: send this one by itself.");
    else
        buf_put_char(mail->out, '\f');
    if (mail->pdf != NULL && mail->pdf_n == mail->wanted)
        mime_put_decoded(mail->pdf, entity->body, entity->encoding);
}

static void put_attachment(struct mail *mail, const struct entity *entity, struct str name)
{
    struct buf bytes;
    enum extract_kind kind = extract_kind_of(name);
    begin_block(mail->out);
    buf_lit(mail->out, "## Attachment: ");
    extract_put_clean(mail->out, name);
    if (kind == EXTRACT_PDF)
        put_pdf(mail, entity);
    if (kind == EXTRACT_NONE || kind == EXTRACT_PDF || (mail->pdf != NULL && kind != EXTRACT_EML))
        return;
    buf_init(&bytes, EXTRACT_FILE_MAX_BYTES);
    mime_put_decoded(&bytes, entity->body, entity->encoding);
    if (kind == EXTRACT_EML)
        put_message(mail, buf_str(&bytes));
    else
        put_attached(mail->out, kind, buf_str(&bytes));
    buf_fini(&bytes);
}

/* Puts the name of an attachment; nothing for a part that is shown. */
static void put_name(struct buf *name, const struct entity *entity)
{
    mime_put_parameter(name, entity->disposition, "filename");
    if (name->n == 0)
        mime_put_parameter(name, entity->type, "name");
    if (name->n == 0 && str_eq_nocase(mime_main_value(entity->disposition), STR("attachment")))
        buf_lit(name, "without a name");
}

/* ---- parts ---- */

static void put_part(struct mail *mail, struct str bytes);

/* Puts one of several forms of a text: plain text if it has words, or else the last. */
static void put_alternative(struct mail *mail, struct str body, struct str boundary)
{
    struct str part, best = STR(""), rest = body;
    while (mime_next_part(&rest, boundary, &part)) {
        struct entity entity = read_entity(part);
        bool is_plain = is_type(&entity, "text/plain") && str_trim(entity.body).n > 0;
        best = part;
        if (is_plain)
            break;
    }
    if (best.n > 0)
        put_part(mail, best);
}

static void put_multipart(struct mail *mail, const struct entity *entity)
{
    struct buf boundary;
    struct str part, rest = entity->body;
    buf_init(&boundary, BOUNDARY_MAX_BYTES);
    mime_put_parameter(&boundary, entity->type, "boundary");
    if (boundary.n > 0 && is_type(entity, "multipart/alternative"))
        put_alternative(mail, entity->body, buf_str(&boundary));
    else
        while (boundary.n > 0 && mime_next_part(&rest, buf_str(&boundary), &part))
            put_part(mail, part);
    buf_fini(&boundary);
}

static void put_entity(struct mail *mail, const struct entity *entity)
{
    struct buf name;
    if (mail->out->is_over || ++mail->part_n > PARTS_MAX)
        return;
    buf_init(&name, NAME_MAX_BYTES);
    put_name(&name, entity);
    if (is_type(entity, "multipart/"))
        put_multipart(mail, entity);
    else if (is_type(entity, "message/rfc822"))
        put_message(mail, entity->body);
    else if (name.n > 0)
        put_attachment(mail, entity, buf_str(&name));
    else if (mail->pdf == NULL && is_type(entity, "text/html"))
        put_text(mail->out, entity, true);
    else if (mail->pdf == NULL && (entity->type.n == 0 || is_type(entity, "text/")))
        put_text(mail->out, entity, false);
    buf_fini(&name);
}

static void put_part(struct mail *mail, struct str bytes)
{
    struct entity entity = read_entity(bytes);
    if (mail->depth >= 2 * DEPTH_MAX)
        return;
    mail->depth++;
    put_entity(mail, &entity);
    mail->depth--;
}

static void put_message(struct mail *mail, struct str bytes)
{
    struct str head, body;
    if (mail->depth >= 2 * DEPTH_MAX)
        return;
    mime_split(bytes, &head, &body);
    put_head(mail->out, head);
    put_part(mail, bytes);
}

/* A mail has at least one of the fields that mails begin with. */
static bool is_mail(struct str bytes)
{
    static const char *const names[] = {"From", "Date",         "Subject",      "Received",
                                        "To",   "MIME-Version", "Content-Type", NULL};
    struct str head, body;
    mime_split(bytes, &head, &body);
    for (const char *const *name = names; *name != NULL; name++)
        if (mime_field(head, *name).n > 0)
            return true;
    return false;
}

enum extract_fault extract_put_eml(struct buf *text, struct str bytes)
{
    struct buf rough;
    struct mail mail = {.out = &rough};
    if (!is_mail(bytes))
        return EXTRACT_FAULT_NOT_KIND;
    buf_init(&rough, EXTRACT_TEXT_MAX_BYTES);
    put_message(&mail, bytes);
    enum extract_fault fault = office_finish_pages(text, &rough, EXTRACT_FAULT_NONE);
    buf_fini(&rough);
    return fault;
}

enum extract_fault extract_put_mail_pdf(struct buf *pdf, struct str bytes, unsigned number)
{
    struct buf rough;
    struct mail mail = {.out = &rough, .pdf = pdf, .wanted = number};
    buf_init(&rough, EXTRACT_TEXT_MAX_BYTES);
    put_message(&mail, bytes);
    buf_fini(&rough);
    return pdf->n == 0 ? EXTRACT_FAULT_EMPTY : EXTRACT_FAULT_NONE;
}

/* SPDX-License-Identifier: MIT
 * office.c - see office.h. */
#include "shared/extract/office.h"

/* The beginning of a file. */
enum form { FORM_TEXT, FORM_ZIP, FORM_RTF };

struct reader {
    enum extract_fault (*put)(struct buf *text, struct str bytes);
    enum form form;
    struct str sign; /* a name that is somewhere in its zip file */
};

static const struct reader readers[EXTRACT_KIND_NR] = {
    [EXTRACT_PPTX] = {extract_put_pptx, FORM_ZIP, {"ppt/", 4}},
    [EXTRACT_XLSX] = {extract_put_xlsx, FORM_ZIP, {"xl/", 3}},
    [EXTRACT_ODT] = {extract_put_odt, FORM_ZIP, {"content.xml", 11}},
    [EXTRACT_ODS] = {extract_put_ods, FORM_ZIP, {"content.xml", 11}},
    [EXTRACT_ODP] = {extract_put_odp, FORM_ZIP, {"content.xml", 11}},
    [EXTRACT_EPUB] = {extract_put_epub, FORM_ZIP, {"META-INF/container.xml", 22}},
    [EXTRACT_RTF] = {extract_put_rtf, FORM_RTF, {NULL, 0}},
    [EXTRACT_CSV] = {extract_put_csv, FORM_TEXT, {NULL, 0}},
    [EXTRACT_JSON] = {extract_put_json, FORM_TEXT, {NULL, 0}},
    [EXTRACT_XML] = {extract_put_xml, FORM_TEXT, {NULL, 0}},
    [EXTRACT_EML] = {extract_put_eml, FORM_TEXT, {NULL, 0}},
};

enum extract_fault office_put(enum extract_kind kind, struct buf *text, struct str bytes)
{
    if (kind >= EXTRACT_KIND_NR || readers[kind].put == NULL)
        return EXTRACT_FAULT_KIND;
    return readers[kind].put(text, bytes);
}

static bool is_zip_with(struct str bytes, struct str sign)
{
    return str_has_prefix(bytes, STR("PK\x03\x04")) && str_holds(bytes, sign);
}

enum extract_fault office_sniff(enum extract_kind kind, struct str bytes, bool is_binary)
{
    static const struct str ole = {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 8};
    bool is_good = false;
    if (kind >= EXTRACT_KIND_NR || readers[kind].put == NULL)
        return EXTRACT_FAULT_KIND;
    switch (readers[kind].form) {
    case FORM_TEXT: is_good = !is_binary; break;
    case FORM_RTF: is_good = str_has_prefix(str_trim(bytes), STR("{\\rtf")); break;
    case FORM_ZIP:
        if (str_has_prefix(bytes, ole))
            return EXTRACT_FAULT_OLD_OFFICE;
        is_good = is_zip_with(bytes, readers[kind].sign);
        break;
    }
    return is_good ? EXTRACT_FAULT_NONE : EXTRACT_FAULT_NOT_KIND;
}

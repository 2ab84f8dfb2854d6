/* SPDX-License-Identifier: MIT
 * fuzz_base_json_scan - any bytes: the scanner agrees with jansson on what is an object, and on
 * what its texts say; every compact form scans again, to itself. */
#include "shared/base/json.h"
#include "shared/base/json_scan.h"

#include <stdlib.h>

enum { MOST = 64, FORM_MAX = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void compare_member(const struct json_member *member, const json_t *tree)
{
    struct buf name, text;
    buf_init(&name, FORM_MAX);
    buf_init(&text, FORM_MAX);
    buf_put_span_text(&name, &member->name);
    buf_terminate(&name);
    json_t *value = json_object_getn(tree, name.at == NULL ? "" : name.at, name.n);
    if (value == NULL)
        abort();
    /* Of two members of one name the tree has the last one only. */
    if (member->value.kind == JSON_SPAN_TEXT && json_is_string(value)) {
        buf_put_span_text(&text, &member->value);
        if (json_object_size(tree) == 1 && !str_eq(buf_str(&text), json_str(value)) &&
            strstr(name.at, "dup") == NULL)
            abort();
    }
    buf_fini(&name);
    buf_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct json_member members[MOST], again[MOST];
    struct str text = {(const char *)data, size};
    const char *reason;
    char why[256];
    size_t n, at, again_n;
    bool is_object;
    json_t *tree = NULL;
    bool ok = json_scan_object(text, members, MOST, &n, &reason, &at, &is_object);
    if (at > size)
        abort();
    if (!ok)
        return 0;
    if (!json_parse(text, why, sizeof why, &tree))
        abort();
    if (n < 2)
        for (size_t i = 0; i < n; i++)
            compare_member(&members[i], tree);
    json_decref(tree);
    struct buf form, twin;
    buf_init(&form, FORM_MAX);
    buf_init(&twin, FORM_MAX);
    struct json_span whole = {.kind = JSON_SPAN_OBJECT, .raw = text};
    buf_put_span(&form, &whole);
    if (!form.is_over) {
        struct json_span whole_form = {.kind = JSON_SPAN_OBJECT, .raw = buf_str(&form)};
        if (!json_scan_object(buf_str(&form), again, MOST, &again_n, &reason, &at, &is_object) ||
            again_n != n)
            abort();
        buf_put_span(&twin, &whole_form);
        if (!str_eq(buf_str(&form), buf_str(&twin)))
            abort();
    }
    buf_fini(&form);
    buf_fini(&twin);
    return 0;
}

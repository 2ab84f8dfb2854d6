/* SPDX-License-Identifier: MIT
 * Any bytes as what a browser sends from the page of a question: what is read makes corrections,
 * and a page that shows it again. */
#include "services/workflow/approvals/link_page.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char form_text[] =
    "{\"type\":\"object\",\"required\":[\"n\"],\"properties\":{\"t\":{\"type\":\"string\"},"
    "\"n\":{\"type\":\"number\"},\"i\":{\"type\":\"integer\",\"default\":1},"
    "\"b\":{\"type\":\"boolean\"},\"e\":{\"enum\":[\"a\",2,null]},\"l\":{\"type\":\"array\"}}}";
static const char body_text[] = "{\"t\":\"a\\r\\nb\",\"n\":5.0,\"e\":2,\"l\":[1]}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static json_t *form, *body;
    struct form_post post;
    const char *reason;
    struct buf b;
    if (form == NULL) {
        form = json_loads(form_text, 0, NULL);
        body = json_loads(body_text, 0, NULL);
    }
    if (!form_post_read((struct str){(const char *)data, size}, &post, &reason))
        return 0;
    json_t *corrections = form_post_corrections(&post, form, body);
    assert(corrections == NULL || json_object_size(corrections) > 0);
    json_decref(corrections);
    struct link_question question = {.agent = STR("a"), .form = form, .body = body, .quorum = 1};
    buf_init(&b, LINK_PAGE_MAX_BYTES);
    link_page_put_question(&b, &question, STR("me"), NULL, &post);
    assert(b.is_over || str_is_utf8(buf_str(&b)));
    buf_fini(&b);
    form_post_fini(&post);
    return 0;
}

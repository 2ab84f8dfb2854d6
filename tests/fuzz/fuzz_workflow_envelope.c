/* SPDX-License-Identifier: MIT
 * Any bytes as a client's message, as a frame of ours, and as a model's reply. */
#include "services/workflow/agents/model_prompt.h"
#include "services/workflow/run/envelope.h"
#include "services/workflow/workflow.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_bounded(struct str id)
{
    return id.at == NULL || (id.n > 0 && id.n <= WORKFLOW_ID_MAX_BYTES);
}

static void put_back(const struct envelope *e)
{
    char why[200];
    json_t *read = NULL;
    struct buf b;
    buf_init(&b, 1 << 20);
    envelope_put_error(&b, e, STR("why"));
    assert(!b.is_over && json_parse(buf_str(&b), why, sizeof why, &read));
    assert(str_eq(json_member_str(read, "type"), STR("error")));
    json_decref(read);
    buf_fini(&b);
}

static void read_message(struct str text)
{
    char reason[ENVELOPE_FAULT_BYTES] = "";
    struct envelope e;
    bool is_good = envelope_read(text, &e, reason);
    assert(is_good == (reason[0] == 0) && str_is_utf8(str_of(reason)));
    assert(is_bounded(e.session_id) && is_bounded(e.request_id));
    put_back(&e);
    if (is_good && e.body != NULL) {
        json_t *body = json_object();
        bool fits = envelope_merge(body, e.body);
        assert(fits ? json_equal(body, e.body) : json_object_size(body) == 0);
        json_decref(body);
    }
    envelope_fini(&e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};
    struct model_reply reply;
    read_message(text);
    (void)envelope_end_of(text);
    if (model_reply_read(text, &reply) == NULL) {
        assert(reply.confidence >= 0 && reply.confidence <= 1 && reply.reason.n > 0);
        json_decref(reply.json);
    }
    return 0;
}

/* SPDX-License-Identifier: MIT
 * fuzz_engine_pass.c - requests of clients of a door as their model server gets them, and responses
 * of /embeddings as clients get them: JSON, whatever came. */
#include "services/engine/models/openai_pass.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect_json(struct str text)
{
    char reason[160];
    json_t *json;
    if (!json_parse(text, reason, sizeof reason, &json))
        abort();
    json_decref(json);
}

static bool on_delta(void *context, struct str delta)
{
    (void)context;
    expect_json(delta);
    return true;
}

static void pass(const struct prompt *prompt)
{
    const char *reason;
    struct buf b;
    buf_init(&b, 1 << 22);
    if (openai_put_pass(&b, prompt, "m", (struct openai_wishes){true, true}, &reason))
        expect_json(buf_str(&b));
    buf_fini(&b);
    (void)openai_wants_one(prompt);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct prompt prompt = {.request = {(const char *)data, size}};
    uint64_t tokens;
    for (enum api api = API_CHAT; api < API_NR; api++) {
        prompt.api = api;
        prompt.continued = STR("");
        pass(&prompt);
        prompt.continued = STR("so \"far");
        if (api != API_EMBEDDINGS)
            pass(&prompt);
    }
    (void)openai_read_tokens(prompt.request, &tokens);
    (void)!openai_pass_embeddings(prompt.request, on_delta, NULL);
    return 0;
}

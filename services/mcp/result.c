/* SPDX-License-Identifier: MIT
 * result.c - see result.h. */
#include "services/mcp/result.h"

#include "services/mcp/rpc.h"

static void put_text(struct buf *b, struct str text)
{
    buf_lit(b, "\"content\":[{\"type\":\"text\",\"text\":");
    buf_put_json(b, text);
    buf_lit(b, "}]");
}

void result_put(struct buf *b, const struct mcp_message *message, struct str text,
                struct str structured)
{
    rpc_begin_result(b, message);
    put_text(b, text);
    buf_put_key(b, "structuredContent");
    buf_put(b, structured);
    rpc_end_result(b);
}

void result_put_failure(struct buf *b, const struct mcp_message *message, struct str text)
{
    rpc_begin_result(b, message);
    put_text(b, text);
    buf_lit(b, ",\"isError\":true");
    rpc_end_result(b);
}

/* SPDX-License-Identifier: MIT
 * resources.c - see resources.h. */
#include "services/mcp/resources.h"

#include "services/mcp/result.h"
#include "services/mcp/rpc.h"
#include "shared/base/json.h"
#include "shared/http/request/respond.h"

#include <stdlib.h>

#define SCHEME "parley://documents/"
#define PASSAGES "/passages/"

/* The route is asked for one passage more than PASSAGE_NR: that one says that there are more. */
enum {
    LIST_NR = 50,
    PASSAGE_NR = 10,
    CURSOR_MAX_BYTES = 512,
    URI_MAX_BYTES = 1024,
    TARGET_MAX_BYTES = 4 << 10,
    ERROR_MAX_BYTES = 16 << 10
};

static void start(const struct mcp_message *message, const struct mcp_call_kind *kind, void *about,
                  struct buf *target)
{
    struct str user;
    if (!call_read_person(message, &user)) {
        rpc_refuse(message, 200, RPC_BAD_PARAMS, CALL_NO_PERSON);
        return;
    }
    if (user.at != NULL) {
        buf_lit(target, "&OnBehalfOf=");
        buf_put_url_encoded(target, user);
    }
    call_start(call_create(message, kind, about), "GET", buf_str(target), (struct str){NULL, 0});
}

/* --- the list --------------------------------------------------------------------------------- */

static void put_document(struct buf *b, const json_t *document)
{
    struct str id = json_member_str(document, "id"), name = json_member_str(document, "filename");
    buf_lit(b, "{\"uri\":\"" SCHEME);
    buf_put(b, id);
    buf_lit(b, "\",\"name\":");
    buf_put_json(b, name.n > 0 ? name : id);
    buf_lit(b, ",\"mimeType\":\"text/plain\",\"annotations\":{\"lastModified\":");
    buf_put_json_value(b, json_object_get(document, "updatedAt"));
    buf_lit(b, "}}");
}

/* Documents without passages yet are not in the list. */
static void put_list(struct mcp_call *call, struct buf *b, struct str body)
{
    char reason[160];
    json_t *tree = NULL;
    struct str next = call_next(call);
    if (!json_parse(body, reason, sizeof reason, &tree))
        abort();
    const json_t *documents = json_object_get(tree, "documents");
    rpc_begin_result(b, &call->message);
    buf_lit(b, "\"resources\":[");
    for (size_t i = 0; i < json_array_size(documents); i++) {
        const json_t *document = json_array_get(documents, i);
        if (!str_eq(json_member_str(document, "status"), STR("INDEXED")))
            continue;
        if (b->at[b->n - 1] != '[')
            buf_put_char(b, ',');
        put_document(b, document);
    }
    buf_put_char(b, ']');
    if (next.n > 0) {
        buf_put_key(b, "nextCursor");
        buf_put_json(b, next);
    }
    rpc_end_result(b);
    json_decref(tree);
}

static void put_list_failure(struct mcp_call *call, struct buf *b, int status, struct str text)
{
    rpc_put_error(b, call->message.id, status == 400 ? RPC_BAD_PARAMS : RPC_INTERNAL, text);
}

void resources_list(const struct mcp_message *message)
{
    static const struct mcp_call_kind kind = {.put = put_list, .put_failure = put_list_failure};
    const json_t *given = json_object_get(message->params, "cursor");
    struct str cursor = json_str(given);
    struct buf target;
    if (given != NULL && (cursor.n < 1 || cursor.n > CURSOR_MAX_BYTES)) {
        rpc_refuse(message, 200, RPC_BAD_PARAMS, "cursor must be nextCursor of an earlier list.");
        return;
    }
    buf_init(&target, TARGET_MAX_BYTES);
    buf_printf(&target, RESOURCES_PATH "?limit=%d", LIST_NR);
    if (given != NULL) {
        buf_lit(&target, "&after=");
        buf_put_url_encoded(&target, cursor);
    }
    start(message, &kind, NULL, &target);
    buf_fini(&target);
}

void resources_list_templates(const struct mcp_message *message)
{
    rpc_respond(
        message,
        STR("\"resourceTemplates\":[{\"uriTemplate\":\"" SCHEME "{id}\",\"name\":\"document\","
            "\"title\":\"Document\",\"description\":\"The text of a document from its beginning. "
            "Its end says where it continues.\",\"mimeType\":\"text/plain\"},"
            "{\"uriTemplate\":\"" SCHEME "{id}" PASSAGES "{index}\",\"name\":\"passages\","
            "\"title\":\"Passages of a document\",\"description\":\"The text of a document from "
            "the passage with this number, from 0.\",\"mimeType\":\"text/plain\"}]"));
}

/* --- one document ----------------------------------------------------------------------------- */

struct place {
    struct str uri, id; /* in the request's pool */
    uint64_t first;     /* passage */
};

static bool read_place(const struct mcp_message *message, struct place *ret_place)
{
    struct str uri = json_member_str(message->params, "uri"), rest = uri, index;
    if (!str_has_prefix(uri, STR(SCHEME)))
        return false;
    rest.at += sizeof SCHEME - 1;
    rest.n -= sizeof SCHEME - 1;
    *ret_place = (struct place){.id = rest};
    if (rest.n > STR_UUID_BYTES) {
        ret_place->id.n = STR_UUID_BYTES;
        index = (struct str){rest.at + STR_UUID_BYTES, rest.n - STR_UUID_BYTES};
        if (!str_has_prefix(index, STR(PASSAGES)))
            return false;
        index.at += sizeof PASSAGES - 1;
        index.n -= sizeof PASSAGES - 1;
        if (!str_parse_u64(index, &ret_place->first) || ret_place->first > UINT32_MAX)
            return false;
    }
    if (!str_is_uuid(ret_place->id))
        return false;
    ret_place->uri = request_copy(message->r, uri);
    ret_place->id = request_copy(message->r, ret_place->id);
    return true;
}

static uint64_t number_of(const json_t *passage, const char *name)
{
    return (uint64_t)json_integer_value(json_object_get(passage, name));
}

/* Passages may share text with the one before them, or leave out white space between. */
static void put_passage(struct buf *b, const json_t *passage, uint64_t *end_chars)
{
    struct str text = json_member_str(passage, "text");
    uint64_t start = number_of(passage, "charStart");
    if (start > *end_chars && b->n > 0)
        buf_lit(b, "\n\n");
    for (; start < *end_chars && text.n > 0; start++) {
        do {
            text.at++;
            text.n--;
        } while (text.n > 0 && (*text.at & 0xc0) == 0x80);
    }
    buf_put(b, text);
    *end_chars = number_of(passage, "charEnd");
}

static void put_read(struct mcp_call *call, struct buf *b, struct str body)
{
    const struct place *place = call->about;
    char reason[160];
    json_t *tree = NULL;
    struct buf text;
    uint64_t end_chars = 0;
    if (!json_parse(body, reason, sizeof reason, &tree))
        abort();
    const json_t *after = json_object_get(tree, "after");
    bool has_more = json_array_size(after) == PASSAGE_NR;
    buf_init(&text, MCP_RESULT_MAX_BYTES);
    put_passage(&text, tree, &end_chars);
    for (size_t i = 0; i < json_array_size(after) && i < PASSAGE_NR - 1; i++)
        put_passage(&text, json_array_get(after, i), &end_chars);
    if (has_more)
        buf_printf(&text, "\n\n[The document continues at " SCHEME "%.*s" PASSAGES "%llu]",
                   STR_ARG(place->id), (unsigned long long)place->first + PASSAGE_NR);
    rpc_begin_result(b, &call->message);
    buf_lit(b, "\"contents\":[{\"uri\":");
    buf_put_json(b, place->uri);
    buf_lit(b, ",\"mimeType\":\"text/plain\",\"text\":");
    buf_put_json(b, buf_str(&text));
    buf_lit(b, "}]");
    rpc_end_result(b);
    b->is_over |= text.is_over;
    buf_fini(&text);
    json_decref(tree);
}

static void put_not_found(struct buf *b, const struct mcp_message *message, struct str uri)
{
    struct buf data;
    buf_init(&data, ERROR_MAX_BYTES);
    buf_lit(&data, "{\"uri\":");
    buf_put_json(&data, uri);
    buf_put_char(&data, '}');
    rpc_put_error_data(b, message->id, message->is_stateless ? RPC_BAD_PARAMS : RPC_NO_RESOURCE,
                       STR("There is no such document or passage for this account."),
                       buf_str(&data));
    buf_fini(&data);
}

static void put_read_failure(struct mcp_call *call, struct buf *b, int status, struct str text)
{
    const struct place *place = call->about;
    if (status == 404)
        put_not_found(b, &call->message, place->uri);
    else
        rpc_put_error(b, call->message.id, RPC_INTERNAL, text);
}

void resources_read(const struct mcp_message *message)
{
    static const struct mcp_call_kind kind = {.put = put_read, .put_failure = put_read_failure};
    struct str uri = json_member_str(message->params, "uri");
    struct place *place = request_alloc(message->r, sizeof *place);
    struct buf b;
    if (uri.at == NULL || uri.n > URI_MAX_BYTES) {
        rpc_refuse(message, 200, RPC_BAD_PARAMS,
                   "uri must be the address of a resource, of at most %d bytes.", URI_MAX_BYTES);
        return;
    }
    buf_init(&b, ERROR_MAX_BYTES);
    if (read_place(message, place)) {
        buf_printf(&b, RESOURCES_PATH "/%.*s/chunks/%llu?around=%d", STR_ARG(place->id),
                   (unsigned long long)place->first, PASSAGE_NR);
        start(message, &kind, place, &b);
    } else {
        put_not_found(&b, message, uri);
        respond_json(message->r, 200, &b);
    }
    buf_fini(&b);
}

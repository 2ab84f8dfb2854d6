/* SPDX-License-Identifier: MIT
 * ids.c - ids of documents and jobs: UUIDs. */
#include "services/documents/documents.h"

#include "shared/http/request/explain.h"

bool ids_refuse(struct request *r, struct str id)
{
    return explain_missing(r, "document", id, "GET /api/docs lists those that exist.");
}

bool ids_param(struct request *r, struct str *ret_id)
{
    struct str id = request_path_param(r, "id");
    if (!str_is_uuid(id))
        return ids_refuse(r, id);
    *ret_id = id;
    return true;
}

struct str ids_new(struct request *r)
{
    char *id = request_alloc(r, ID_BYTES + 1);
    str_random_uuid(id);
    return (struct str){id, ID_BYTES};
}

void ids_put_chunk(struct buf *b, struct str doc, uint32_t chunk)
{
    buf_put(b, doc);
    buf_put_char(b, ':');
    buf_put_u64(b, chunk);
}

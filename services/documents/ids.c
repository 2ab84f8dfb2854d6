/* SPDX-License-Identifier: MIT
 * ids.c - ids of documents and jobs. */
#include "services/documents/documents.h"

static bool is_id(struct str id)
{
    bool is_good = id.n == ID_BYTES;
    for (size_t i = 0; i < id.n && is_good; i++)
        is_good = (id.at[i] >= '0' && id.at[i] <= '9') || (id.at[i] >= 'a' && id.at[i] <= 'f');
    return is_good;
}

bool ids_param(struct request *r, struct str *ret_id)
{
    struct str id = request_path_param(r, "id");
    if (!is_id(id)) {
        respond_error(r, ERR_NOT_FOUND, NULL);
        return false;
    }
    *ret_id = id;
    return true;
}

struct str ids_new(struct request *r)
{
    char *id = request_alloc(r, ID_BYTES + 1);
    str_random_hex(ID_BYTES / 2, id);
    return (struct str){id, ID_BYTES};
}

void ids_put_chunk(struct buf *b, struct str doc, uint32_t chunk)
{
    buf_put(b, doc);
    buf_put_char(b, ':');
    buf_put_u64(b, chunk);
}

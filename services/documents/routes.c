/* SPDX-License-Identifier: MIT
 * routes.c - the document service's routes: which method and path, for whom, handled where. */
#include "services/documents/handlers.h"

#define FRONT (1u << ROLE_FRONTEND | 1u << ROLE_USER)

/* A form adds a little to its file. */
enum { UPLOAD_MAX_BYTES = DOCUMENT_MAX_BYTES + (64 << 10) };

#define ROUTE .repeats_detail = true
/* clang-format off */
const struct route documents_routes[] = {
    {"GET",    "/api/me",                       FRONT, documents_me,       ROUTE},

    {"POST",   "/api/docs/upload",              FRONT, documents_upload,   ROUTE,
        .body_max_bytes = UPLOAD_MAX_BYTES, .too_large = ERR_FILE_TOO_LARGE},
    {"GET",    "/api/docs",                     FRONT, documents_list,     ROUTE},
    {"GET",    "/api/docs/",                    FRONT, documents_list,     ROUTE},
    {"GET",    "/api/docs/{id}",                FRONT, documents_get,      ROUTE},
    {"DELETE", "/api/docs/{id}",                FRONT, documents_delete,   ROUTE},
    {"DELETE", "/api/docs/{id}/delete",         FRONT, documents_delete,   ROUTE},
    {"POST",   "/api/docs/{id}/delete",         FRONT, documents_delete,   ROUTE},
    {"POST",   "/api/docs/{id}/reindex",        FRONT, documents_reindex,  ROUTE},
    {"GET",    "/api/docs/{id}/chunks/{index}", FRONT, documents_chunk,    ROUTE},

    {"POST",   "/api/rag/retrieve",             FRONT, documents_retrieve, ROUTE},
    {"GET",    "/ws/indexing",                  FRONT, documents_indexing, ROUTE,
        .takes_token_param = true},
    {0},
};
/* clang-format on */

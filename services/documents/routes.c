/* SPDX-License-Identifier: MIT
 * routes.c - the document service's routes: which method and path, for whom, handled where. Their
 * errors have the member `error` too. */
#include "services/documents/handlers.h"

#define FRONT (1u << ROLE_FRONTEND | 1u << ROLE_USER)

/* A form takes some bytes besides its file. */
enum { UPLOAD_BODY_BYTES = (UPLOAD_MOST_MIB << 20) + (64 << 10) };
/* A question of 4,000 characters, each of them escaped in 12 bytes. It is what anybody may send
 * (shared/http/access/admit.h). */
enum { ASK_BODY_BYTES = 48 << 10 };

/* DocuChat's clients show what `error` says. */
static const char *put_problem(struct buf *b, const struct problem *problem)
{
    problem_put_members(b, problem);
    buf_lit(b, ",\"error\":");
    buf_put_json(b, str_of(problem->detail));
    buf_put_char(b, '}');
    return "application/problem+json";
}

#define ROUTE(METHOD, PATH, HANDLER, ...)                                                          \
    {                                                                                              \
        .method = METHOD, .path = PATH, .roles = FRONT, .handle = HANDLER,                         \
        .put_problem = put_problem, __VA_ARGS__                                                    \
    }

/* clang-format off */
const struct route documents_routes[] = {
    ROUTE("GET",    "/api/me",                          documents_me),

    ROUTE("POST",   "/api/docs/upload",                 documents_upload,
          .takes_key = true, .body_max_bytes = UPLOAD_BODY_BYTES, .too_large = ERR_FILE_TOO_LARGE),
    ROUTE("GET",    "/api/docs",                        documents_list),
    ROUTE("GET",    "/api/docs/",                       documents_list),
    ROUTE("GET",    "/api/docs/{id}",                   documents_show),
    ROUTE("DELETE", "/api/docs/{id}",                   documents_delete, .audit = AUDIT_DOCUMENT_DELETED),
    ROUTE("DELETE", "/api/docs/{id}/delete",            documents_delete, .audit = AUDIT_DOCUMENT_DELETED),
    ROUTE("POST",   "/api/docs/{id}/delete",            documents_delete, .audit = AUDIT_DOCUMENT_DELETED),
    ROUTE("POST",   "/api/docs/{id}/reindex",           documents_reindex, .takes_key = true),
    ROUTE("GET",    "/api/docs/{id}/chunks/{index}",    documents_chunk),

    ROUTE("POST",   "/api/rag/retrieve",                documents_retrieve),
    ROUTE("POST",   "/api/rag/rewrite",                 documents_rewrite),
    ROUTE("POST",   "/api/rag/ask",                     documents_rag_ask),
    ROUTE("POST",   "/api/agent/run",                   documents_agent_run),
    ROUTE("POST",   "/api/agent/stream",                documents_agent_stream),

    {"POST", "/ask", ROLES_NONE, documents_ask, .body_max_bytes = ASK_BODY_BYTES},

    ROUTE("GET",    "/ws/indexing",                     documents_watch, .takes_token_param = true, .hands_out = true),
    {0},
};
/* clang-format on */

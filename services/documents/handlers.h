/* SPDX-License-Identifier: MIT
 *
 * handlers: the document service's handlers, one per route (routes.c). Each answers exactly once.
 */
#ifndef PARLEY_SERVICES_DOCUMENTS_HANDLERS_H
#define PARLEY_SERVICES_DOCUMENTS_HANDLERS_H

#include "services/documents/documents.h"
#include "shared/ask/reply.h"

handler documents_me;
handler documents_upload, documents_list, documents_show, documents_delete, documents_reindex;
handler documents_chunk, documents_retrieve, documents_watch;
handler documents_ask, documents_rewrite, documents_rag_ask;
handler documents_agent_run, documents_agent_stream;

#endif

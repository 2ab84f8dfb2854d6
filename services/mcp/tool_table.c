/* SPDX-License-Identifier: MIT
 * tool_table.c - the tools (tools.h). Their outputs are answers of their routes: the schemas are
 * those of services/documents/schemas.yaml, as far as models need them. */
#include "services/mcp/tools.h"

#include "services/mcp/ask.h"

#define LIST(name, item)                                                                           \
    "\"" name "\":{\"type\":\"array\",\"items\":{\"type\":\"object\"," item "}}"
#define TEXT(name) "\"" name "\":{\"type\":\"string\"}"
#define NUMBER(name) "\"" name "\":{\"type\":\"integer\"}"
#define PAGE "\"page\":{\"type\":[\"integer\",\"null\"]}"

#define CITATIONS                                                                                  \
    LIST("citations",                                                                              \
         "\"required\":[\"docId\",\"chunkIndex\",\"snippet\",\"documentTitle\"],\"properties\":"   \
         "{" TEXT("docId") "," TEXT("chunkId") "," NUMBER("chunkIndex") "," TEXT(                  \
             "snippet") ","                                                                        \
                        "\"score\":{\"type\":\"number\"}," TEXT("documentTitle") "," PAGE "}")
#define NEIGHBOURS(name)                                                                           \
    LIST(name, "\"required\":[\"chunkIndex\",\"text\"],\"properties\":{" TEXT(                     \
                   "chunkId") "," NUMBER("chunkIndex") "," TEXT("text") "," PAGE "}")

#define DOC_ID                                                                                     \
    {                                                                                              \
        "docId", ARG_ID, true, 0, 0,                                                               \
            "Id of a document, as list_documents and search_documents have "                       \
            "it."                                                                                  \
    }
#define TOP_K(what)                                                                                \
    {                                                                                              \
        "topK", ARG_NUMBER, false, 1, 20, "How many passages to " what ". Absent means 5."         \
    }

enum {
    QUERY_CHARS = 4000,
    QUESTION_CHARS = 32000,
    NAME_CHARS = 128,
    CURSOR_CHARS = 512,
    INDEX_MAX = 0xffffffff
};

static const struct tool_arg search_args[] = {
    {"query", ARG_TEXT, true, 1, QUERY_CHARS, "What to look for: a question or words."},
    TOP_K("return"),
    {0}};

static const struct tool_arg list_args[] = {
    {"limit", ARG_NUMBER, false, 1, 200, "How many documents to list. Absent means 50.", 50},
    {"after", ARG_TEXT, false, 1, CURSOR_CHARS, "`next` of the list before this one."},
    {0}};

static const struct tool_arg read_args[] = {
    DOC_ID,
    {"chunkIndex", ARG_NUMBER, true, 0, INDEX_MAX, "The number of the passage, from 0."},
    {"around", ARG_NUMBER, false, 1, 10, "How many passages before and after it to read as well."},
    {0}};

static const struct tool_arg ask_documents_args[] = {
    {"question", ARG_TEXT, true, 1, QUERY_CHARS,
     "The question, whole: earlier ones are not known."},
    TOP_K("answer from"),
    {"refine_prompt", ARG_BOOL, false, 0, 0, "Let a model rewrite the question for the search."},
    {"rerank", ARG_BOOL, false, 0, 0, "Let a model rank more passages before some are used."},
    {0}};

static const struct tool_arg ask_args[] = {
    {"question", ARG_TEXT, true, 1, QUESTION_CHARS, "The question."},
    {"model", ARG_TEXT, false, 1, NAME_CHARS, "The model that is to answer. Absent: any."},
    {"topic", ARG_TEXT, false, 1, NAME_CHARS,
     "`topic` of an earlier result, to ask on in the same conversation. Absent: a new one."},
    {0}};

const struct tool tool_table[] = {
    {.name = "search_documents",
     .title = "Search documents",
     .description = "Finds the passages of the user's documents that answer a query best, without "
                    "a model. Each has its document, its number there and its text.",
     .args = search_args,
     .output = "{\"type\":\"object\",\"required\":[\"query\",\"citations\"],\"properties\":{" TEXT(
         "query") "," CITATIONS "}}",
     .method = "POST",
     .path = "/api/rag/retrieve"},
    {.name = "list_documents",
     .title = "List documents",
     .description = "Lists the user's documents, the newest first, with their names and whether "
                    "they are indexed. Only documents with the status INDEXED are found.",
     .args = list_args,
     .output = "{\"type\":\"object\",\"required\":[\"documents\"],\"properties\":{" LIST(
         "documents",
         "\"required\":[\"id\",\"filename\",\"status\"],\"properties\":{" TEXT("id") "," TEXT(
             "filename") "," TEXT("contentType") "," TEXT("status") "}") ",\"next\":{\"type\":"
                                                                         "\"string\","
                                                                         "\"description\":\"Where "
                                                                         "the list continues: "
                                                                         "`after` of "
                                                                         "the next call.\"}}}",
     .method = "GET",
     .path = "/api/docs"},
    {.name = "read_passage",
     .title = "Read a passage",
     .description = "Reads one passage of a document and, with `around`, its neighbours in order.",
     .args = read_args,
     .output =
         "{\"type\":\"object\",\"required\":[\"docId\",\"chunkIndex\",\"text\",\"filename\"]"
         ",\"properties\":{" TEXT("docId") "," TEXT("chunkId") "," NUMBER("chunkIndex") "," TEXT(
             "text") "," TEXT("filename") "," PAGE
                                          "," NEIGHBOURS("before") "," NEIGHBOURS("after") "}}",
     .method = "GET",
     .path = "/api/docs/{docId}/chunks/{chunkIndex}"},
    {.name = "ask_documents",
     .title = "Ask about documents",
     .description = "Lets a model answer a question from the user's documents. Marks such as [1] "
                    "in the answer name the sources. Takes from seconds to minutes.",
     .args = ask_documents_args,
     .output = "{\"type\":\"object\",\"required\":[\"answer\",\"citations\"],\"properties\":"
               "{" TEXT("answer") "," CITATIONS ",\"model\":{\"type\":[\"string\",\"null\"]}}}",
     .is_open = true,
     .method = "POST",
     .path = "/api/rag/ask",
     .kind = &ask_documents_kind},
    {.name = "ask",
     .title = "Ask a model",
     .description = "Puts a question into the queue, for a language model without the documents, "
                    "and waits for the answer. The question is kept in a topic of the user's.",
     .args = ask_args,
     .output = "{\"type\":\"object\",\"required\":[\"topic\",\"seq\",\"answer\"],"
               "\"properties\":{" TEXT("topic") "," NUMBER("seq") "," TEXT("answer") "," TEXT(
                   "model") "}}",
     .is_open = true,
     .stores = true,
     .method = "POST",
     .path = "/api/add-query",
     .query = "Wait=0&Detail=true",
     .kind = &ask_kind,
     .put_body = ask_put_body},
    {0}};

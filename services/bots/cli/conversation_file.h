/* SPDX-License-Identifier: MIT
 *
 * conversation_file: reads a file of JSON lines, one Message a line, as `parley evaluate` takes it.
 * Empty lines are skipped; a byte order mark in front and line ends of Windows are fine. What a
 * turn is, the node knows (services/bots/evaluate/conversation.h). Pure functions except for the
 * file; any thread.
 */
#ifndef PARLEY_BOTS_CLI_CONVERSATION_FILE_H
#define PARLEY_BOTS_CLI_CONVERSATION_FILE_H

#include "shared/base/buf.h"
#include "shared/base/json.h"

enum {
    CONVERSATION_FILE_MAX_BYTES = 4 << 20,
    CONVERSATION_FAULTS_MAX = 20, /* different ones; a last line counts the others */
    CONVERSATION_FAULTS_BYTES = 64 << 10
};

/* Reads the file. On success *ret_messages is a list of the lines' objects, the caller's to free.
 * Otherwise returns false with lines in `faults`, an initialised buf: "PATH:LINE: what is wrong"
 * each, with the other lines that have the same fault, or one about the file. */
bool conversation_file_read(const char *path, struct buf *faults, json_t **ret_messages) must_check;
/* The same for the content of a file; `path` is for the lines alone. */
bool conversation_file_parse(const char *path, struct str text, struct buf *faults,
                             json_t **ret_messages) must_check;

#endif

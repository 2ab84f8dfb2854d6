/* SPDX-License-Identifier: MIT
 * fuzz_workflow_statement.c - services/workflow/sql/statement.h: texts that models write, for both
 * databases and rights. The first byte chooses. What passes holds what the check promises, seen
 * from its bytes: no second statement is hidden by the end of the text. */
#include "services/workflow/sql/statement.h"
#include "services/workflow/sql/tokens.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_tokens(struct str text, enum sql_dialect dialect)
{
    struct tokens tokens;
    const char *end = text.at;
    if (tokens_read(text, dialect, &tokens) != NULL)
        return;
    for (size_t i = 0; i < tokens.n; i++) {
        /* In order, inside the text, without overlap. */
        if (tokens.at[i].text.at < end ||
            tokens.at[i].text.at + tokens.at[i].text.n > text.at + text.n)
            abort();
        end = tokens.at[i].text.at + tokens.at[i].text.n;
    }
    if (tokens.n == 0 || tokens.at[tokens.n].kind != TOKEN_END)
        abort();
    free(tokens.at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf reason;
    if (size == 0)
        return 0;
    enum sql_dialect dialect = data[0] & 1 ? SQL_POSTGRESQL : SQL_SQLITE;
    enum sql_right right = data[0] & 2 ? SQL_WRITE : SQL_READ;
    struct str text = {(const char *)data + 1, size - 1};
    buf_init(&reason, 512);
    bool is_good = statement_check(text, right, dialect, &reason);
    if (is_good == (reason.n > 0) || reason.is_over)
        abort();
    if (text.n > 0)
        check_tokens(text, dialect);
    buf_fini(&reason);
    return 0;
}

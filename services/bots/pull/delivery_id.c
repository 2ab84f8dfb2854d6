/* SPDX-License-Identifier: MIT
 * delivery_id.c - finds the bot of a request about deliveries, and the room that an id names (see
 * pull.h). */
#include "services/bots/pull/pull.h"

#include "services/bots/rooms/message.h"
#include "shared/http/request/explain.h"

bool pull_is_own(struct request *r, const struct caller *caller)
{
    if (str_eq(request_path_param(r, "username"), caller->username))
        return true;
    explain(r, ERR_UNAUTHORIZED, "X-CALLER-KEY belongs to a bot other than %s.",
            explain_quoted(r, request_path_param(r, "username")));
    return false;
}

static bool is_number(struct str text)
{
    uint64_t value;
    return text.n >= 1 && text.n < STR_U64_MAX && str_parse_u64(text, &value);
}

struct str delivery_room(struct str id)
{
    struct str rest = id;
    struct str prefix = str_cut(&rest, '_'), room = str_cut(&rest, '_'),
               message = str_cut(&rest, '_');
    bool is_id = str_eq(prefix, STR("dlv")) && message_is_room(room) && message_is_id(message) &&
                 is_number(rest);
    return is_id ? room : (struct str){NULL, 0};
}

/* SPDX-License-Identifier: MIT
 * notice.c - writes what the main bot says in a room about a bot that has not answered
 * (delivery.h). */
#include "services/bots/dispatch/delivery.h"

void notice_put(struct buf *b, struct str username, struct str reason)
{
    buf_put(b, username);
    buf_put_char(b, ' ');
    buf_put(b, reason);
    buf_put_char(b, '.');
}

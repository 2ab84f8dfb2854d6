/* SPDX-License-Identifier: MIT
 *
 * container_of: the struct that a member belongs to. Callbacks get a pointer to the handle that
 * their owner embeds, and find the owner with it.
 *
 *     struct poll *poll = container_of(deadline, struct poll, expiry);
 */
#ifndef PARLEY_BASE_CONTAINER_OF_H
#define PARLEY_BASE_CONTAINER_OF_H

#include <stddef.h>

#define container_of(pointer, type, member)                                                        \
    ((type *)((char *)(1 ? (pointer) : &((type *)0)->member) - offsetof(type, member)))

#endif

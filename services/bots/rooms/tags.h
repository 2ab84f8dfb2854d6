/* SPDX-License-Identifier: MIT
 *
 * tags: the users that a message tags, from its text and its list `tagged`, and the texts that a
 * posting keeps for that. For post.c. Texts are in a buffer that the owner has made large enough,
 * since it must not move: tags_bytes says how large. On the loop's thread.
 */
#ifndef PARLEY_BOTS_ROOMS_TAGS_H
#define PARLEY_BOTS_ROOMS_TAGS_H

#include "services/bots/rooms/mentions.h"
#include "services/bots/rooms/post.h"

/* Kinds of names, as scripts write them. */
#define TAG_UNKNOWN STR("x")
#define TAG_NOBODY STR("n")
#define TAG_ANNEX STR("a")

enum { TAGS_MAX = POST_TAGS_MAX + MENTIONS_MAX };

struct tag {
    struct str plain, name, json;
    struct str skeleton; /* of the name, in the namespace (skeleton.h) */
    bool must;           /* exist */
    struct str kind;
};

struct tags {
    struct tag list[TAGS_MAX];
    size_t n;
};

/* Bytes that a posting needs for its names, without the texts of the message. */
size_t tags_bytes(void);

/* Each keeps a text in `own`, in a form, and returns it. */
struct str tags_keep(struct buf *own, struct str text);
struct str tags_keep_json(struct buf *own, struct str text);
struct str tags_keep_name(struct buf *own, struct str namespace, struct str plain);
struct str tags_keep_skeleton(struct buf *own, struct str namespace, struct str plain);

/* Adds those of a message. A name counts once; one that is also in `tagged` must exist. */
void tags_add(struct tags *tags, struct buf *own, const struct post *post);
/* Returns the skeleton of a name; "" for one that is not mentioned. */
struct str tags_skeleton_of(const struct tags *tags, struct str name);
/* Takes what names_find says of a name: its kind, and the name of a bot that it only looks like.
 * Returns the kind. */
struct str tags_take_kind(struct tags *tags, struct buf *own, struct str name, struct str line);

#endif

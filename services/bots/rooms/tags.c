/* SPDX-License-Identifier: MIT
 * tags.c - see tags.h. */
#include "services/bots/rooms/tags.h"

#include "services/bots/skeleton.h"

enum {
    NAME_BYTES = 3 * USER_MAX_BYTES + 256, /* as a name, its namespace included */
    NAME_JSON_BYTES = 6 * USER_MAX_BYTES + 2,
    SKELETON_BYTES = 256 + SKELETON_CHARS,
    /* A bot that was mentioned by a name like its own. */
    BOT_BYTES = NAME_BYTES + USER_MAX_BYTES,
    AUTHOR_NAMES = 3 /* author, account, whose */
};

size_t tags_bytes(void)
{
    return (size_t)(AUTHOR_NAMES + TAGS_MAX) *
           (USER_MAX_BYTES + NAME_BYTES + NAME_JSON_BYTES + SKELETON_BYTES + BOT_BYTES);
}

/* --- texts ------------------------------------------------------------------------------------ */

static struct str end_text(struct buf *own, size_t from)
{
    return (struct str){own->at + from, own->n - from};
}

struct str tags_keep(struct buf *own, struct str text)
{
    size_t from = own->n;
    buf_put(own, text);
    return end_text(own, from);
}

struct str tags_keep_json(struct buf *own, struct str text)
{
    size_t from = own->n;
    buf_put_json(own, text);
    return end_text(own, from);
}

struct str tags_keep_name(struct buf *own, struct str namespace, struct str plain)
{
    size_t from = own->n;
    bots_put_name(own, namespace, plain);
    return end_text(own, from);
}

struct str tags_keep_skeleton(struct buf *own, struct str namespace, struct str plain)
{
    size_t from = own->n;
    bots_put_skeleton(own, namespace, plain);
    return end_text(own, from);
}

/* --- tags ------------------------------------------------------------------------------------- */

static void add(struct tags *tags, struct buf *own, struct str namespace, struct str given,
                bool must)
{
    bool is_annex = skeleton_is_same(given, BOTS_ANNEX);
    struct str plain = is_annex ? BOTS_ANNEX : given;
    for (size_t i = 0; i < tags->n; i++)
        if (str_eq(tags->list[i].plain, plain))
            return;
    if (tags->n == TAGS_MAX)
        return;
    tags->list[tags->n++] = (struct tag){
        .plain = tags_keep(own, plain),
        .name = tags_keep_name(own, namespace, plain),
        .skeleton = tags_keep_skeleton(own, namespace, plain),
        .json = tags_keep_json(own, plain),
        .must = must,
        .kind = is_annex ? TAG_ANNEX : TAG_UNKNOWN,
    };
}

void tags_add(struct tags *tags, struct buf *own, const struct post *post)
{
    struct str mentions[MENTIONS_MAX];
    if (post->kind == POST_ANNEX)
        return;
    for (size_t i = 0; i < post->tagged_n && i < POST_TAGS_MAX; i++)
        add(tags, own, post->namespace, post->tagged[i], true);
    size_t n = mentions_find(post->text, mentions, MENTIONS_MAX);
    for (size_t i = 0; i < n; i++)
        add(tags, own, post->namespace, mentions[i], false);
}

struct str tags_skeleton_of(const struct tags *tags, struct str name)
{
    for (size_t i = 0; i < tags->n; i++)
        if (str_eq(tags->list[i].name, name))
            return tags->list[i].skeleton;
    return STR("");
}

static struct str kind_of(struct str word)
{
    static const struct str kinds[] = {STR("u"), STR("b"), STR("p")};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (str_eq(word, kinds[i]))
            return kinds[i];
    return TAG_NOBODY;
}

/* The mention is a bot's, whose own name differs: names of bots are ASCII. */
static void rename_tag(struct tag *tag, struct buf *own, struct str name)
{
    struct str rest = name, space = str_cut(&rest, NAMESPACE_MARK);
    tag->name = tags_keep(own, name);
    tag->json = tags_keep_json(own, rest.at == NULL ? space : rest);
}

struct str tags_take_kind(struct tags *tags, struct buf *own, struct str name, struct str line)
{
    struct str kind = kind_of(str_cut(&line, ' '));
    for (size_t i = 0; i < tags->n; i++) {
        struct tag *tag = &tags->list[i];
        if (!str_eq(tag->name, name))
            continue;
        tag->kind = kind;
        if (line.n > 0)
            rename_tag(tag, own, line);
    }
    return kind;
}

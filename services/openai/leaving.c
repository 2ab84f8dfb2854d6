/* SPDX-License-Identifier: MIT
 * leaving.c - see leaving.h. */
#include "services/openai/leaving.h"

#include "generated/verbs.h"
#include "services/openai/owed.h"
#include "shared/base/mem.h"

#include <openssl/evp.h>
#include <stdio.h>

enum { CANCEL_AFTER_MS = 2000, TOPIC_BYTES = 64 };

struct leaving {
    struct owed owed;
    struct asked asked;
    char topic[];
};

/* --- which query ------------------------------------------------------------------------------ */

static void put_part(EVP_MD_CTX *digest, struct str part)
{
    uint64_t n = part.n;
    EVP_DigestUpdate(digest, &n, sizeof n);
    EVP_DigestUpdate(digest, part.at, part.n);
}

/* Puts the body without the value of `client_metadata`, the client's own notes: Codex writes its
 * members in another order when it sends a request again. */
static void put_body(EVP_MD_CTX *digest, const struct request *r)
{
    struct str rest = request_entity(r);
    for (size_t i = 0; r->members != NULL && i < r->member_n; i++) {
        struct str name = r->members[i].name.raw, notes = r->members[i].value.raw;
        if (!str_eq(name, STR("client_metadata")))
            continue;
        put_part(digest, (struct str){rest.at, (size_t)(notes.at - rest.at)});
        rest = (struct str){notes.at + notes.n, (size_t)(rest.at + rest.n - notes.at) - notes.n};
    }
    put_part(digest, rest);
}

static void put_digest(struct asked *asked, struct request *r, const struct on_behalf *person,
                       enum openai_api api, struct str form, struct str topic)
{
    unsigned char bytes[EVP_MAX_MD_SIZE];
    char route = (char)(api + (r->is_behind ? OPENAI_API_NR : 0));
    EVP_MD_CTX *digest = EVP_MD_CTX_new();
    EVP_DigestInit_ex(digest, EVP_sha256(), NULL);
    put_part(digest, r->account->name_token);
    put_part(digest, person->user_name);
    put_part(digest, (struct str){&route, 1});
    put_part(digest, topic);
    put_body(digest, r);
    if (form.n > 0)
        put_part(digest, form);
    EVP_DigestFinal_ex(digest, bytes, NULL);
    EVP_MD_CTX_free(digest);
    str_hex(bytes, DIGEST_BYTES, asked->digest);
}

void asked_init(struct asked *asked, struct request *r, const struct on_behalf *person,
                enum openai_api api, struct str form, struct str topic, const char *prefix,
                bool is_kept)
{
    char plain[TOPIC_BYTES];
    unsigned n = r->server->shards->n;
    struct str namespace = is_kept ? r->account->namespace : STR("");
    *asked = (struct asked){.is_kept = is_kept, .seq = is_kept ? 0 : 1};
    put_digest(asked, r, person, api, form, topic.at == NULL ? STR("") : topic);
    do { /* of the digest's shard: an equal request looks there */
        str_random_hex(ASKER_BYTES, asked->asker);
        snprintf(plain, sizeof plain, "%s%s", prefix, asked->asker);
        asked->topic = topic.at == NULL ? on_behalf_name(r, namespace, str_of(plain)) : topic;
    } while (topic.at == NULL && shard_of(asked->topic, n) != shard_of(str_of(asked->digest), n));
    memcpy(asked->first, asked->asker, sizeof asked->first);
}

/* --- leaving ---------------------------------------------------------------------------------- */

static void leave(struct call_start start, const struct asked *asked, enum verb_door_leave_how how)
{
    call_door_leave(start, .topic = asked->topic, .seq = asked->seq, .asker = str_of(asked->asker),
                    .digest = str_of(asked->digest), .is_kept = asked->is_kept, .how = how);
}

static void send_over(struct owed *owed, struct call_start start)
{
    leave(start, &container_of(owed, struct leaving, owed)->asked, DOOR_LEAVE_OVER);
}

void leaving_start(struct openai *openai, const struct asked *asked, enum leaving_how how)
{
    static const enum verb_door_leave_how hows[] = {[LEAVING_LEFT] = DOOR_LEAVE_LEFT,
                                                    [LEAVING_SERVED] = DOOR_LEAVE_SERVED,
                                                    [LEAVING_WITHDRAWN] = DOOR_LEAVE_OVER};
    struct turn *turn = shards_turn(queue_shards(openai->queue), asked->topic);
    if (turn_is_up(turn)) /* else an equal request does not take it over */
        leave(turn_forget(turn), asked, hows[how]);
    if (how == LEAVING_SERVED)
        return;
    struct leaving *leaving = mem_zeroed(sizeof *leaving + asked->topic.n);
    leaving->asked = *asked;
    leaving->asked.topic.at = memcpy(leaving->topic, asked->topic.at, asked->topic.n);
    leaving->owed.home = leaving->asked.topic;
    leaving->owed.send = send_over;
    owed_start(openai, &leaving->owed, CANCEL_AFTER_MS);
}

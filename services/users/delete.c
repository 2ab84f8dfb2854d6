/* SPDX-License-Identifier: MIT
 * delete.c - DELETE /api/users/{user}: deletes everything stored for a user, one kind of data after
 * the other: messages in rooms, bots, evaluations, and the rest (lua/users/delete_user.lua). Each
 * shard is called repeatedly, a few rows per call, until one round finds nothing on any of them.
 * After ROUNDS_MAX rounds the client is answered and sends the request again. The node keeps no
 * progress, so any node continues. What is lost then is the place in a room: so many rounds reach
 * the end of the largest one. */
#include "services/users/users.h"

#include "generated/verbs.h"
#include "shared/base/log.h"
#include "shared/http/request/gather.h"
#include "shared/http/request/respond.h"

enum { ROUNDS_MAX = 300, PLACE_BYTES = 64 };

/* First in the order of the reply of delete_user. */
static const char *const kinds[] = {
    "Topics", "SharedTopics", "Queries", "Lookups", "Recommendations", "Documents", "Jobs",
    "Limits", "Runs",         "Files",   "Batches", "Messages",        "Bots",      "Evaluations"};
enum { GONE_MESSAGES = 11, GONE_BOTS, GONE_EVALUATIONS, KIND_N = sizeof kinds / sizeof *kinds };

/* The first one uses up the request's nonce (Nonce: yes). */
enum phase { PHASE_ROOMS, PHASE_BOTS, PHASE_EVALUATIONS, PHASE_REST, PHASE_NR };

/* Where the deletion continues in the rooms of a shard. */
struct place {
    char text[PLACE_BYTES];
    size_t n;
};

struct deletion {
    struct user_of_path person;
    enum phase phase;
    unsigned rounds;
    struct place *places; /* of the shards */
    uint64_t gone[KIND_N];
};

static void go_on(struct request *r);

/* Each returns whether the shard may have more. */
static bool take_rest(struct deletion *deletion, struct lines *lines)
{
    (void)lines_next(lines); /* "ok" */
    bool is_more = lines_next_u64(lines) != 0;
    for (unsigned i = 0; i < GONE_MESSAGES; i++)
        deletion->gone[i] += lines_next_u64(lines);
    return is_more;
}

static bool take_messages(struct deletion *deletion, struct lines *lines, struct place *place)
{
    bool is_more = str_eq(lines_next(lines), STR("more"));
    deletion->gone[GONE_MESSAGES] += lines_next_u64(lines);
    struct str after = is_more ? lines_next(lines) : STR("");
    place->n = after.n <= sizeof place->text ? after.n : 0;
    if (place->n > 0)
        memcpy(place->text, after.at, place->n);
    return is_more;
}

static bool take(struct deletion *deletion, struct str reply, unsigned shard)
{
    struct lines lines = lines_of(reply);
    switch (deletion->phase) {
    case PHASE_ROOMS: return take_messages(deletion, &lines, &deletion->places[shard]);
    case PHASE_REST:
    case PHASE_NR: return take_rest(deletion, &lines);
    case PHASE_BOTS:
    case PHASE_EVALUATIONS: break;
    }
    bool is_more = str_eq(lines_next(&lines), STR("more"));
    deletion->gone[deletion->phase == PHASE_BOTS ? GONE_BOTS : GONE_EVALUATIONS] +=
        lines_next_u64(&lines);
    return is_more;
}

static void answer(struct request *r, const struct deletion *deletion, bool is_done)
{
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    buf_lit(b, "{\"Deleted\":{");
    for (unsigned i = 0; i < KIND_N; i++)
        buf_printf(b, "%s\"%s\":%llu", i == 0 ? "" : ",", kinds[i],
                   (unsigned long long)deletion->gone[i]);
    buf_printf(b, "},\"Done\":%s}", is_done ? "true" : "false");
    log_write(LOG_INFO, "user data deleted", LOG_STR("user", deletion->person.on_behalf.user_name),
              LOG_STR("by", r->account->name_token), LOG_STR("request", r->id),
              LOG_U("topics", deletion->gone[0]), LOG_U("documents", deletion->gone[5]),
              LOG_S("done", is_done ? "yes" : "no"));
    respond_json(r, 202, b);
}

/* After a round of a phase. */
static void move_on(struct request *r, bool is_more)
{
    struct deletion *deletion = r->state;
    if (is_more && ++deletion->rounds == ROUNDS_MAX) {
        answer(r, deletion, false);
    } else if (is_more) {
        go_on(r);
    } else if (++deletion->phase < PHASE_NR) {
        deletion->rounds = 0;
        go_on(r);
    } else {
        answer(r, deletion, true);
    }
}

static void on_round(struct request *r, enum err error, const struct gather *all)
{
    struct lines none = lines_of(STR(""));
    bool is_more = false;
    if (reply_refuse(r, error, STR("ok"), &none))
        return;
    for (unsigned i = 0; i < all->n; i++)
        is_more |= take(r->state, all->replies[i], i);
    move_on(r, is_more);
}

static void on_bots(struct request *r, enum err error, struct str reply)
{
    struct lines none = lines_of(STR(""));
    if (!reply_refuse(r, error, STR("ok"), &none))
        move_on(r, take(r->state, reply, 0));
}

static void go_on(struct request *r)
{
    const struct deletion *deletion = r->state;
    struct str user = deletion->person.on_behalf.user_name;
    if (deletion->phase == PHASE_BOTS) {
        call_bot_forget_user(request_call(r, on_bots), .user = user);
        return;
    }
    struct gather *all = gather_begin(r, on_round);
    for (unsigned i = 0; i < all->n; i++) {
        const struct place *place = &deletion->places[i];
        if (deletion->phase == PHASE_ROOMS)
            call_room_forget_user(gather_call(r, i), .user = user,
                                  .after = ((struct str){place->text, place->n}));
        else if (deletion->phase == PHASE_EVALUATIONS)
            call_evaluation_forget_user(gather_call(r, i), .user = user);
        else
            call_delete_user(gather_call(r, i), .user = user, .space = deletion->person.space);
    }
}

void users_delete(struct request *r)
{
    struct deletion *deletion = request_alloc(r, sizeof *deletion);
    size_t n = r->server->shards->n;
    *deletion = (struct deletion){.phase = PHASE_ROOMS};
    if (!person_of_path(r, &deletion->person))
        return;
    deletion->places = request_alloc(r, n * sizeof *deletion->places);
    for (size_t i = 0; i < n; i++)
        deletion->places[i].n = 0;
    r->state = deletion;
    go_on(r);
}

/* SPDX-License-Identifier: MIT
 *
 * evaluate: measures how close a bot's answers come to those of the person it emulates, over a
 * conversation that took place (conversation.h). An evaluation is a durable run: a node drives it
 * under a fence, stores each turn before the next one begins (run.h), and when the node dies
 * another one carries on at the turn that was not stored.
 *
 * `POST /api/evaluations` `{"bot","conversation":[Message],"measure"}` (measure: "cosine", which is
 * the default, "dot" or "euclidean") -> 202 `{"id"}`. The same request again, while that run is
 * unfinished, gets the same id; after its end it begins the next run.
 *
 * `GET /api/evaluations/{id}?after=&limit=` -> 200, here after 3 of 100 turns:
 *
 *     {"id": "5f0c…-1", "bot": "ada_bot", "measure": "cosine",
 *      "status": "running",               running | done | cancelled | failed
 *      "reason": null,                    of failed: why it could not continue
 *      "total": 100,                      turns of the conversation
 *      "done": 3,                         turns that are stored, failed ones among them
 *      "failed": 1,                       failed turns among those
 *      "mean": 0.125,                     of the distances; null: none
 *      "score": 87.5,                     100 * (1 - mean), cut to 0 to 100; null: none
 *      "interval": [0.01, 0.24],          95 %, Student; null: fewer than two distances
 *      "created": "…Z", "updated": "…Z",
 *      "turns": [
 *        {"turn": 1,                      from 1
 *         "id": "m1",                     of the message that the bot was given
 *         "text": "How are you?",         its text, at most 500 bytes of it
 *         "originals": 2,                 how many answers of the person are accepted
 *         "original": "Fine, thanks.",    the nearest, at most 1,000 bytes; null: none was compared
 *         "answer": "I am fine.",         of the bot, at most 1,000 bytes; null: none came
 *         "distance": 0.125,              null: the turn failed
 *         "score": 87.5,                  100 * (1 - distance), cut to 0 to 100; null as well
 *         "error": null,                  why it failed
 *         "attempts": 1,                  calls of the bot
 *         "ms": 120}, …]}                 from the first call to the comparison
 *
 * `turns` begins after the turn number `after` (default 0) and has at most `limit` (1 to 1,000,
 * default 1,000); if more are stored, the header Link names the next page. To follow a run, read
 * again with `after` = the last turn seen, until `status` is not "running".
 *
 * `GET /api/evaluations?after=&limit=` -> `{"evaluations":[the same without turns, …]}`, newest
 * first. `DELETE /api/evaluations/{id}` cancels a running one -> 200 `{"id","status"}`; one that
 * has ended keeps its status. A run of another account or user is 404.
 *
 * Errors: 400 (no such measure, a conversation that cannot be read or has no turn), 404 (no such
 * bot), 409 `bot_pulls`, 413 (more than 4 MiB), 429 (10 unfinished runs of an account and user,
 * which each shard counts by itself, or its storage is full).
 *
 * `POST /api/bots/evaluate` is points.c.
 */
#ifndef PARLEY_SERVICES_BOTS_EVALUATE_H
#define PARLEY_SERVICES_BOTS_EVALUATE_H

#include "generated/routes_bots.h"
#include "services/bots/bots.h"

/* A body at most: the conversation with white space and escapes that are not kept. */
enum { EVALUATE_BODY_MAX_BYTES = 6 << 20 };

extern const struct bots_component evaluate_component;

/* For the embedding server, which the operator has chosen; NULL with the built-in embedder. */
struct http_client *evaluate_client(const struct bots *bots);

#endif

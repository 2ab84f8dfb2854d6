/* SPDX-License-Identifier: MIT
 *
 * evaluated: an evaluation as a node returns it (/openapi.yaml, GET /api/evaluations/{id}), and
 * two of them side by side. Texts are borrowed from the JSON, which a struct evaluated owns. Pure
 * functions, any thread.
 */
#ifndef PARLEY_BOTS_CLI_EVALUATED_H
#define PARLEY_BOTS_CLI_EVALUATED_H

#include "services/bots/evaluate/statistics.h"
#include "shared/base/json.h"

struct evaluated_turn {
    size_t number;       /* from 1 on */
    double distance;     /* NAN: the turn failed */
    struct str question; /* the text that the bot was asked */
    struct str answer;   /* `at == NULL` without one */
    struct str original; /* the nearest of them; `at == NULL` if none was compared */
    size_t original_n;   /* how many are accepted */
    struct str reason;   /* of a failed turn */
};

struct evaluated {
    json_t *head;  /* the evaluation without its turns; NULL: none yet */
    json_t *turns; /* those that are stored, in order */
    struct str id, bot, measure, status;
    struct str created, updated; /* RFC 3339 */
    size_t turn_n;               /* of the conversation; `turns` has fewer while it runs */
    size_t done_n;               /* turns that the node has stored */
    size_t failed_n;
    double mean, score; /* NAN without a measured turn */
    bool has_interval;
    struct interval interval;
    struct str reason; /* of status "failed" */
};

/* Takes a response, which is freed then: replaces the head and adds its turns. Returns false if it
 * is not an evaluation; *evaluated is then as it was. */
bool evaluated_take(struct evaluated *evaluated, json_t *response) must_check;
/* Accepts a zeroed one. */
void evaluated_fini(struct evaluated *evaluated);

/* Returns whether no more turns will come. */
bool evaluated_is_over(const struct evaluated *evaluated);
size_t evaluated_measured_n(const struct evaluated *evaluated);
/* `i` counts from 0 and is less than the number of `turns`. */
struct evaluated_turn evaluated_turn(const struct evaluated *evaluated, size_t i);

/* Two runs of the same conversation. Differences are this one's distance less the other's: below 0
 * this one is closer to the originals. */
struct evaluated_pair {
    const struct evaluated *other; /* NULL: nothing to compare with */
    struct statistics difference;  /* over turns that both have measured */
    bool has_interval;
    struct interval interval;
};

/* Compares. Returns NULL, or why the two cannot be compared; the text is static. */
const char *evaluated_compare(const struct evaluated *one, const struct evaluated *other,
                              struct evaluated_pair *ret_pair) must_check;

/* Returns one sentence on what the pair shows. Static. */
const char *evaluated_verdict(const struct evaluated_pair *pair);

/* "cosine distance" for "cosine". Static, or `measure` itself. */
struct str evaluated_measure_name(struct str measure);

#endif

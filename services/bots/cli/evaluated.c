/* SPDX-License-Identifier: MIT
 * evaluated.c - see evaluated.h. Numbers of nodes are checked before they are used as sizes. */
#include "services/bots/cli/evaluated.h"

#include "shared/base/mem.h"

#include <math.h>

enum { TURNS_MAX = 2000 };
#define NUMBER_MAX 1e15 /* no distance, and wider than any page */

static double number(const json_t *value)
{
    double n = json_is_number(value) ? json_number_value(value) : NAN;
    return isfinite(n) && fabs(n) < NUMBER_MAX ? n : NAN;
}

static size_t count(const json_t *value)
{
    long long n = json_is_integer(value) ? (long long)json_integer_value(value) : 0;
    return n > 0 && n <= TURNS_MAX ? (size_t)n : 0;
}

static void read_head(struct evaluated *e)
{
    const json_t *interval = json_object_get(e->head, "interval");
    e->id = json_member_str(e->head, "id");
    e->bot = json_member_str(e->head, "bot");
    e->measure = json_member_str(e->head, "measure");
    e->status = json_member_str(e->head, "status");
    e->created = json_member_str(e->head, "created");
    e->updated = json_member_str(e->head, "updated");
    e->reason = json_member_str(e->head, "reason");
    e->turn_n = count(json_object_get(e->head, "total"));
    e->done_n = count(json_object_get(e->head, "done"));
    e->failed_n = count(json_object_get(e->head, "failed"));
    e->mean = number(json_object_get(e->head, "mean"));
    e->score = number(json_object_get(e->head, "score"));
    e->interval.low = number(json_array_get(interval, 0));
    e->interval.high = number(json_array_get(interval, 1));
    e->has_interval = !isnan(e->interval.low) && !isnan(e->interval.high);
}

bool evaluated_take(struct evaluated *e, json_t *response)
{
    json_t *turns = json_object_get(response, "turns"), *turn;
    size_t i;
    if (json_member_str(response, "id").n == 0 || json_member_str(response, "status").n == 0 ||
        json_member_str(response, "bot").at == NULL || !json_is_array(turns) ||
        json_array_size(turns) + json_array_size(e->turns) > TURNS_MAX) {
        json_decref(response);
        return false;
    }
    if (e->turns == NULL)
        e->turns = json_array();
    json_array_foreach(turns, i, turn) json_array_append(e->turns, turn);
    json_object_del(response, "turns");
    json_decref(e->head);
    e->head = response;
    read_head(e);
    if (e->turn_n < json_array_size(e->turns))
        e->turn_n = json_array_size(e->turns);
    return true;
}

void evaluated_fini(struct evaluated *e)
{
    json_decref(e->head);
    json_decref(e->turns);
    *e = (struct evaluated){.head = NULL};
}

bool evaluated_is_over(const struct evaluated *e)
{
    return !str_eq(e->status, STR("running"));
}

size_t evaluated_measured_n(const struct evaluated *e)
{
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(e->turns); i++)
        n += !isnan(evaluated_turn(e, i).distance);
    return n;
}

struct evaluated_turn evaluated_turn(const struct evaluated *e, size_t i)
{
    const json_t *turn = json_array_get(e->turns, i);
    return (struct evaluated_turn){
        .number = i + 1,
        .distance = number(json_object_get(turn, "distance")),
        .question = json_member_str(turn, "text"),
        .answer = json_member_str(turn, "answer"),
        .original = json_member_str(turn, "original"),
        .original_n = count(json_object_get(turn, "originals")),
        .reason = json_member_str(turn, "error"),
    };
}

/* As far as turns show it: which original was the nearest depends on the answer. */
static bool is_same_turn(const json_t *a, const json_t *b)
{
    const json_t *n = json_object_get(a, "originals");
    const json_t *one = json_object_get(a, "original"), *other = json_object_get(b, "original");
    bool is_known = json_integer_value(n) == 1 && json_is_string(one) && json_is_string(other);
    return json_equal(json_object_get(a, "id"), json_object_get(b, "id")) &&
           json_equal(json_object_get(a, "text"), json_object_get(b, "text")) &&
           json_equal(n, json_object_get(b, "originals")) && (!is_known || json_equal(one, other));
}

static bool is_same_conversation(const struct evaluated *one, const struct evaluated *other)
{
    size_t n = json_array_size(one->turns), other_n = json_array_size(other->turns);
    if (one->turn_n != other->turn_n)
        return false;
    for (size_t i = 0; i < n && i < other_n; i++)
        if (!is_same_turn(json_array_get(one->turns, i), json_array_get(other->turns, i)))
            return false;
    return true;
}

/* Returns the distances of all turns of the conversation; NAN for those that were not measured. */
static double *distances(const struct evaluated *e)
{
    size_t n = e->turn_n;
    double *list = mem_zeroed_n(n + 1, sizeof *list);
    for (size_t i = 0; i < n; i++)
        list[i] = evaluated_turn(e, i).distance;
    return list;
}

const char *evaluated_compare(const struct evaluated *one, const struct evaluated *other,
                              struct evaluated_pair *ret_pair)
{
    if (!str_eq(other->status, STR("done")))
        return "it is not done";
    if (!str_eq(one->measure, other->measure))
        return "it was measured by another distance (--measure)";
    if (!is_same_conversation(one, other))
        return "it is of another conversation: only turns with the same message and the same "
               "originals can be compared";
    double *a = distances(one), *b = distances(other);
    *ret_pair = (struct evaluated_pair){.other = other};
    ret_pair->difference = statistics_of_pairs(a, b, one->turn_n);
    ret_pair->has_interval = statistics_interval(&ret_pair->difference, &ret_pair->interval);
    free(a);
    free(b);
    return NULL;
}

const char *evaluated_verdict(const struct evaluated_pair *pair)
{
    if (!pair->has_interval)
        return "Fewer than two turns were measured in both runs, so nothing can be concluded.";
    if (pair->interval.high < 0)
        return "This run is closer to the originals: the whole interval is below 0.";
    if (pair->interval.low > 0)
        return "This run is farther from the originals: the whole interval is above 0.";
    return "The interval contains 0: the runs do not differ by more than chance explains.";
}

struct str evaluated_measure_name(struct str measure)
{
    if (str_eq(measure, STR("cosine")))
        return STR("cosine distance");
    if (str_eq(measure, STR("dot")))
        return STR("dot product distance");
    if (str_eq(measure, STR("euclidean")))
        return STR("euclidean distance");
    return measure;
}

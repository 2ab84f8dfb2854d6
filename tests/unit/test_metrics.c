/* SPDX-License-Identifier: MIT
 * test_metrics.c - shared/metrics/metrics.h: what two threads count, as Prometheus reads it. */
#include "shared/base/clock.h"
#include "shared/metrics/metrics.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static struct metrics one, two; /* registered for the life of the process */

static int set_up(void **state)
{
    metrics_register(&one);
    metrics_register(&two);
    return 0;
}

static int clear(void **state)
{
    struct metrics *next_of_one = one.next, *next_of_two = two.next;
    memset(&one, 0, sizeof one);
    memset(&two, 0, sizeof two);
    one.next = next_of_one;
    two.next = next_of_two;
    return 0;
}

static bool has_line(const char *line)
{
    struct buf b;
    char wanted[200];
    buf_init(&b, 1 << 20);
    metrics_write(&b);
    buf_terminate(&b);
    snprintf(wanted, sizeof wanted, "\n%s\n", line);
    bool has = strstr(b.at, wanted) != NULL;
    if (!has)
        print_message("no '%s' in\n%s", line, b.at);
    buf_fini(&b);
    return has;
}

static bool has_age(double least, double most)
{
    static const char start[] = "\nparley_openid_keys_age_seconds ";
    struct buf b;
    buf_init(&b, 1 << 20);
    metrics_write(&b);
    buf_terminate(&b);
    const char *at = strstr(b.at, start);
    double age = at == NULL ? -1 : strtod(at + sizeof start - 1, NULL);
    buf_fini(&b);
    return age >= least && age <= most;
}

static struct str name_of(unsigned verb)
{
    return verb == 0 ? STR("add") : STR("check");
}

static void verbs_are_counted_by_name_and_those_never_called_are_left_out(void **state)
{
    metrics_name_verbs(name_of, 2);
    metrics_count_verb(&one, 1, false, 1500);
    metrics_count_verb(&two, 1, true, 500);
    assert_true(has_line("parley_verb_calls_total{verb=\"check\"} 2"));
    assert_true(has_line("parley_verb_errors_total{verb=\"check\"} 1"));
    assert_true(has_line("parley_verb_seconds_bucket{verb=\"check\",le=\"0.00025\"} 0"));
    assert_true(has_line("parley_verb_seconds_bucket{verb=\"check\",le=\"0.0005\"} 1"));
    assert_true(has_line("parley_verb_seconds_bucket{verb=\"check\",le=\"0.0025\"} 2"));
    assert_true(has_line("parley_verb_seconds_bucket{verb=\"check\",le=\"+Inf\"} 2"));
    assert_true(has_line("parley_verb_seconds_sum{verb=\"check\"} 0.002000"));
    assert_true(has_line("parley_verb_seconds_count{verb=\"check\"} 2"));
    struct buf b;
    buf_init(&b, 1 << 20);
    metrics_write(&b);
    buf_terminate(&b);
    assert_null(strstr(b.at, "verb=\"add\""));
    buf_fini(&b);
}

static void values_of_all_threads_are_added_up(void **state)
{
    metrics_add(&one, METRIC_ANSWERS, 2);
    metrics_add(&two, METRIC_ANSWERS, 3);
    metrics_add(&one, METRIC_POLLS_PARKED, 5);
    metrics_add(&two, METRIC_POLLS_PARKED, -1);
    assert_int_equal(metrics_sum(METRIC_ANSWERS), 5);
    assert_int_equal(metrics_sum(METRIC_POLLS_PARKED), 4);
    assert_true(has_line("parley_answers_total 5"));
    assert_true(has_line("parley_polls_parked 4"));
    assert_true(has_line("# TYPE parley_polls_parked gauge"));
    assert_true(has_line("parley_claims_total 0"));
}

static void an_age_is_that_of_the_earliest_event_and_missing_without_any(void **state)
{
    int64_t now_ms = (int64_t)clock_mono_ms();
    assert_true(has_line("# TYPE parley_openid_keys_age_seconds gauge"));
    assert_false(has_age(0, 1e9));
    metrics_set(&two, METRIC_OPENID_FETCHED_MS, now_ms - 5000);
    assert_true(has_age(5, 65));
    metrics_set(&one, METRIC_OPENID_FETCHED_MS, now_ms - 900000);
    assert_true(has_age(900, 960));
    metrics_set(&one, METRIC_OPENID_FETCHED_MS, now_ms + 60000);
    metrics_set(&two, METRIC_OPENID_FETCHED_MS, 0);
    assert_true(has_line("parley_openid_keys_age_seconds 0.000"));
}

static void requests_are_counted_by_class_of_status(void **state)
{
    static const int statuses[] = {200, 204, 301, 400, 404, 429, 500, 503};
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        metrics_count_request(i % 2 == 0 ? &one : &two, statuses[i], 10, false);
    assert_true(has_line("parley_requests_total{status=\"2xx\"} 3"));
    assert_true(has_line("parley_requests_total{status=\"4xx\"} 3"));
    assert_true(has_line("parley_requests_total{status=\"5xx\"} 2"));
}

static void durations_fall_into_buckets_that_hold_the_shorter_ones_too(void **state)
{
    metrics_count_request(&one, 200, 50, false); /* the bound belongs to its bucket */
    metrics_count_request(&two, 200, 51, false);
    metrics_count_request(&one, 200, 60u * 1000 * 1000, false);
    assert_true(has_line("parley_request_duration_seconds_bucket{le=\"0.00005\"} 1"));
    assert_true(has_line("parley_request_duration_seconds_bucket{le=\"0.0001\"} 2"));
    assert_true(has_line("parley_request_duration_seconds_bucket{le=\"1.6384\"} 2"));
    assert_true(has_line("parley_request_duration_seconds_bucket{le=\"+Inf\"} 3"));
    assert_true(has_line("parley_request_duration_seconds_sum 60.000101"));
    assert_true(has_line("parley_request_duration_seconds_count 3"));
}

static void times_of_the_queue_are_counted_in_seconds_up_to_ten_minutes(void **state)
{
    metrics_observe_ms(&one, METRIC_HISTOGRAM_QUEUE, 1000, 1005);
    metrics_observe_ms(&two, METRIC_HISTOGRAM_QUEUE, 1000, 62000);
    metrics_observe_ms(&two, METRIC_HISTOGRAM_QUEUE, 1000, 990); /* by clocks that differ */
    metrics_observe_ms(&two, METRIC_HISTOGRAM_QUEUE, 0, 3600000);
    assert_true(has_line("# TYPE parley_queue_seconds histogram"));
    assert_true(has_line("parley_queue_seconds_bucket{le=\"0.005\"} 2"));
    assert_true(has_line("parley_queue_seconds_bucket{le=\"60\"} 2"));
    assert_true(has_line("parley_queue_seconds_bucket{le=\"120\"} 3"));
    assert_true(has_line("parley_queue_seconds_bucket{le=\"600\"} 3"));
    assert_true(has_line("parley_queue_seconds_bucket{le=\"+Inf\"} 4"));
    assert_true(has_line("parley_queue_seconds_sum 3661.005000"));
    assert_true(has_line("parley_answer_seconds_count 0"));
}

static void a_parked_request_counts_without_its_wait(void **state)
{
    metrics_count_request(&one, 200, 100u * 1000 * 1000, true);
    assert_true(has_line("parley_requests_total{status=\"2xx\"} 1"));
    assert_true(has_line("parley_request_duration_seconds_count 0"));
}

/* One HELP and one TYPE per name, before its first value; no line of another form. */
static void the_text_is_what_prometheus_reads(void **state)
{
    struct buf b;
    buf_init(&b, 1 << 20);
    metrics_set(&one, METRIC_OPENID_FETCHED_MS, 1); /* an age has no line without */
    metrics_write(&b);
    struct str rest = buf_str(&b);
    unsigned help_n = 0, type_n = 0, value_n = 0;
    assert_true(rest.at[rest.n - 1] == '\n');
    rest.n--;
    while (rest.at != NULL) {
        struct str line = str_cut(&rest, '\n');
        if (str_has_prefix(line, STR("# HELP ")))
            help_n++;
        else if (str_has_prefix(line, STR("# TYPE ")))
            type_n++;
        else {
            assert_true(str_has_prefix(line, STR("parley_")));
            assert_non_null(memrchr(line.at, ' ', line.n));
            value_n++;
        }
    }
    assert_int_equal(help_n, type_n);
    assert_int_equal(value_n, METRIC_NR + METRIC_HISTOGRAM_NR * (HISTOGRAM_BUCKETS_MAX + 1 + 2));
    buf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(verbs_are_counted_by_name_and_those_never_called_are_left_out,
                               clear),
        cmocka_unit_test_setup(values_of_all_threads_are_added_up, clear),
        cmocka_unit_test_setup(an_age_is_that_of_the_earliest_event_and_missing_without_any, clear),
        cmocka_unit_test_setup(requests_are_counted_by_class_of_status, clear),
        cmocka_unit_test_setup(durations_fall_into_buckets_that_hold_the_shorter_ones_too, clear),
        cmocka_unit_test_setup(times_of_the_queue_are_counted_in_seconds_up_to_ten_minutes, clear),
        cmocka_unit_test_setup(a_parked_request_counts_without_its_wait, clear),
        cmocka_unit_test_setup(the_text_is_what_prometheus_reads, clear),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}

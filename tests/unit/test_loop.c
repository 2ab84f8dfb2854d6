/* SPDX-License-Identifier: MIT
 * test_loop.c - shared/op/loop.h: from when a deadline counts that a callback sets, what runs
 * before one that is late, that writes outside of libh2o's part of a turn end, what runs at the end
 * of a turn, and what long work leaves to others. */
#include "shared/op/loop.h"

#include "shared/base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { BUSY_MS = 60, AFTER_MS = 30 };

static struct loop loop; /* of the whole run: what libh2o keeps of one stays reachable */
static struct deadline deadline;
static uint64_t set_us, ran_us;

static void on_expire(struct deadline *expired)
{
    (void)expired;
    ran_us = clock_mono_us();
    loop_finish(&loop);
}

/* Time passes before the callback sets its deadline, as it does while the loop sleeps. */
static void set_late(void *arg)
{
    (void)arg;
    for (uint64_t end_ms = clock_mono_ms() + BUSY_MS; clock_mono_ms() < end_ms;)
        ;
    set_us = clock_mono_us();
    loop_set_deadline(&loop, &deadline, AFTER_MS);
}

static void run(void)
{
    deadline.on_expire = on_expire;
    loop.is_done = false;
    loop_run(&loop);
    /* Deadlines are whole milliseconds. */
    assert_true(ran_us - set_us > (AFTER_MS - 1) * 1000);
}

static void a_deadline_set_in_a_socket_callback_counts_from_then(void **state)
{
    loop.on_wake = set_late;
    loop_wake(&loop);
    run();
}

static void on_first(struct deadline *expired)
{
    (void)expired;
    set_late(NULL);
}

static void a_deadline_set_by_another_deadline_counts_from_then(void **state)
{
    static struct deadline first = {.on_expire = on_first};
    loop_set_deadline(&loop, &first, 0);
    run();
}

static bool is_set_at_end;

static void at_pass_end(void *arg)
{
    if (!is_set_at_end)
        set_late(arg);
    is_set_at_end = true;
}

static void a_deadline_set_at_the_end_of_a_turn_counts_from_then(void **state)
{
    loop.on_wake = NULL;
    loop.on_pass_end = at_pass_end;
    loop_wake(&loop);
    run();
    loop.on_pass_end = NULL;
}

enum { ONE, OTHER, ENDS_NR };

static int first_ends[ENDS_NR], second_ends[ENDS_NR];
static bool is_second_read, was_read_before;

/* Data arrives for the second socket while this callback takes its time. */
static void on_first_readable(h2o_socket_t *socket, const char *error)
{
    (void)error;
    h2o_buffer_consume(&socket->input, socket->input->size);
    assert_int_equal(write(second_ends[OTHER], "x", 1), 1);
    for (uint64_t end_ms = clock_mono_ms() + 4 * BUSY_MS; clock_mono_ms() < end_ms;)
        ;
}

static void on_second_readable(h2o_socket_t *socket, const char *error)
{
    (void)error;
    h2o_buffer_consume(&socket->input, socket->input->size);
    is_second_read = true;
}

static void on_late_expire(struct deadline *expired)
{
    (void)expired;
    was_read_before = is_second_read;
    loop_finish(&loop);
}

static h2o_socket_t *read_from(int ends[ENDS_NR], h2o_socket_cb on_readable)
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    h2o_socket_t *socket = h2o_evloop_socket_create(loop.h2o, ends[ONE], 0);
    h2o_socket_read_start(socket, on_readable);
    return socket;
}

static void what_has_come_is_read_before_a_late_deadline(void **state)
{
    h2o_socket_t *first = read_from(first_ends, on_first_readable);
    h2o_socket_t *second = read_from(second_ends, on_second_readable);
    assert_int_equal(write(first_ends[OTHER], "x", 1), 1);
    deadline.on_expire = on_late_expire;
    loop_set_deadline(&loop, &deadline, BUSY_MS);
    loop.is_done = false;
    loop_run(&loop);
    assert_true(was_read_before);
    h2o_socket_close(first);
    h2o_socket_close(second);
    close(first_ends[OTHER]);
    close(second_ends[OTHER]);
}

/* --- many sockets at once --------------------------------------------------------------------- */

enum { READY_NR = 300 /* more than one poll of libh2o returns */ };

static h2o_socket_t *changed;
static unsigned written_n;

static void on_changed_readable(h2o_socket_t *socket, const char *error)
{
    (void)socket;
    assert_null(error);
}

static void on_written(h2o_socket_t *socket, const char *error)
{
    (void)socket;
    assert_null(error);
    written_n++;
}

/* Either way round, and to either of both. */
static void write_and_change(void)
{
    static char byte[] = "x";
    h2o_iovec_t bytes = h2o_iovec_init(byte, 1);
    h2o_socket_write(changed, &bytes, 1, on_written);
    if (h2o_socket_is_reading(changed))
        h2o_socket_read_stop(changed);
    else
        h2o_socket_read_start(changed, on_changed_readable);
}

static void write_at_deadline(struct deadline *expired)
{
    (void)expired;
    write_and_change();
}

static bool write_in_step(struct steps *steps)
{
    (void)steps;
    write_and_change();
    return false;
}

static void write_in_task(struct loop_task *task)
{
    (void)task;
    write_and_change();
}

static void write_at_pass_end(void *arg)
{
    (void)arg;
    loop.on_pass_end = NULL;
    write_and_change();
}

static struct deadline writing_deadline = {.on_expire = write_at_deadline};
static struct steps writing_steps = {.step = write_in_step};
static struct loop_task writing_task = {.run = write_in_task};

static void set_deadline(void)
{
    loop_set_deadline(&loop, &writing_deadline, 0);
}

static void begin_step(void)
{
    loop_begin_steps(&loop, &writing_steps);
}

static void schedule_task(void)
{
    loop_schedule(&loop, &writing_task);
}

static void hook_turn_end(void)
{
    loop.on_pass_end = write_at_pass_end;
}

/* libh2o asked epoll whether such a socket can be written, and aborted when it was notified a turn
 * later, because the write had been reported meanwhile. */
static void a_socket_may_change_what_it_reads_as_it_is_written_to_among_hundreds(void **state)
{
    static void (*const ways[])(void) = {set_deadline, begin_step, schedule_task, hook_turn_end};
    static int ready_ends[READY_NR][ENDS_NR], changed_ends[ENDS_NR];
    h2o_socket_t *ready[READY_NR];
    for (unsigned i = 0; i < READY_NR; i++)
        ready[i] = read_from(ready_ends[i], on_second_readable);
    changed = read_from(changed_ends, on_changed_readable);
    loop_run_once(&loop, 0);
    for (unsigned i = 0; i < 2 * sizeof ways / sizeof *ways; i++) {
        ways[i / 2]();
        for (unsigned turn = 0; turn < 4; turn++) {
            for (unsigned k = 0; k < READY_NR; k++)
                assert_int_equal(write(ready_ends[k][OTHER], "x", 1), 1);
            loop_run_once(&loop, 0);
        }
        assert_int_equal(written_n, i + 1);
    }
    for (unsigned i = 0; i < READY_NR; i++) {
        h2o_socket_close(ready[i]);
        close(ready_ends[i][OTHER]);
    }
    h2o_socket_close(changed);
    close(changed_ends[OTHER]);
}

/* --- the order within a turn ------------------------------------------------------------------ */

static char ran[20];

static void note(char what)
{
    size_t n = strlen(ran);
    assert_true(n + 1 < sizeof ran);
    ran[n] = what;
}

static void note_pass_end(void *arg)
{
    (void)arg;
    note('e');
}

static void run_first_task(struct loop_task *task)
{
    (void)task;
    note('1');
}

static struct loop_task first_task = {.run = run_first_task};

/* Schedules another one: it runs in the same turn. */
static void run_second_task(struct loop_task *task)
{
    (void)task;
    note('2');
    loop_schedule(&loop, &first_task);
}

static struct loop_task second_task = {.run = run_second_task};

static void schedule_second(void *arg)
{
    (void)arg;
    loop_schedule(&loop, &second_task);
    loop_schedule(&loop, &second_task);
}

static void begin_noting(void)
{
    memset(ran, 0, sizeof ran);
    loop.on_pass_end = note_pass_end;
}

static void a_task_runs_once_at_the_end_of_the_turn(void **state)
{
    begin_noting();
    loop.on_wake = schedule_second;
    loop_wake(&loop);
    loop_run_once(&loop, 0);
    assert_string_equal(ran, "e21");
    loop_run_once(&loop, 0);
    assert_string_equal(ran, "e21e");
    loop.on_wake = NULL;
    loop.on_pass_end = NULL;
}

static void a_task_scheduled_between_turns_runs_at_the_beginning_of_the_next(void **state)
{
    begin_noting();
    loop_schedule(&loop, &first_task);
    loop_run_once(&loop, 0);
    assert_string_equal(ran, "1e");
    loop.on_pass_end = NULL;
}

static void a_task_that_is_unscheduled_does_not_run(void **state)
{
    begin_noting();
    loop_schedule(&loop, &second_task);
    loop_schedule(&loop, &first_task);
    loop_unschedule(&second_task);
    loop_unschedule(&second_task);
    loop_run_once(&loop, 0);
    assert_string_equal(ran, "1e");
    loop.on_pass_end = NULL;
}

/* --- work in steps ---------------------------------------------------------------------------- */

static struct steps second_steps;

struct long_work {
    struct steps steps;
    const char *note;
    unsigned left_n;
};

/* Takes all the time of a pass. */
static bool take_a_pass(struct steps *steps)
{
    struct long_work *it = H2O_STRUCT_FROM_MEMBER(struct long_work, steps, steps);
    for (uint64_t end_us = clock_thread_us() + PASS_US; clock_thread_us() < end_us;)
        ;
    strcat(ran, it->note);
    return --it->left_n > 0;
}

static void note_wake(void *arg)
{
    (void)arg;
    strcat(ran, "w");
}

static void long_work_takes_turns_and_others_are_served_after_each_pass(void **state)
{
    struct long_work a = {{.step = take_a_pass}, "a", 3}, b = {{.step = take_a_pass}, "b", 2};
    begin_noting();
    loop.on_wake = note_wake;
    loop_begin_steps(&loop, &a.steps);
    loop_begin_steps(&loop, &a.steps);
    loop_begin_steps(&loop, &b.steps);
    for (unsigned i = 0; i < 5; i++) {
        loop_wake(&loop);
        loop_run_once(&loop, 60000); /* does not wait, as work is left */
    }
    assert_string_equal(ran, "waewbewaewbewae");
    assert_false(steps_are_under_way(&a.steps) || steps_are_under_way(&b.steps));
    loop.on_wake = NULL;
    loop.on_pass_end = NULL;
}

static bool end_other(struct steps *steps)
{
    (void)steps;
    strcat(ran, "a");
    steps_end(&second_steps);
    steps_end(&second_steps);
    return false;
}

static void work_that_is_ended_runs_no_further_step(void **state)
{
    struct steps first_steps = {.step = end_other};
    begin_noting();
    second_steps.step = end_other;
    loop_begin_steps(&loop, &first_steps);
    loop_begin_steps(&loop, &second_steps);
    loop_run_once(&loop, 0);
    loop_run_once(&loop, 0);
    assert_string_equal(ran, "aee");
    loop.on_pass_end = NULL;
}

/* libh2o cannot free what a loop consists of: the next one has it again. */
static void loops_that_end_leave_no_descriptors_behind(void **state)
{
    static struct loop others[2];
    int before = dup(STDIN_FILENO), after;
    for (int i = 0; i < 50; i++)
        for (int k = 0; k < 2; k++) {
            loop_init(&others[k]);
            loop_wake(&others[k]);
            loop_fini(&others[k]);
        }
    after = dup(STDIN_FILENO);
    assert_in_range(after, before + 1, before + 2);
    close(before);
    close(after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_deadline_set_in_a_socket_callback_counts_from_then),
        cmocka_unit_test(a_deadline_set_by_another_deadline_counts_from_then),
        cmocka_unit_test(a_deadline_set_at_the_end_of_a_turn_counts_from_then),
        cmocka_unit_test(what_has_come_is_read_before_a_late_deadline),
        cmocka_unit_test(a_socket_may_change_what_it_reads_as_it_is_written_to_among_hundreds),
        cmocka_unit_test(a_task_runs_once_at_the_end_of_the_turn),
        cmocka_unit_test(a_task_scheduled_between_turns_runs_at_the_beginning_of_the_next),
        cmocka_unit_test(a_task_that_is_unscheduled_does_not_run),
        cmocka_unit_test(long_work_takes_turns_and_others_are_served_after_each_pass),
        cmocka_unit_test(work_that_is_ended_runs_no_further_step),
        cmocka_unit_test(loops_that_end_leave_no_descriptors_behind),
    };
    loop_init(&loop);
    int failed_n = cmocka_run_group_tests(tests, NULL, NULL);
    loop_fini(&loop);
    return failed_n;
}

/* SPDX-License-Identifier: MIT
 * test_extract_sandbox.c - shared/extract/sandbox.h: what a child gets, its limits, and how it
 * ends. What it may ask of the kernel is in test_extract_sandbox_filter.c. The children are shells,
 * which here can run no further process: what a line needs is a builtin or comes last, by exec. */
#include "shared/extract/memory_file.h"
#include "shared/extract/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct buf out;
static int status;

/* A file that holds the bytes, until the next one is asked for. */
static int file_of(struct str bytes)
{
    static struct memory_file file = {.fd = -1};
    memory_file_fini(&file);
    memory_file_init(&file);
    assert_true(memory_file_put(&file, bytes) && memory_file_seal(&file));
    return file.fd;
}

/* What the program prints is in `out`, NUL-terminated. */
static enum sandbox_end run_program(const char *const *argv, struct sandbox_job job)
{
    job.argv = argv;
    job.cpu_s = job.cpu_s == 0 ? 20 : job.cpu_s;
    job.wall_ms = job.wall_ms == 0 ? 60000 : job.wall_ms;
    job.input = job.input == 0 ? file_of(STR("")) : job.input;
    status = -1;
    buf_clear(&out);
    enum sandbox_end end = sandbox_run(&job, &out, &status);
    buf_terminate(&out);
    return end;
}

/* Runs a line of shell. */
static enum sandbox_end run(const char *line, struct sandbox_job job)
{
    const char *const argv[] = {"/bin/sh", "-c", line, NULL};
    return run_program(argv, job);
}

static int set_up(void **state)
{
    buf_init(&out, 1 << 20);
    return 0;
}

static int tear_down(void **state)
{
    buf_fini(&out);
    return 0;
}

static void a_child_reads_the_input_and_its_output_is_collected(void **state)
{
    struct buf large;
    buf_init(&large, 1 << 20);
    for (int i = 0; i < 50000; i++)
        buf_printf(&large, "line %d\n", i);
    assert_int_equal(run("exec cat", (struct sandbox_job){.input = file_of(buf_str(&large))}),
                     SANDBOX_EXITED);
    assert_int_equal(status, 0);
    assert_true(str_eq(buf_str(&out), buf_str(&large)));
    buf_fini(&large);
    assert_int_equal(run("exit 7", (struct sandbox_job){.wall_ms = 0}), SANDBOX_EXITED);
    assert_int_equal(status, 7);
    assert_int_equal(out.n, 0);
}

static void a_child_cannot_change_its_input(void **state)
{
    assert_int_equal(run("printf x >/dev/stdin; printf x >&0; exec cat",
                         (struct sandbox_job){.input = file_of(STR("same"))}),
                     SANDBOX_EXITED);
    assert_string_equal(out.at, "same");
}

static void a_child_has_no_environment_and_no_descriptors_of_ours(void **state)
{
    int leaked = fcntl(STDIN_FILENO, F_DUPFD, 40); /* would be inherited */
    assert_true(leaked >= 0);
    assert_int_equal(setenv("PARLEY_SECRET_OF_THE_TEST", "x", 1), 0);
    static const char *const argv[] = {"/bin/cat", "/proc/self/environ", NULL};
    assert_int_equal(run_program(argv, (struct sandbox_job){.wall_ms = 0}), SANDBOX_EXITED);
    assert_int_equal(status, 0);
    assert_int_equal(out.n, 0);
    assert_int_equal(run("cd /proc/$$/fd && echo *", (struct sandbox_job){.wall_ms = 0}),
                     SANDBOX_EXITED);
    char name[16];
    snprintf(name, sizeof name, " %d", leaked);
    assert_null(strstr(out.at, name));
    assert_non_null(strstr(out.at, "0 1 2"));
    close(leaked);
}

static void a_child_has_limits(void **state)
{
    assert_int_equal(run("ulimit -t; ulimit -v; ulimit -f; ulimit -n; ulimit -c; "
                         "exec grep NoNewPrivs /proc/self/status",
                         (struct sandbox_job){.cpu_s = 9, .memory_bytes = 64 << 20}),
                     SANDBOX_EXITED);
    assert_string_equal(out.at, "9\n65536\n0\n64\n0\nNoNewPrivs:\t1\n");
}

static void a_child_cannot_write_a_file(void **state)
{
    char name[64], line[256];
    snprintf(name, sizeof name, "/tmp/parley-sandbox-%ld", (long)getpid());
    snprintf(line, sizeof line, "echo x >%s; [ -e %s ] && echo written", name, name);
    assert_int_equal(run(line, (struct sandbox_job){.wall_ms = 0}), SANDBOX_EXITED);
    assert_int_equal(out.n, 0);
    unlink(name);
}

static bool may_unshare(void)
{
    pid_t child = fork();
    int how = 0;
    if (child == 0) {
        execl("/usr/bin/unshare", "unshare", "-Un", "true", (char *)NULL);
        _exit(1);
    }
    return waitpid(child, &how, 0) == child && WIFEXITED(how) && WEXITSTATUS(how) == 0;
}

static void a_child_has_a_network_of_its_own_with_nothing_in_it(void **state)
{
    char ours[64] = "";
    if (!may_unshare())
        skip();
    assert_true(readlink("/proc/self/ns/net", ours, sizeof ours - 1) > 0);
    assert_int_equal(run("exec readlink /proc/self/ns/net", (struct sandbox_job){.wall_ms = 0}),
                     SANDBOX_EXITED);
    assert_non_null(strstr(out.at, "net:["));
    assert_null(strstr(out.at, ours));
    assert_int_equal(run("exec tail -n +3 /proc/self/net/dev", (struct sandbox_job){.wall_ms = 0}),
                     SANDBOX_EXITED);
    assert_non_null(strstr(out.at, "lo:"));
    assert_null(strstr(out.at, "eth"));
}

static void a_child_that_uses_up_its_processor_time_is_slow(void **state)
{
    assert_int_equal(run("while :; do :; done", (struct sandbox_job){.cpu_s = 1}), SANDBOX_SLOW);
}

static void a_child_that_never_ends_is_slow(void **state)
{
    assert_int_equal(run("echo begun; exec sleep 1000", (struct sandbox_job){.wall_ms = 300}),
                     SANDBOX_SLOW);
    assert_int_equal(run("exec >&-; exec sleep 1000", (struct sandbox_job){.wall_ms = 300}),
                     SANDBOX_SLOW);
    assert_int_equal(waitpid(-1, &status, WNOHANG), -1); /* nothing of it is left */
    assert_int_equal(errno, ECHILD);
}

static void a_child_that_writes_without_end_is_stopped(void **state)
{
    assert_int_equal(run("exec yes", (struct sandbox_job){.wall_ms = 0}), SANDBOX_FULL);
}

static void a_child_that_dies_has_crashed(void **state)
{
    static const char *const argv[] = {"/proc/self/exe", "--crash", NULL};
    assert_int_equal(run_program(argv, (struct sandbox_job){.wall_ms = 0}), SANDBOX_CRASHED);
}

static void a_signal_to_the_whole_group_does_not_end_a_child(void **state)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
    unsigned long ignored = 0;
    assert_int_equal(run("exec grep SigIgn /proc/self/status", (struct sandbox_job){.wall_ms = 0}),
                     SANDBOX_EXITED);
    assert_int_equal(sscanf(out.at, "SigIgn: %lx", &ignored), 1);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        assert_true(ignored & 1ul << (signals[i] - 1));
    assert_false(ignored & 1ul << (SIGPIPE - 1));
}

static void a_program_that_is_missing_is_not_born(void **state)
{
    static const char *const argv[] = {"/nowhere/program", NULL};
    assert_int_equal(run_program(argv, (struct sandbox_job){.wall_ms = 0}), SANDBOX_UNBORN);
}

static void a_waiting_caller_may_stop_the_child(void **state)
{
    atomic_bool is_stopping = false;
    assert_int_equal(run("echo x", (struct sandbox_job){.is_stopping = &is_stopping}),
                     SANDBOX_EXITED);
    atomic_store(&is_stopping, true);
    assert_int_equal(run("exec sleep 1000", (struct sandbox_job){.is_stopping = &is_stopping}),
                     SANDBOX_STOPPED);
}

static void a_program_is_found_on_the_path(void **state)
{
    char *found = sandbox_find_program("sh");
    assert_non_null(found);
    assert_int_equal(access(found, X_OK), 0);
    free(found);
    assert_null(sandbox_find_program("no-such-program-anywhere"));
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--crash") == 0)
        __builtin_trap();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_reads_the_input_and_its_output_is_collected),
        cmocka_unit_test(a_child_cannot_change_its_input),
        cmocka_unit_test(a_child_has_no_environment_and_no_descriptors_of_ours),
        cmocka_unit_test(a_child_has_limits),
        cmocka_unit_test(a_child_cannot_write_a_file),
        cmocka_unit_test(a_child_has_a_network_of_its_own_with_nothing_in_it),
        cmocka_unit_test(a_child_that_uses_up_its_processor_time_is_slow),
        cmocka_unit_test(a_child_that_never_ends_is_slow),
        cmocka_unit_test(a_child_that_writes_without_end_is_stopped),
        cmocka_unit_test(a_child_that_dies_has_crashed),
        cmocka_unit_test(a_signal_to_the_whole_group_does_not_end_a_child),
        cmocka_unit_test(a_program_that_is_missing_is_not_born),
        cmocka_unit_test(a_waiting_caller_may_stop_the_child),
        cmocka_unit_test(a_program_is_found_on_the_path),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

/* SPDX-License-Identifier: MIT
 * test_base_sm.c - shared/base/sm.h: what the table allows passes, anything else ends the process.
 */
#include "shared/base/sm.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum door { DOOR_OPEN, DOOR_SHUT, DOOR_LOCKED };

static const struct sm_state states[] = {
    [DOOR_OPEN] = {"OPEN", SM(DOOR_SHUT)},
    [DOOR_SHUT] = {"SHUT", SM(DOOR_OPEN) | SM(DOOR_LOCKED) | SM(DOOR_SHUT)},
    [DOOR_LOCKED] = {"LOCKED", SM(DOOR_SHUT)},
};
static const struct sm door = SM_OF("door", states);

/* Moves in a child. Returns its status, and what it wrote to standard error. */
static int move_in_child(enum log_level level, unsigned from, unsigned to, char said[4096])
{
    int fds[2], status;
    assert_int_equal(pipe(fds), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGABRT, SIG_DFL); /* cmocka's handler would report a failed test */
        dup2(fds[1], STDERR_FILENO);
        close(fds[0]);
        close(fds[1]);
        log_setup(level, false);
        _exit(sm_move(&door, 12, from, to) == to ? 0 : 1);
    }
    close(fds[1]);
    size_t n = 0;
    ssize_t more;
    while ((more = read(fds[0], said + n, 4095 - n)) > 0)
        n += (size_t)more;
    said[n] = 0;
    close(fds[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void a_move_that_is_allowed_is_made_in_silence(void **state)
{
    char said[4096];
    assert_int_equal(move_in_child(LOG_INFO, DOOR_OPEN, DOOR_SHUT, said), 0);
    assert_string_equal(said, "");
    assert_int_equal(move_in_child(LOG_INFO, DOOR_SHUT, DOOR_SHUT, said), 0);
}

static void a_move_is_logged_at_debug_level(void **state)
{
    char said[4096];
    assert_int_equal(move_in_child(LOG_DEBUG, DOOR_SHUT, DOOR_LOCKED, said), 0);
    assert_non_null(
        strstr(said, "debug moved what=\"door\" number=12 from=\"SHUT\" to=\"LOCKED\""));
}

static void a_move_that_is_not_allowed_aborts_and_says_which(void **state)
{
    char said[4096];
    int status = move_in_child(LOG_ERROR, DOOR_OPEN, DOOR_LOCKED, said);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    assert_non_null(strstr(said, "what=\"door\" number=12 from=\"OPEN\" to=\"LOCKED\""));
}

static void a_state_that_is_none_aborts(void **state)
{
    char said[4096];
    assert_true(WIFSIGNALED(move_in_child(LOG_ERROR, DOOR_OPEN, 3, said)));
    assert_non_null(strstr(said, "from=\"OPEN\" to=\"?\""));
    assert_true(WIFSIGNALED(move_in_child(LOG_ERROR, 77, DOOR_OPEN, said)));
    assert_true(WIFSIGNALED(move_in_child(LOG_ERROR, DOOR_LOCKED, DOOR_LOCKED, said)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_move_that_is_allowed_is_made_in_silence),
        cmocka_unit_test(a_move_is_logged_at_debug_level),
        cmocka_unit_test(a_move_that_is_not_allowed_aborts_and_says_which),
        cmocka_unit_test(a_state_that_is_none_aborts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

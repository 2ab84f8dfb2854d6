/* SPDX-License-Identifier: MIT
 * test_sign.c - `parley sign`: the URL stays what it was, the three parameters are in its query,
 * and a node takes them. The command runs in this process, with its output in a file. */
#include "services/commands/commands.h"
#include "shared/auth/signed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char secret_path[] = "/tmp/test_sign.XXXXXX";
static char out[70000], said[4096];

static int begin_all(void **state)
{
    int fd = mkstemp(secret_path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "s3cret\n", 7), 7);
    close(fd);
    unsetenv("PARLEY_USER");
    unsetenv("PARLEY_SECRET_FILE");
    unsetenv("PARLEY_METHOD");
    unsetenv("PARLEY_CONFIG");
    return 0;
}

static int end_all(void **state)
{
    unlink(secret_path);
    return 0;
}

/* Sends descriptor `fd` into a file of its own; *ret_saved is what it was. */
static FILE *divert(int fd, int *ret_saved)
{
    FILE *file = tmpfile();
    *ret_saved = dup(fd);
    dup2(fileno(file), fd);
    return file;
}

static void restore(int fd, int saved, FILE *file, char *text, size_t size)
{
    dup2(saved, fd);
    close(saved);
    rewind(file);
    text[fread(text, 1, size - 1, file)] = 0;
    fclose(file);
}

/* Runs `parley sign ARGS`, the last of which is NULL. */
static int sign(const char *first, ...)
{
    char *argv[16] = {(char *)"sign"};
    int argc = 1, saved_out, saved_err;
    va_list args;
    va_start(args, first);
    for (const char *arg = first; arg != NULL; arg = va_arg(args, const char *))
        argv[argc++] = (char *)arg;
    va_end(args);
    fflush(stdout);
    FILE *out_file = divert(STDOUT_FILENO, &saved_out);
    FILE *err_file = divert(STDERR_FILENO, &saved_err);
    int status = commands_run(argc, argv);
    fflush(stdout);
    restore(STDOUT_FILENO, saved_out, out_file, out, sizeof out);
    restore(STDERR_FILENO, saved_err, err_file, said, sizeof said);
    return status;
}

static int sign_url(const char *url)
{
    return sign("--user", "Frontend_1", "--secret-file", secret_path, url, NULL);
}

/* The value of a parameter in what was printed; it holds no escapes. */
static struct str find_value(const char *name)
{
    struct str at = {strstr(out, name), 0};
    assert_non_null(at.at);
    at.at += strlen(name);
    at.n = strcspn(at.at, "&#\n");
    return at;
}

static void the_signature_matches_the_known_answers(void **state)
{
    assert_int_equal(sign_url("http://h:8080/api/login"), 0);
    char hash[SIGNED_HASH_SIZE];
    signed_hash(STR("Frontend_1"), find_value("Nonce="), STR("s3cret"), hash);
    assert_true(str_eq(find_value("User="), STR("Frontend_1")));
    assert_true(str_eq(find_value("Hash="), str_of(hash)));
}

static void every_signature_has_a_new_nonce(void **state)
{
    char first[sizeof out];
    assert_int_equal(sign_url("/x"), 0);
    strcpy(first, out);
    assert_int_equal(sign_url("/x"), 0);
    assert_string_not_equal(first, out);
}

static void the_url_around_it_stays(void **state)
{
    static const struct {
        const char *url, *start, *end;
    } cases[] = {
        {"http://h:8080", "http://h:8080/?User=", "\n"},
        {"http://h?a=1", "http://h/?a=1&User=", "\n"},
        {"http://h/p?a=1&b=%20", "http://h/p?a=1&b=%20&User=", "\n"},
        {"http://h/p?a=1&", "http://h/p?a=1&User=", "\n"},
        {"http://h/p?", "http://h/p?User=", "\n"},
        {"http://h/p#part?x", "http://h/p?User=", "#part?x\n"},
        {"http://h/p?a#b", "http://h/p?a&User=", "#b\n"},
        {"/api/me", "/api/me?User=", "\n"},
        {"https://[::1]/x", "https://[::1]/x?User=", "\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(sign_url(cases[i].url), 0);
        assert_memory_equal(out, cases[i].start, strlen(cases[i].start));
        assert_string_equal(out + strlen(out) - strlen(cases[i].end), cases[i].end);
        assert_string_equal(said, "");
    }
}

static void a_user_name_is_encoded(void **state)
{
    assert_int_equal(sign("--user", "A&B=\xc3\xa9", "--secret-file", secret_path, "/x", NULL), 0);
    assert_true(str_eq(find_value("User="), STR("A%26B%3D%C3%A9")));
}

/* Nothing is printed, and one line says why. */
static void assert_refused(int status, int expected)
{
    assert_int_equal(status, expected);
    assert_string_equal(out, "");
    assert_memory_equal(said, "parley: ", 8);
    assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
}

static void wrong_usage_is_one_line_and_exit_2(void **state)
{
    static const char *const urls[] = {"",
                                       "h/p",
                                       "http://",
                                       "http:///p",
                                       "http://h/a b",
                                       "http://h/\xc3\xa9",
                                       "http://h\n",
                                       "://h/",
                                       "http://h/?User=a",
                                       "http://h/?a=b&Nonce=",
                                       "http://h/?Hash"};
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++)
        assert_refused(sign_url(urls[i]), 2);
    assert_refused(sign("--user", "a", "/x", NULL), 2);
    assert_refused(sign("--secret-file", secret_path, "/x", NULL), 2);
    assert_refused(sign("--user", "", "--secret-file", secret_path, "/x", NULL), 2);
    assert_refused(sign("--user", "a", "--secret-file", secret_path, NULL), 2);
    assert_refused(sign("--user", "a", "--secret-file", secret_path, "/x", "/y", NULL), 2);
    assert_refused(sign("--user", "a", "--secret-file", secret_path, "--method", "get", "/x", NULL),
                   2);
    assert_refused(sign("--secret", "s", "/x", NULL), 2);
}

static void a_secret_that_cannot_be_read_is_exit_1(void **state)
{
    assert_refused(sign("--user", "a", "--secret-file", "/nonexistent/s", "/x", NULL), 1);
}

static void help_is_printed_and_fine(void **state)
{
    assert_int_equal(sign("--help", NULL), 0);
    assert_non_null(strstr(out, "usage: parley sign"));
    assert_non_null(strstr(out, "--secret-file"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_signature_matches_the_known_answers),
        cmocka_unit_test(every_signature_has_a_new_nonce),
        cmocka_unit_test(the_url_around_it_stays),
        cmocka_unit_test(a_user_name_is_encoded),
        cmocka_unit_test(wrong_usage_is_one_line_and_exit_2),
        cmocka_unit_test(a_secret_that_cannot_be_read_is_exit_1),
        cmocka_unit_test(help_is_printed_and_fine),
    };
    return cmocka_run_group_tests(tests, begin_all, end_all);
}

/* SPDX-License-Identifier: MIT
 * test_base_config.c - shared/base/config.h: flag > environment > file > default, and every wrong
 * setting is one clear line. What is written to standard error is caught in a file. */
#include "shared/base/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const struct config_option options[] = {
    {.name = "listen",
     .kind = CONFIG_TEXT,
     .metavar = "ADDR",
     .fallback = "127.0.0.1:0",
     .help = "Where to listen."},
    {.name = "threads",
     .kind = CONFIG_NUMBER,
     .metavar = "N",
     .fallback = "1",
     .min = 1,
     .max = 64,
     .help = "How many loops."},
    {.name = "auth-sha1", .kind = CONFIG_BOOL, .fallback = "on", .help = "Whether SHA-1 passes."},
    {.name = "log-format",
     .kind = CONFIG_TEXT,
     .choices = "json|text",
     .fallback = "text",
     .help = "How lines look."},
    {.name = "redis", .kind = CONFIG_TEXT, .metavar = "URL", .help = "Where Redis is."},
    {0},
};

static const struct config_group all = {"Flags", options};
static const struct config_group *const groups[] = {&all, NULL};

static char path[] = "/tmp/test_base_config.XXXXXX";
static char said[4096];
static struct config config;

static int begin(void **state)
{
    strcpy(path + sizeof path - 7, "XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    static const char *const names[] = {"PARLEY_LISTEN",     "PARLEY_THREADS", "PARLEY_AUTH_SHA1",
                                        "PARLEY_LOG_FORMAT", "PARLEY_REDIS",   "PARLEY_CONFIG"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        unsetenv(names[i]);
    return 0;
}

static int end(void **state)
{
    config_fini(&config);
    unlink(path);
    return 0;
}

static void write_file(struct str text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text.at, 1, text.n, file), text.n);
    fclose(file);
}

/* Reads the settings and keeps what was said about them in `said`. Ends with NULL. */
static enum config_outcome read_flags(const char *first, ...)
{
    char *argv[16];
    int argc = 0;
    va_list args;
    va_start(args, first);
    for (const char *arg = first; arg != NULL; arg = va_arg(args, const char *))
        argv[argc++] = (char *)arg;
    va_end(args);
    config_fini(&config);
    FILE *stand_in = tmpfile();
    int true_stderr = dup(STDERR_FILENO);
    fflush(stderr);
    dup2(fileno(stand_in), STDERR_FILENO);
    enum config_outcome outcome = config_read(&config, groups, "serve", argc, argv);
    fflush(stderr);
    dup2(true_stderr, STDERR_FILENO);
    close(true_stderr);
    rewind(stand_in);
    said[fread(said, 1, sizeof said - 1, stand_in)] = 0;
    fclose(stand_in);
    return outcome;
}

/* A refusal is exactly one line, from parley, that holds `part`. */
static void assert_refused(enum config_outcome outcome, const char *part)
{
    assert_int_equal(outcome, CONFIG_WRONG);
    assert_memory_equal(said, "parley: ", 8);
    assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
    if (strstr(said, part) == NULL)
        fail_msg("'%s' is not in: %s", part, said);
}

static void defaults_hold_when_nothing_is_said(void **state)
{
    assert_int_equal(read_flags(NULL), CONFIG_READY);
    assert_string_equal(config_text(&config, "listen"), "127.0.0.1:0");
    assert_string_equal(config_get(&config, "listen")->source, "default");
    assert_int_equal(config_number(&config, "threads"), 1);
    assert_int_equal(config_number(&config, "auth-sha1"), 1);
    assert_null(config_text(&config, "redis"));
    assert_null(config_get(&config, "redis")->source);
    assert_int_equal(config.argument_n, 0);
    assert_string_equal(said, "");
}

static void a_flag_beats_the_environment_beats_the_file_beats_the_default(void **state)
{
    write_file(STR("threads: 2\nlisten: file:1\n"));
    assert_int_equal(read_flags("--config", path, NULL), CONFIG_READY);
    assert_int_equal(config_number(&config, "threads"), 2);
    assert_string_equal(config_get(&config, "threads")->source, "file");
    setenv("PARLEY_THREADS", "3", 1);
    assert_int_equal(read_flags("--config", path, NULL), CONFIG_READY);
    assert_int_equal(config_number(&config, "threads"), 3);
    assert_string_equal(config_get(&config, "threads")->source, "environment");
    assert_string_equal(config_text(&config, "listen"), "file:1");
    assert_int_equal(read_flags("--threads", "4", "--config", path, NULL), CONFIG_READY);
    assert_int_equal(config_number(&config, "threads"), 4);
    assert_string_equal(config_get(&config, "threads")->source, "flag");
}

static void the_file_may_be_named_by_the_environment(void **state)
{
    write_file(STR("auth-sha1: off\n"));
    setenv("PARLEY_CONFIG", path, 1);
    assert_int_equal(read_flags(NULL), CONFIG_READY);
    assert_int_equal(config_number(&config, "auth-sha1"), 0);
}

static void an_empty_variable_counts_as_unset(void **state)
{
    setenv("PARLEY_THREADS", "", 1);
    setenv("PARLEY_CONFIG", "", 1);
    assert_int_equal(read_flags(NULL), CONFIG_READY);
    assert_int_equal(config_number(&config, "threads"), 1);
}

static void flags_come_in_every_usual_form(void **state)
{
    assert_int_equal(read_flags("--threads=5", "--auth-sha1", "off", "file.txt", "--redis=", NULL),
                     CONFIG_READY);
    assert_int_equal(config_number(&config, "threads"), 5);
    assert_int_equal(config_number(&config, "auth-sha1"), 0);
    assert_string_equal(config_text(&config, "redis"), "");
    assert_int_equal(config.argument_n, 1);
    assert_string_equal(config.arguments[0], "file.txt");
    assert_int_equal(read_flags("--auth-sha1=no", "--auth-sha1", "http://x/", NULL), CONFIG_READY);
    assert_int_equal(config_number(&config, "auth-sha1"), 1); /* the last one counts */
    assert_string_equal(config.arguments[0], "http://x/");
}

static void a_group_that_is_named_twice_counts_once(void **state)
{
    static const struct config_option rows[] = {
        {.name = "idle", .kind = CONFIG_NUMBER, .fallback = "7", .max = 9}, {0}};
    static const struct config_group more = {"More", rows};
    const struct config_group *const named[] = {&all, &more, &all, NULL};
    config_fini(&config);
    assert_int_equal(
        config_read(&config, named, "serve", 2, (char *[]){(char *)"--idle", (char *)"3"}),
        CONFIG_READY);
    size_t n = 0;
    while (config.options[n] != NULL)
        n++;
    assert_int_equal(n, sizeof options / sizeof *options); /* the last one of them is the end */
    assert_int_equal(config_number(&config, "idle"), 3);
    assert_string_equal(config_text(&config, "listen"), "127.0.0.1:0");
    assert_true(config_has(&config, "idle"));
    assert_false(config_has(&config, "idl"));
}

static void help_beats_what_else_is_there(void **state)
{
    assert_int_equal(read_flags("--threads", "x", "--help", NULL), CONFIG_HELP);
    assert_int_equal(read_flags("-h", NULL), CONFIG_HELP);
    assert_string_equal(said, "");
}

static void wrong_flags_are_named(void **state)
{
    assert_refused(read_flags("--thread", "2", NULL), "--thread");
    assert_refused(read_flags("--thread", "2", NULL), "parley serve --help");
    assert_refused(read_flags("--configuration", "x", NULL), "--configuration");
    assert_refused(read_flags("--threads", NULL), "--threads needs a value");
    assert_refused(read_flags("--config", NULL), "--config needs a value");
    assert_refused(read_flags("--redis", "--threads", "2", NULL), "--redis needs a value");
}

static void wrong_values_are_named_with_their_range_and_source(void **state)
{
    assert_refused(read_flags("--threads", "0", NULL), "1 to 64, not '0'\n");
    assert_refused(read_flags("--threads", "65", NULL), "1 to 64");
    assert_refused(read_flags("--threads", "2x", NULL), "whole number");
    assert_refused(read_flags("--threads", "-1", NULL), "whole number");
    assert_refused(read_flags("--auth-sha1=maybe", NULL), "on or off");
    assert_refused(read_flags("--log-format", "jsno", NULL),
                   "json or text, not 'jsno': did you mean json?\n");
    assert_refused(read_flags("--log-format", "json|text", NULL), "json or text");
    setenv("PARLEY_THREADS", "many", 1);
    assert_refused(read_flags(NULL), "(PARLEY_THREADS in the environment)");
}

static void wrong_files_are_named_with_the_line(void **state)
{
    static const struct {
        struct str text;
        const char *part;
    } cases[] = {
        {STR("threads: 1\nthread: 2\n"), "line 2"},
        {STR("threads: [1]\n"), "line 1"},
        {STR("[a, b]: 1\n"), "line 1"},
        {STR("- a\n"), "option: value"},
        {STR("threads: 99\n"), "(in the configuration file)"},
        {STR("listne: x\n"), "line 1: unknown option 'listne': did you mean listen?"},
        {STR("s3cret: x\n"), "line 1: unknown option (parley serve --help lists them)"},
        {STR("threads: {a: 1}\n"), "line 1: threads takes a single plain value"},
        {STR("threads: 1\n\tx: 2\n"), "line 2"},
        {STR("listen: \"a\\0b\"\n"), "line 1"},
        {STR("threads: [[[[[[[[[1]]]]]]]]]\n"), "line 1: the nesting is too deep"},
        {STR("threads: 1\n---\nthreads: 2\n"), "line 2: a second YAML document"},
        {STR("listen: \xff\xfe\n"), path},
        {STR("a: *b\n"), path},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_file(cases[i].text);
        assert_refused(read_flags("--config", path, NULL), cases[i].part);
    }
    assert_refused(read_flags("--config", "/nonexistent/x.yaml", NULL), "/nonexistent/x.yaml");
    assert_refused(read_flags("--config", "/", NULL), "/");
    write_file(STR(""));
    assert_int_equal(read_flags("--config", path, NULL), CONFIG_READY);
}

static void secrets_are_trimmed_and_must_be_there_whole(void **state)
{
    write_file(STR(" s3cret with spaces \r\n"));
    char *secret = config_read_secret(path);
    assert_string_equal(secret, "s3cret with spaces");
    free(secret);
    FILE *stand_in = tmpfile();
    int true_stderr = dup(STDERR_FILENO);
    dup2(fileno(stand_in), STDERR_FILENO);
    write_file(STR(" \n"));
    char *empty = config_read_secret(path);
    char *missing = config_read_secret("/nonexistent/secret");
    char *folder = config_read_secret("/");
    write_file(STR("a\0b"));
    char *with_nul = config_read_secret(path);
    static char large[5000];
    memset(large, 'x', sizeof large);
    write_file((struct str){large, sizeof large});
    char *too_large = config_read_secret(path);
    dup2(true_stderr, STDERR_FILENO);
    close(true_stderr);
    fclose(stand_in);
    assert_null(empty);
    assert_null(missing);
    assert_null(folder);
    assert_null(with_nul);
    assert_null(too_large);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(defaults_hold_when_nothing_is_said),
        TEST(a_flag_beats_the_environment_beats_the_file_beats_the_default),
        TEST(the_file_may_be_named_by_the_environment),
        TEST(an_empty_variable_counts_as_unset),
        TEST(flags_come_in_every_usual_form),
        TEST(a_group_that_is_named_twice_counts_once),
        TEST(help_beats_what_else_is_there),
        TEST(wrong_flags_are_named),
        TEST(wrong_values_are_named_with_their_range_and_source),
        TEST(wrong_files_are_named_with_the_line),
        TEST(secrets_are_trimmed_and_must_be_there_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

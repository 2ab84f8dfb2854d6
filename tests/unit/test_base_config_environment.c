/* SPDX-License-Identifier: MIT
 * test_base_config_environment.c - shared/base/config_environment.h: a variable that looks like a
 * setting and is none ends the start with the nearest name, and what others take is left alone. */
#include "shared/base/config_environment.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const struct config_group own = {
    "Flags", (const struct config_option[]){{.name = "listen", .kind = CONFIG_TEXT},
                                            {.name = "lease-seconds", .kind = CONFIG_NUMBER},
                                            {.name = "redis", .kind = CONFIG_TEXT},
                                            {0}}};
static const struct config_group of_others = {
    "Flags", (const struct config_option[]){{.name = "secret-file", .kind = CONFIG_TEXT},
                                            {.name = "url", .kind = CONFIG_TEXT},
                                            {.name = "llm", .kind = CONFIG_TEXT},
                                            {0}}};
static const struct config_group *const groups[] = {&own, NULL};
static const struct config_group *const all[] = {&of_others, &own, &of_others, NULL};

static char said[1 << 16];

static int begin(void **state)
{
    clearenv();
    setenv("HOME", "/", 1);
    setenv("PARLEYS", "1", 1);
    return 0;
}

/* What is reported of the environment, of a command with `named`, and whether it may run. */
static const char *report_of(const struct config_group *const *named, bool *ret_is_good)
{
    struct config config;
    FILE *stand_in = tmpfile();
    int true_stderr = dup(STDERR_FILENO);
    assert_int_equal(config_read(&config, named, "serve", 0, NULL), CONFIG_READY);
    fflush(stderr);
    dup2(fileno(stand_in), STDERR_FILENO);
    *ret_is_good = config_check_environment(&config, all, "serve");
    fflush(stderr);
    dup2(true_stderr, STDERR_FILENO);
    close(true_stderr);
    rewind(stand_in);
    said[fread(said, 1, sizeof said - 1, stand_in)] = 0;
    fclose(stand_in);
    config_fini(&config);
    return said;
}

/* Of one variable that ends the command, after one line, or that does not, without any. */
static const char *refusal_of(const char *name, const char *value)
{
    bool is_good;
    setenv(name, value, 1);
    report_of(groups, &is_good);
    unsetenv(name);
    assert_false(is_good);
    assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
    return said;
}

static void assert_left_alone(const char *name, const char *value)
{
    bool is_good;
    setenv(name, value, 1);
    assert_string_equal(report_of(groups, &is_good), "");
    unsetenv(name);
    assert_true(is_good);
}

static void settings_of_any_command_are_no_matter(void **state)
{
    static const char *const names[] = {"PARLEY_LISTEN", "PARLEY_SECRET_FILE", "PARLEY_LLM"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_left_alone(names[i], "x");
    assert_left_alone("PARLEY_CONFIG", "");
}

static void a_misspelt_one_ends_the_start_with_the_nearest_name(void **state)
{
    static const char *const cases[][2] = {
        {"PARLEY_LEASE_SECOND", "PARLEY_LEASE_SECONDS"},
        {"PARLEY_LESE_SECONDS", "PARLEY_LEASE_SECONDS"},
        {"PARLEY_lease_seconds", "PARLEY_LEASE_SECONDS"},
        {"PARLEY_LEASE-SECONDS", "PARLEY_LEASE_SECONDS"},
        {"PARLEY_LEASE", "PARLEY_LEASE_SECONDS"},
        {"PARLEY_SECONDS", "PARLEY_LEASE_SECONDS"},
        {"PARLEY_REDIS_URL", "PARLEY_REDIS"},
        {"PARLEY_SECRETFILE", "PARLEY_SECRET_FILE"},
        {"PARLEY_LISTNE", "PARLEY_LISTEN"},
        {"PARLEY_LML", "PARLEY_LLM"},
        {"PARLEY_Rdeis", "PARLEY_REDIS"},
        {"PARLEY_LURL", "PARLEY_URL"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[256];
        snprintf(line, sizeof line,
                 "parley: the environment variable '%s' is not a setting: did you mean %s? If not, "
                 "unset it (see parley serve --help)\n",
                 cases[i][0], cases[i][1]);
        assert_string_equal(refusal_of(cases[i][0], "1"), line);
    }
}

static void one_that_is_near_none_ends_the_start_too(void **state)
{
    static const char *const names[] = {"PARLEY_QWXZQWXZ", "PARLEY_", "PARLEY_X", "PARLEY_LSTNERD"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_non_null(strstr(refusal_of(names[i], "1"), names[i]));
        assert_non_null(strstr(said, "is not a setting: unset it (see parley serve --help)\n"));
    }
}

static void an_empty_variable_counts_as_unset(void **state)
{
    assert_left_alone("PARLEY_LEASE_SECOND", "");
}

static void what_dev_and_tests_take_is_left_alone(void **state)
{
    static const char *const names[] = {"PARLEY_BIN", "PARLEY_TEST_SHARDS", "PARLEY_SEED",
                                        "PARLEY_NIGHTLY", "PARLEY_SHOW"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_left_alone(names[i], "1");
}

static void a_port_of_dev_is_reported_where_it_may_be_mistaken_for_a_setting(void **state)
{
    static const struct config_group *const engine[] = {&of_others, NULL};
    bool is_good;
    setenv("PARLEY_PORT", "9000", 1);
    assert_non_null(strstr(report_of(groups, &is_good), "did you mean PARLEY_LISTEN?"));
    assert_true(is_good);
    assert_string_equal(report_of(engine, &is_good), "");
}

static void what_a_cluster_of_containers_adds_for_a_service_is_left_alone(void **state)
{
    static const char *const names[][2] = {{"PARLEY_SERVICE_HOST", "10.0.0.1"},
                                           {"PARLEY_SERVICE_PORT", "8080"},
                                           {"PARLEY_SERVICE_PORT_HTTP", "8080"},
                                           {"PARLEY_PORT", "tcp://10.0.0.1:8080"},
                                           {"PARLEY_PORT_8080_TCP", "tcp://10.0.0.1:8080"},
                                           {"PARLEY_PORT_8080_TCP_PROTO", "tcp"},
                                           {"PARLEY_PORT_8080_TCP_PORT", "8080"},
                                           {"PARLEY_PORT_8080_TCP_ADDR", "10.0.0.1"},
                                           {"PARLEY_REDIS_SERVICE_HOST", "10.0.0.2"},
                                           {"PARLEY_REDIS_SERVICE_PORT_REDIS_TLS", "6379"},
                                           {"PARLEY_REDIS_PORT", "tcp://10.0.0.2:6379"},
                                           {"PARLEY_REDIS_PORT_6379_TCP_ADDR", "10.0.0.2"},
                                           {"PARLEY_DNS_PORT_53_UDP", "udp://10.0.0.3:53"},
                                           {"PARLEY_SIGNAL_PORT_9000_SCTP_PROTO", "sctp"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_left_alone(names[i][0], names[i][1]);
}

static void what_only_resembles_a_service_ends_the_start(void **state)
{
    static const char *const names[] = {"PARLEY_SERVICE_HOSTS", "PARLEY_SERVICE_PORTS",
                                        "PARLEY_PORT_TCP", "PARLEY_PORT_80_TCP_NAME",
                                        "PARLEY_PROT"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        refusal_of(names[i], "8080");
}

static void names_of_any_length_and_bytes_are_one_line_each(void **state)
{
    static char name[100001];
    memset(name, 'A', sizeof name - 1);
    memcpy(name, "PARLEY_", 7);
    assert_true(strlen(refusal_of(name, "1")) < 300);
    refusal_of("PARLEY_LIS\n\033[2JTEN\xff\xe2\x80\xae", "1");
    assert_null(strchr(said, '\033'));
    assert_null(strstr(said, "\xff"));
    assert_null(strstr(said, "\xe2\x80\xae"));
}

#define TEST(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(settings_of_any_command_are_no_matter),
        TEST(a_misspelt_one_ends_the_start_with_the_nearest_name),
        TEST(one_that_is_near_none_ends_the_start_too),
        TEST(an_empty_variable_counts_as_unset),
        TEST(what_dev_and_tests_take_is_left_alone),
        TEST(a_port_of_dev_is_reported_where_it_may_be_mistaken_for_a_setting),
        TEST(what_a_cluster_of_containers_adds_for_a_service_is_left_alone),
        TEST(what_only_resembles_a_service_ends_the_start),
        TEST(names_of_any_length_and_bytes_are_one_line_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

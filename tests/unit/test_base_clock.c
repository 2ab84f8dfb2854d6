/* SPDX-License-Identifier: MIT
 * test_base_clock.c - shared/base/clock.h and shared/base/err.h: small tables and small promises.
 */
#include "shared/base/clock.h"
#include "shared/base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void the_monotonic_clock_never_goes_back(void **state)
{
    uint64_t last = clock_mono_us();
    for (int i = 0; i < 10000; i++) {
        uint64_t now = clock_mono_us();
        assert_true(now >= last);
        last = now;
    }
    assert_true(clock_mono_ms() >= last / 1000);
}

static void the_wall_clock_is_in_this_century(void **state)
{
    assert_true(clock_wall_s() > 1735689600);  /* 2025 */
    assert_true(clock_wall_s() < 4102444800u); /* 2100 */
}

static void every_error_has_a_status_a_code_and_a_text(void **state)
{
    for (int i = 0; i < ERR_NR; i++) {
        const struct err_info *info = err_info((enum err)i);
        assert_true(info->status >= 200 && info->status < 600);
        assert_true(strlen(info->code) > 0 && strlen(info->text) > 0);
        if (info->status != 500)
            assert_string_not_equal(err_reason(info->status), "Internal Server Error");
        for (int j = 0; j < i; j++) /* tokens that have ended are unauthorized, in other words */
            if (info->status != 401 || err_info((enum err)j)->status != 401)
                assert_string_not_equal(info->code, err_info((enum err)j)->code);
    }
}

static void an_unknown_error_is_an_internal_one(void **state)
{
    assert_ptr_equal(err_info((enum err)999), err_info(ERR_INTERNAL));
    assert_ptr_equal(err_info((enum err) - 1), err_info(ERR_INTERNAL));
    assert_string_equal(err_reason(599), "Internal Server Error");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_monotonic_clock_never_goes_back),
        cmocka_unit_test(the_wall_clock_is_in_this_century),
        cmocka_unit_test(every_error_has_a_status_a_code_and_a_text),
        cmocka_unit_test(an_unknown_error_is_an_internal_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

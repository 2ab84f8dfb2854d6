/* SPDX-License-Identifier: MIT
 *
 * report: prints what the modes measured, as a table for people or as one line of JSON for scripts.
 * What is not known is "-" in the table and null in JSON. To standard output.
 */
#ifndef PARLEY_BENCH_REPORT_H
#define PARLEY_BENCH_REPORT_H

#include "services/bench/bench.h"

const char *bench_mode_name(enum bench_mode mode);

/* Both return false when standard output takes no more, with a line on standard error. */
bool bench_report_table(const struct bench *bench, const struct bench_results *results) must_check;
bool bench_report_json(const struct bench *bench, const struct bench_results *results) must_check;

#endif

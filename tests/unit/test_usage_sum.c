/* SPDX-License-Identifier: Apache-2.0 */
/* test_usage_sum.c - the usage of many jobs, added up within a window */
#include <errno.h>
#include <math.h>

#include "client/usage_sum.h"
#include "shared/clock.h"
#include "shared/json_read.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define HOUR (3600 * USEC_PER_SEC)
#define NOW (UINT64_C(1795000000) * USEC_PER_SEC)

static double part(uint64_t submitted_us, uint64_t started_us, uint64_t ended_us)
{
    json_t *job = json_pack("{s:I,s:I,s:I}", "submitted_us", (json_int_t)submitted_us, "started_us",
                            (json_int_t)started_us, "ended_us", (json_int_t)ended_us);
    double of = usage_part(job, NOW - 10 * HOUR, NOW);

    json_decref(job);
    return of;
}

TEST(test_part_of_a_job_in_the_window)
{
    static const struct {
        int submitted_h, started_h, ended_h; /* before now; -1: it has not */
        double part;
    } table[] = {
        { 30, 20, 12, 0 },     /* over before */
        { 30, 20, 5, 1. / 3 }, /* five of fifteen hours */
        { 30, 20, -1, 0.5 },   /* it runs still */
        { 9, 8, 1, 1 },        /* all of it */
        { 10, 10, 10, 1 },     /* it took no time */
        { 20, -1, -1, 0.5 },   /* it starts since then */
        { 30, 20, 20, 0 },     /* no time, before */
    };

    for (size_t i = 0; i < ELEMENTS(table); i++) {
        uint64_t at[3] = { 0, 0, 0 };
        const int hours[3] = { table[i].submitted_h, table[i].started_h, table[i].ended_h };

        for (int k = 0; k < 3; k++)
            at[k] = hours[k] < 0 ? 0 : NOW - (uint64_t)hours[k] * HOUR;
        assert_true(fabs(part(at[0], at[1], at[2]) - table[i].part) < 1e-9);
    }
}

TEST(test_since_is_read)
{
    uint64_t us = 0;

    assert_int_equal(usage_since_read("7d", NOW, &us), 0);
    assert_int_equal(us, NOW - 168 * HOUR);
    assert_int_equal(usage_since_read("90m", NOW, &us), 0);
    assert_int_equal(us, NOW - 3 * HOUR / 2);
    assert_int_equal(usage_since_read("2026-11-01T12:00:00Z", NOW, &us), 0);
    assert_int_equal(us, UINT64_C(1793534400) * USEC_PER_SEC);
    assert_int_equal(usage_since_read("2026-11-01", NOW, &us), 0); /* in some time zone */
    assert_true(us >= UINT64_C(1793448000) * USEC_PER_SEC);
    assert_true(us <= UINT64_C(1793534400) * USEC_PER_SEC);
    assert_int_equal(usage_since_read("99999d", NOW, &us), 0); /* before all time */
    assert_int_equal(us, 0);
}

TEST(test_since_is_refused)
{
    static const char *const wrong[] = { "",    "soon", "2026", "2026-13-01", "2026-11-01x",
                                         "-1d", "1w" };
    uint64_t us = 7;

    for (size_t i = 0; i < ELEMENTS(wrong); i++)
        assert_int_equal(usage_since_read(wrong[i], NOW, &us), -EINVAL);
    assert_int_equal(usage_since_read("2030-01-01T00:00:00Z", NOW, &us), -ERANGE);
    assert_int_equal(us, 7);
}

TEST(test_sums_by_name)
{
    struct usage_sum *sum = usage_sum_new();
    json_t *usage = json_pack("{s:{s:f,s:f},s:{s:f}}", "useful", "cpu_core_seconds", 3600.0,
                              "gpu_seconds", 60.0, "idle", "gpu_seconds", 30.0);
    json_t *facts = json_pack("{s:s}", "state", "running");
    json_t *rows;
    const json_t *of;

    usage_sum_add(sum, "b", 1, usage, 1, facts);
    usage_sum_add(sum, "a", 2, usage, 0.5, NULL);
    usage_sum_add(sum, "b", 1, usage, 0.25, NULL);
    rows = usage_sum_rows(sum, "user", true);
    assert_int_equal(json_array_size(rows), 2);
    assert_string_equal(json_text(json_array_get(rows, 0), "user"), "a");
    of = json_array_get(rows, 1);
    assert_int_equal(json_u64(of, "jobs"), 2);
    assert_string_equal(json_text(of, "state"), "running");
    of = json_object_get(json_object_get(of, "usage"), "useful");
    assert_true(fabs(json_number_value(json_object_get(of, "cpu_core_seconds")) - 4500) < 1e-6);
    assert_true(fabs(json_number_value(json_object_get(of, "gpu_seconds")) - 75) < 1e-6);
    json_decref(rows);
    json_decref(facts);
    json_decref(usage);
    assert_null(usage_sum_free(sum));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_history.c - spans to bins, points of a job's progress, and the parts of a point */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "scheduler/history/bins.h"
#include "scheduler/history/sample.h"
#include "scheduler/history/series.h"
#include "scheduler/nodes/progress.h"
#include "shared/macro.h"
#include "tests/unit/store_fixture.h"
#include "tests/unit/test.h"

static void expect_means(const struct bins *bins, uint32_t series, const double *want)
{
    double means[BINS_MAX];

    bins_means(bins, series, means);
    for (uint32_t i = 0; i < bins->n; i++)
        if (fabs(means[i] - want[i]) > 1e-9)
            fail_msg("series %u, bin %u is %g, not %g", series, i, means[i], want[i]);
}

TEST(test_bins_have_the_mean_of_their_time)
{
    struct bins bins;

    bins_init(&bins, 1000, 1040, 4, 2);
    bins_add(&bins, 0, 1005, 1035, 2);    /* half of the first, two whole, half of the last */
    bins_add(&bins, 0, 900, 1001, 10);    /* a tenth, the rest is before */
    bins_add(&bins, 0, 1030, 2000, 4);    /* from a border to beyond the end */
    bins_add(&bins, 0, 500, 1000, 9);     /* before */
    bins_add(&bins, 0, 1040, 1050, 9);    /* behind */
    bins_add(&bins, 0, 1020, 1020, 9);    /* no time */
    bins_add(&bins, 1, 0, UINT64_MAX, 7); /* all of it */
    bins_add(&bins, 1, 1012, 1014, 5);    /* within one */
    expect_means(&bins, 0, (double[]){ 2, 2, 2, 5 });
    expect_means(&bins, 1, (double[]){ 7, 8, 7, 7 });
    bins_done(&bins);
}

/* Against sums over each microsecond. */
TEST(test_bins_agree_with_counting)
{
    struct bins bins;
    double want[7] = { 0 };
    uint64_t seed = 1;

    bins_init(&bins, 100, 100 + 7 * 11, 7, 1);
    for (int i = 0; i < 500; i++) {
        uint64_t from, to;

        seed = seed * UINT64_C(6364136223846793005) + 1;
        from = 90 + (seed >> 33) % 110;
        to = from + (seed >> 40) % 60;
        bins_add(&bins, 0, from, to, i % 5);
        for (uint64_t us = from; us < to; us++)
            if (us >= 100 && us < 177)
                want[(us - 100) / 11] += (i % 5) / 11.0;
    }
    expect_means(&bins, 0, want);
    bins_done(&bins);
}

static struct series_point point_at(uint64_t second, double done, double rate, double cost)
{
    return (struct series_point){ second * USEC_PER_SEC, done, rate, cost };
}

TEST(test_a_series_stays_bounded_and_keeps_all_its_time)
{
    struct series series = { .n = 0 };
    uint64_t n = 0;

    for (uint64_t at = 1; at <= 100000; at += series.period_us / USEC_PER_SEC) {
        struct series_point point = point_at(at, (double)at / 100000, 3, (double)(n++ % 2));

        assert_true(series_add(&series, &point, 64));
        assert_false(series_add(&series, &point, 64)); /* no later than the last one */
        assert_in_range(series.n, 1, 64);
    }
    assert_true(series.period_us > SERIES_PERIOD_US);
    assert_in_range(series.n, 32, 64);
    assert_true(series.points[0].time_us < 4000 * USEC_PER_SEC);
    assert_true(series.points[series.n - 1].time_us > 96000 * USEC_PER_SEC);
    for (size_t i = 0; i + 1 < series.n; i++) {
        assert_true(series.points[i].time_us < series.points[i + 1].time_us);
        assert_true(series.points[i].done < series.points[i + 1].done);
        assert_true(fabs(series.points[i].rate - 3) < 1e-9);
    }
    assert_true(fabs(series.points[0].cost - 0.5) < 0.3); /* the mean of many */
    series_done(&series);
}

TEST(test_what_nobody_knows_stays_unknown)
{
    const struct series_point points[] = { point_at(1, NAN, 4, NAN), point_at(2, NAN, NAN, NAN),
                                           point_at(3, 0.5, NAN, 2), point_at(4, NAN, NAN, NAN),
                                           point_at(5, 1, 1, 1) };
    struct series series = { .n = 0 };

    for (size_t i = 0; i < ELEMENTS(points); i++)
        assert_true(series_add(&series, &points[i], 4));
    assert_int_equal(series.n, 3);
    assert_true(isnan(series.points[0].done) && series.points[0].rate == 4);
    assert_true(series.points[1].done == 0.5 && isnan(series.points[1].rate));
    assert_true(series.points[1].cost == 2);
    series_done(&series);
}

TEST(test_points_are_read_back)
{
    const struct series_point points[] = { point_at(1, NAN, 4.25, NAN),
                                           point_at(2, 0.125, NAN, -3e-7) };
    static const char *const bad[] = { "",
                                       "{}",
                                       "[1]",
                                       "[[1,2,3]]",
                                       "[[-1,0,0,0]]",
                                       "[[1,\"a\",0,0]]",
                                       "[[2,0,0,0],[2,0,0,0]]",
                                       "[[1.5,0,0,0]]" };
    struct series series = { .n = 0 }, back = { .n = 0 };
    _cleanup_free_ char *text = NULL;

    for (size_t i = 0; i < ELEMENTS(points); i++)
        (void)series_add(&series, &points[i], 64);
    text = series_to_text(&series);
    assert_int_equal(series_from_text(text, &back), 0);
    assert_int_equal(back.n, 2);
    assert_true(isnan(back.points[0].done) && back.points[0].rate == 4.25);
    assert_true(back.points[1].done == 0.125 && fabs(back.points[1].cost + 3e-7) < 1e-15);
    for (size_t i = 0; i < ELEMENTS(bad); i++) {
        assert_int_equal(series_from_text(bad[i], &back), -EINVAL);
        assert_int_equal(back.n, 0);
    }
    series_done(&series);
    series_done(&back);
}

/* --- what a point is made of --- */

struct sampled {
    struct cluster *cluster;
    struct job *job;
    struct progresses progresses;
    struct sampling sampling;
    struct series names;
};

static void tell(struct sampled *s, const char *processes)
{
    json_t *list = json_loads(processes, 0, NULL);

    assert_non_null(list);
    progresses_take(&s->progresses, "n1", list, start.now_us);
    json_decref(list);
}

/* Trainers 0 and 1 say that. */
static void both_tell(struct sampled *s, const char *first, const char *second)
{
    const struct process *process;
    const char *of[] = { first, second };
    char text[600] = "[";

    DL_FOREACH2(s->job->processes, process, job_next)
    {
        size_t used = strlen(text);

        if (process->role == 1)
            (void)snprintf(text + used, sizeof text - used,
                           "%s{\"job_id\": %u, \"role\": \"trainer\", \"index\": %u,"
                           " \"incarnation\": %u, \"progress\": %s}",
                           used > 1 ? "," : "", (unsigned)s->job->id, process->index,
                           (unsigned)process->incarnation, of[process->index]);
    }
    (void)snprintf(text + strlen(text), sizeof text - strlen(text), "]");
    tell(s, text);
}

static bool take(struct sampled *s, uint64_t second, struct series_point *ret)
{
    const struct instant now = { .now_us = start.now_us + second * USEC_PER_SEC,
                                 .wall_us = start.wall_us + second * USEC_PER_SEC };

    return sample_take(&s->sampling, &s->names, s->job, &s->progresses, now, ret);
}

static void begin(struct sampled *s)
{
    *s = (struct sampled){ .cluster = new_cluster() };
    s->job = run_job(s->cluster);
}

static void done(struct sampled *s)
{
    progresses_done(&s->progresses);
    (void)cluster_free(s->cluster);
}

TEST(test_a_job_that_tells_nothing_has_no_point)
{
    struct series_point point;
    struct sampled s;

    begin(&s);
    assert_false(take(&s, 0, &point));
    both_tell(&s, "{\"note\": \"hello\", \"cost\": \"high\"}", "{\"epoch\": 3}");
    assert_false(take(&s, 5, &point));
    done(&s);
}

TEST(test_a_program_tells_steps_and_losses)
{
    struct series_point point;
    struct sampled s;

    begin(&s);
    both_tell(&s, "{\"step\": 100, \"loss\": 2.0}", "{\"step\": 90, \"loss\": 4.0}");
    assert_true(take(&s, 0, &point));
    assert_string_equal(s.names.rate_of, "step");
    assert_string_equal(s.names.cost_name, "loss");
    assert_true(isnan(point.rate) && isnan(point.done) && point.cost == 3);
    both_tell(&s, "{\"step\": 150, \"cost\": 9}", "{\"step\": 140, \"loss\": 1, \"done\": 0.25}");
    assert_true(take(&s, 10, &point));
    assert_true(point.rate == 5); /* that of the furthest; another name is another curve */
    assert_true(point.cost == 1 && point.done == 0.25);
    both_tell(&s, "{\"step\": 3}", "{\"step\": 1}"); /* it began again */
    assert_true(take(&s, 20, &point));
    assert_true(isnan(point.rate));
    done(&s);
}

TEST(test_samples_of_all_processes_are_added_up)
{
    struct series_point point;
    struct sampled s;

    begin(&s);
    both_tell(&s, "{\"samples\": 100}", "{\"samples\": 50}");
    assert_true(take(&s, 0, &point));
    both_tell(&s, "{\"samples\": 200}", "{\"samples\": 150}");
    assert_true(take(&s, 4, &point));
    assert_string_equal(s.names.rate_of, "samples");
    assert_true(point.rate == 50);
    done(&s);
}

TEST(test_records_come_before_what_a_program_counts)
{
    struct edl_error error = { 0 };
    struct series_point point;
    struct sampled s;

    begin(&s);
    assert_int_equal(cluster_set_dataset(s.cluster, s.job, new_queue(s.job, 20), "d1", start,
                                         &error),
                     0);
    both_tell(&s, "{\"samples\": 100, \"cost\": 0.5}", "{}");
    assert_true(take(&s, 0, &point));
    assert_string_equal(s.names.rate_of, "records");
    assert_true(point.done == 0 && point.cost == 0.5);
    assert_true(take(&s, 5, &point));
    assert_true(point.rate == 0);
    done(&s);
}

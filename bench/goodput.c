/* SPDX-License-Identifier: Apache-2.0 */
/* goodput.c - what the arithmetic of the policy goodput costs, by itself
 *
 * Jobs with power curves of 20 to 30 sizes each, four bundles a job: a division decided afresh with
 * weights by recursion and by rank. One event in the ranks (a job's length changes, and the jobs
 * with another rank are found). One fit of each speed model. Times are the thread's own (CPU), so
 * that they say something on a busy machine.
 *
 * Usage: goodput [--json] [--rounds N] */
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bench/samples.h"
#include "scheduler/core/policy/allocate.h"
#include "shared/goodput_fit_allreduce.h"
#include "scheduler/core/speed/fit_pserver.h"
#include "scheduler/core/policy/ranks.h"
#include "scheduler/core/policy/weights.h"
#include "shared/macro.h"
#include "shared/parse.h"
#include "shared/random.h"

#define BUNDLES_PER_JOB 4

struct row {
    const char *key, *what;
    size_t jobs;
    double p50_us, p99_us, most_us;
};

struct jobs {
    struct goodput_curve *curves;     /* owned */
    struct goodput_request *requests; /* owned */
    size_t n;
    double budget;
    uint64_t seed;
};

static double now_us(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static struct row row_of(const char *key, const char *what, size_t jobs, struct samples *samples)
{
    struct sample_figures figures = samples_figures(samples);

    samples_free(samples);
    return (struct row){ .key = key,
                         .what = what,
                         .jobs = jobs,
                         .p50_us = figures.p50,
                         .p99_us = figures.p99,
                         .most_us = figures.most };
}

/* --- jobs --- */

static void draw(struct jobs *jobs, size_t i)
{
    struct goodput_curve *curve = &jobs->curves[i];
    double p = 0.5 + 0.45 * random_unit(&jobs->seed);
    uint32_t last = 0;

    curve->n = 0;
    for (int at = 0; at < GOODPUT_POINTS_MAX; at++) {
        uint32_t k = (uint32_t)lrint(pow(64, at / (GOODPUT_POINTS_MAX - 1.0)));

        if (k > last)
            curve->points[curve->n++] = (struct goodput_point){ k, k, pow(k, p) };
        last = MAX_OF(k, last);
    }
    jobs->requests[i] = (struct goodput_request){
        .id = i + 1,
        .curve = curve,
        .priority_weight = 1,
        .work.remaining_s = exp(11 * random_unit(&jobs->seed)),
        .resize_s = 30,
        .current = (int)random_below(&jobs->seed, 4),
        .required = GOODPUT_NO_POINT,
        .tenant = GOODPUT_NO_TENANT,
    };
}

static struct jobs jobs_new(size_t n)
{
    struct jobs jobs = { .curves = xcalloc(n, sizeof *jobs.curves),
                         .requests = xcalloc(n, sizeof *jobs.requests),
                         .n = n,
                         .budget = BUNDLES_PER_JOB * (double)n,
                         .seed = 1 };

    for (size_t i = 0; i < n; i++)
        draw(&jobs, i);
    return jobs;
}

static void jobs_done(struct jobs *jobs)
{
    free(jobs->curves);
    free(jobs->requests);
}

/* --- what is measured --- */

static struct row bench_afresh(size_t n, size_t rounds, enum goodput_weight_form form)
{
    struct jobs jobs = jobs_new(n);
    struct goodput_target *targets = xcalloc(n, sizeof *targets);
    struct goodput_options options = goodput_defaults;
    struct samples samples = { 0 };
    bool rank = form == GOODPUT_WEIGHTS_RANK;

    options.weights = form;
    for (size_t r = 0; r < MAX_OF(rounds / 20, 10); r++) {
        double begun = now_us();

        (void)goodput_allocate(NULL, &options, jobs.requests, n, NULL, 0, jobs.budget, targets);
        samples_add(&samples, now_us() - begun);
    }
    free(targets);
    jobs_done(&jobs);
    return row_of(rank ? "full_rank" : "full_recursion",
                  rank ? "division afresh, rank" : "division afresh, recursion", n, &samples);
}

static struct row bench_recursion(size_t n, size_t rounds)
{
    struct jobs jobs = jobs_new(n);
    struct goodput_weighed *weighed = xcalloc(n, sizeof *weighed);
    struct samples samples = { 0 };

    for (size_t i = 0; i < n; i++)
        weighed[i] = (struct goodput_weighed){ .id = i,
                                               .curve = &jobs.curves[i],
                                               .priority_weight = 1,
                                               .remaining_s = jobs.requests[i].work.remaining_s };
    for (size_t r = 0; r < MAX_OF(rounds / 20, 10); r++) {
        double begun = now_us();

        goodput_weigh(NULL, weighed, n, jobs.budget);
        samples_add(&samples, now_us() - begun);
    }
    free(weighed);
    jobs_done(&jobs);
    return row_of("recursion", "weights alone, recursion", n, &samples);
}

static void add_before(struct goodput_rank *rank, void *userdata)
{
    *(double *)userdata += goodput_ranks_before(rank);
}

static struct row bench_event(size_t n, size_t rounds)
{
    struct goodput_rank *members = xcalloc(n, sizeof *members);
    struct goodput_ranks ranks;
    struct samples samples = { 0 };
    uint64_t seed = 1;
    double sum = 0;

    goodput_ranks_init(&ranks);
    for (size_t i = 0; i < n; i++)
        goodput_ranks_put(&ranks, &members[i], exp(11 * random_unit(&seed)), 1);
    goodput_ranks_settle(&ranks, add_before, &sum);
    for (size_t r = 0; r < 10 * rounds; r++) {
        size_t i = random_below(&seed, n);
        double length = exp(11 * random_unit(&seed)), begun = now_us();

        goodput_ranks_put(&ranks, &members[i], length, 1);
        goodput_ranks_settle(&ranks, add_before, &sum);
        samples_add(&samples, now_us() - begun);
    }
    for (size_t i = 0; i < n; i++)
        goodput_ranks_remove(&ranks, &members[i]);
    goodput_ranks_done(&ranks);
    free(members);
    return row_of("event", "one event in the ranks", n, &samples);
}

static struct row bench_pserver_fit(size_t rounds)
{
    struct goodput_pserver_fit fit;
    struct samples samples = { 0 };
    uint64_t seed = 1;

    goodput_pserver_init(&fit, 128, false);
    for (size_t r = 0; r < 10 * rounds; r++) {
        struct goodput_pserver_report report = { 1 + (uint32_t)random_below(&seed, 20),
                                                 1 + (uint32_t)random_below(&seed, 20), 0 };
        double theta[GOODPUT_THETAS];
        double begun;

        report.step_s = 0.2 + 0.1 * report.workers / report.pservers + 0.02 * report.workers +
                        0.02 * random_unit(&seed);
        begun = now_us();
        (void)goodput_pserver_add(&fit, &report);
        goodput_pserver_solve(&fit, theta);
        samples_add(&samples, now_us() - begun);
    }
    return row_of("pserver_fit", "report and coefficients, pserver", 1, &samples);
}

static struct row bench_allreduce_fit(size_t rounds)
{
    enum { POINTS = 20 };
    struct samples samples = { 0 };
    uint64_t seed = 1;

    for (size_t r = 0; r < rounds; r++) {
        struct goodput_perf_point points[POINTS];
        struct goodput_perf perf;
        double begun;

        for (size_t i = 0; i < POINTS; i++) {
            uint32_t k = i == 0 ? 3 : 1 + (uint32_t)random_below(&seed, 16);
            double batch = 16 + (double)random_below(&seed, 256);
            double accumulate_s = 0.05 + 0.001 * batch * (1 + 0.1 * random_unit(&seed));

            points[i] =
                (struct goodput_perf_point){ i == 0 ? 1 : (k + 3) / 4, k, batch, accumulate_s,
                                             accumulate_s + (k > 4 ? 0.1 : 0.03) + 0.002 * k };
        }
        begun = now_us();
        (void)goodput_perf_fit(points, POINTS, &perf);
        samples_add(&samples, now_us() - begun);
    }
    return row_of("allreduce_fit", "fit of 20 points, all-reduce", 1, &samples);
}

static void print_json(const struct row *rows, size_t n)
{
    json_t *array = json_array();

    for (size_t i = 0; i < n; i++)
        (void)json_array_append_new(array,
                                    json_pack("{s:s,s:I,s:f,s:f,s:f}", "what", rows[i].key, "jobs",
                                              (json_int_t)rows[i].jobs, "p50_us", rows[i].p50_us,
                                              "p99_us", rows[i].p99_us, "max_us", rows[i].most_us));
    (void)json_dumpf(array, stdout, JSON_INDENT(2));
    (void)putchar('\n');
    json_decref(array);
}

int main(int argc, char **argv)
{
    static const struct option options[] = { { "json", no_argument, NULL, 'j' },
                                             { "rounds", required_argument, NULL, 'r' },
                                             { NULL, 0, NULL, 0 } };
    static const size_t sizes[] = { 1000, 10000 };
    struct row rows[16];
    uint64_t rounds = 400;
    bool json = false;
    size_t n = 0;
    int key, r = 0;

    while (r == 0 && (key = getopt_long(argc, argv, "", options, NULL)) != -1)
        r = key == 'j' ? (json = true, 0) : key == 'r' ? parse_u64(optarg, &rounds) : -EINVAL;
    if (r < 0 || optind < argc || rounds == 0) {
        (void)fprintf(stderr, "Usage: goodput [--json] [--rounds N]\n");
        return 2;
    }
    for (size_t s = 0; s < ELEMENTS(sizes); s++) {
        rows[n++] = bench_event(sizes[s], rounds);
        rows[n++] = bench_recursion(sizes[s], rounds);
        rows[n++] = bench_afresh(sizes[s], rounds, GOODPUT_WEIGHTS_RECURSION);
        rows[n++] = bench_afresh(sizes[s], rounds, GOODPUT_WEIGHTS_RANK);
    }
    rows[n++] = bench_pserver_fit(rounds);
    rows[n++] = bench_allreduce_fit(rounds);
    if (json) {
        print_json(rows, n);
        return 0;
    }
    printf("%-34s %8s %12s %12s %12s\n", "", "jobs", "p50 us", "p99 us", "most us");
    for (size_t i = 0; i < n; i++)
        printf("%-34s %8zu %12.2f %12.2f %12.2f\n", rows[i].what, rows[i].jobs, rows[i].p50_us,
               rows[i].p99_us, rows[i].most_us);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_policy_fulfilment.c - the conformance cases of the original autoscaler, and its mended
 * defects
 *
 * Case names A2..A19 and B1..B4 are those of the reference (the unit tests of the 2018 controller,
 * its tutorial's trace, its GPU livelock, and the two cases of its experiment report). Memory is in
 * megabytes of 10^6 as there. */
#include <time.h>

#include "tests/unit/policy_world.h"
#include "tests/unit/test.h"

#define MEGA INT64_C(1000000)

struct cluster_row {
    int64_t cpu_requested, cpu_total, memory_requested, memory_total, gpu_requested, gpu_total;
};

struct job_row {
    uint64_t cpu_millicores, memory_bytes;
    uint32_t gpus, min, max, parallelism;
};

static struct policy_totals totals_of(const struct cluster_row *row, uint32_t load_permille)
{
    return (struct policy_totals){ .cpu_total_millicores = row->cpu_total,
                                   .cpu_requested_millicores = row->cpu_requested,
                                   .memory_total_bytes = row->memory_total * MEGA,
                                   .memory_requested_bytes = row->memory_requested * MEGA,
                                   .gpu_total = row->gpu_total,
                                   .gpu_requested = row->gpu_requested,
                                   .max_load_permille = load_permille };
}

static struct policy_job job_of(const struct job_row *row)
{
    return (struct policy_job){ .id = 1,
                                .min = row->min,
                                .max = row->max,
                                .parallelism = row->parallelism,
                                .stable = true,
                                .cpu_millicores = row->cpu_millicores,
                                .memory_bytes = row->memory_bytes,
                                .gpus = row->gpus };
}

/* One job, and the reference's node0: more idle than any case needs. */
static struct world world_of(const struct cluster_row *row, const struct job_row *job,
                             uint32_t load_permille)
{
    struct world w = { .totals = totals_of(row, load_permille), .n_jobs = 1, .n_nodes = 1 };

    w.jobs[0] = job_of(job);
    w.nodes[0].cpu = 99999;
    w.nodes[0].memory = 99999 * MEGA;
    w.nodes[0].gpus = 99999;
    return w;
}

#define MEM_100MI 105000000
#define MEM_10MI 11000000

static const struct {
    const char *id;
    struct cluster_row cluster;
    struct job_row job;
    bool node_fits;
    int64_t delta;
    bool down;
    int expect;
} dry_runs[] = {
    { "A2", { 0, 2000, 0, 1000, 0, 0 }, { 0, MEM_100MI, 0, 1, 2, 2 }, false, 0, false, 0 },
    { "A3", { 100, 3000, 100, 1000, 0, 0 }, { 1000, MEM_100MI, 0, 1, 3, 1 }, true, 0, false, 1 },
    { "A4", { 1000, 1000, 100, 1000, 0, 0 }, { 1000, MEM_100MI, 0, 1, 3, 1 }, true, 0, false, 0 },
    { "A5 up", { 0, 2000, 100, 1000, 0, 10 }, { 1000, MEM_10MI, 1, 1, 3, 1 }, true, 0, false, 1 },
    { "A5 down", { 0, 2000, 100, 1000, 0, 10 }, { 1000, MEM_10MI, 1, 1, 3, 1 }, true, 0, true, 0 },
    { "A6", { 0, 2000, 100, 1000, 10, 10 }, { 1000, MEM_10MI, 1, 1, 3, 1 }, true, 0, false, 0 },
    { "A8 0",
      { 5000, 3000, 1000, 1000, 10, 10 },
      { 1000, MEM_10MI, 0, 1, 3, 3 },
      true,
      0,
      true,
      -1 },
    { "A8 -1",
      { 5000, 3000, 1000, 1000, 10, 10 },
      { 1000, MEM_10MI, 0, 1, 3, 3 },
      true,
      -1,
      true,
      -1 },
    { "A8 -2",
      { 5000, 3000, 1000, 1000, 10, 10 },
      { 1000, MEM_10MI, 0, 1, 3, 3 },
      true,
      -2,
      true,
      0 },
    { "A9 down",
      { 2000, 1000, 1000, 1000, 10, 10 },
      { 1000, MEM_10MI, 0, 1, 3, 3 },
      true,
      0,
      true,
      -1 },
    { "A9 up",
      { 2000, 1000, 1000, 1000, 10, 10 },
      { 1000, MEM_10MI, 0, 1, 3, 3 },
      true,
      0,
      false,
      0 },
    { "A10",
      { 1000, 1000, 1000, 1000, 10, 10 },
      { 1000, MEM_100MI, 0, 1, 3, 1 },
      true,
      0,
      false,
      0 },
    { "over max up",
      { 0, 9000, 0, 9000, 0, 0 },
      { 1000, MEM_10MI, 0, 1, 3, 5 },
      true,
      0,
      false,
      -2 },
    { "over max down",
      { 0, 9000, 0, 9000, 0, 0 },
      { 1000, MEM_10MI, 0, 1, 3, 5 },
      true,
      0,
      true,
      -1 },
    { "no node", { 0, 9000, 0, 9000, 0, 0 }, { 1000, MEM_10MI, 0, 1, 3, 1 }, false, 0, false, 0 },
};

TEST(test_dry_run_conforms)
{
    for (size_t i = 0; i < ELEMENTS(dry_runs); i++) {
        struct policy_totals totals = totals_of(&dry_runs[i].cluster, 1000);
        struct policy_job job = job_of(&dry_runs[i].job);
        int change = policy_fulfilment_dry_run(&totals, &job, job.parallelism + dry_runs[i].delta,
                                               dry_runs[i].down, dry_runs[i].node_fits);

        if (change != dry_runs[i].expect)
            fail_msg("%s: %d, expected %d", dry_runs[i].id, change, dry_runs[i].expect);
        assert_int_equal(totals.cpu_requested_millicores,
                         dry_runs[i].cluster.cpu_requested + change * (int64_t)job.cpu_millicores);
    }
}

TEST(test_decision_conforms)
{
    const struct {
        const char *id;
        struct cluster_row cluster;
        struct job_row job;
        uint32_t load_permille;
        int expect; /* change */
    } rows[] = {
        { "A11", { 0, 1000, 1000, 1000, 0, 10 }, { 1000, 1, 1, 1, 3, 1 }, 1000, 0 },
        { "A12", { 1000, 4000, 100, 1000, 8, 10 }, { 1000, MEM_100MI, 0, 1, 3, 1 }, 1000, 2 },
        { "A14", { 3000, 3000, 100, 1000, 0, 10 }, { 1000, MEM_100MI, 0, 1, 3, 3 }, 800, -1 },
        { "A16", { 990, 2000, 100, 1000, 9, 10 }, { 1000, 1, 1, 1, 3, 1 }, 1000, 1 },
        /* the original adds and removes the tenth GPU for ever; here it is given, and kept */
        { "B2", { 1000, 100000, 100, 100000, 1, 10 }, { 1000, MEM_10MI, 1, 1, 10, 1 }, 970, 9 },
        { "last GPU", { 1000, 100000, 100, 100000, 7, 8 }, { 1000, MEM_10MI, 1, 1, 8, 7 }, 970, 1 },
        { "all GPUs", { 1000, 100000, 100, 100000, 8, 8 }, { 1000, MEM_10MI, 1, 1, 9, 8 }, 970, 0 },
        /* a device broke: 8 are held, and 7 are there */
        { "GPUs over",
          { 1000, 100000, 100, 100000, 8, 7 },
          { 1000, MEM_10MI, 1, 1, 8, 8 },
          970,
          -1 },
        /* fixed jobs hold more GPUs than there are. Who has none is not concerned. */
        { "GPUs over, none held",
          { 1000, 100000, 100, 100000, 11, 10 },
          { 1000, MEM_10MI, 0, 1, 10, 4 },
          970,
          6 },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        struct world w = world_of(&rows[i].cluster, &rows[i].job, rows[i].load_permille);

        decide(&w);
        if ((int)w.target[0] - (int)w.jobs[0].parallelism != rows[i].expect)
            fail_msg("%s: target %u from %u, expected a change of %d", rows[i].id, w.target[0],
                     w.jobs[0].parallelism, rows[i].expect);
    }
}

/* Whatever the load limit and the number of devices: all are given, and the next decision leaves it
 * at that. */
TEST(test_the_last_gpu_is_given_and_kept)
{
    for (int64_t total = 1; total <= 16; total++)
        for (uint32_t load_permille = 500; load_permille <= 1000; load_permille += 10) {
            const struct cluster_row row = { 1000, 1000000, 100, 100000, 1, total };
            const struct job_row job = { 1000, MEM_10MI, 1, 1, 20, 1 };
            struct world w = world_of(&row, &job, load_permille);

            decide(&w);
            assert_int_equal(w.target[0], total);
            w.jobs[0].parallelism = w.target[0];
            w.totals.gpu_requested = total;
            decide(&w);
            assert_int_equal(w.target[0], total);
        }
}

/* A17 */
TEST(test_score_is_the_share_of_the_range)
{
    const struct policy_job full = { .min = 1, .max = 2, .parallelism = 2 };
    const struct policy_job none = { .min = 1, .max = 2, .parallelism = 1 };
    const struct policy_job half = { .min = 1, .max = 3, .parallelism = 2 };
    const struct policy_job fixed = { .min = 4, .max = 4, .parallelism = 4 };

    assert_int_equal(policy_fulfilment_score_ppm(&full), 1000000);
    assert_int_equal(policy_fulfilment_score_ppm(&none), 0);
    assert_int_equal(policy_fulfilment_score_ppm(&half), 500000);
    assert_int_equal(policy_fulfilment_score_ppm(&fixed), 1000000);
}

/* A18: b (1..20), c (1..10), a (1..2), all at 2; then the finer keys */
TEST(test_order_is_score_gpu_cpu_memory_id)
{
    const struct policy_job order[] = {
        { .id = 9, .min = 1, .max = 20, .parallelism = 2, .gpus = 1 },
        { .id = 8, .min = 1, .max = 10, .parallelism = 2, .gpus = 1 },
        { .id = 7, .min = 1, .max = 2, .parallelism = 2, .gpus = 0, .cpu_millicores = 9 },
        { .id = 6,
          .min = 1,
          .max = 2,
          .parallelism = 2,
          .gpus = 1,
          .cpu_millicores = 1,
          .memory_bytes = 9 },
        { .id = 5,
          .min = 1,
          .max = 2,
          .parallelism = 2,
          .gpus = 1,
          .cpu_millicores = 2,
          .memory_bytes = 1 },
        { .id = 3,
          .min = 1,
          .max = 2,
          .parallelism = 2,
          .gpus = 1,
          .cpu_millicores = 2,
          .memory_bytes = 2 },
        { .id = 4,
          .min = 1,
          .max = 2,
          .parallelism = 2,
          .gpus = 1,
          .cpu_millicores = 2,
          .memory_bytes = 2 },
    };

    for (size_t i = 0; i + 1 < ELEMENTS(order); i++) {
        assert_true(policy_fulfilment_compare(&order[i], &order[i + 1]) < 0);
        assert_true(policy_fulfilment_compare(&order[i + 1], &order[i]) > 0);
    }
    assert_int_equal(policy_fulfilment_compare(&order[0], &order[0]), 0);
}

/* B1: 10,000 millicores, 1,840 used by others, load 0.9; each job 1,600 fixed and trainers of
 * 200, 2..10. */
TEST(test_tutorial_trace)
{
    struct world w = { .totals = { .cpu_total_millicores = 10000,
                                   .cpu_requested_millicores = 1840 + 1600 + 2 * 200,
                                   .memory_total_bytes = 100000 * MEGA,
                                   .max_load_permille = 900 },
                       .n_jobs = 1,
                       .n_nodes = 1 };

    w.nodes[0].memory = 100000 * MEGA;
    w.nodes[0].cpu = 10000 - 1840 - 1600 - 400;
    for (int i = 0; i < 3; i++)
        w.jobs[i] = (struct policy_job){ .id = (uint64_t)i + 1,
                                         .min = 2,
                                         .max = 10,
                                         .parallelism = 2,
                                         .stable = true,
                                         .cpu_millicores = 200,
                                         .memory_bytes = 1 };
    decide(&w);
    assert_int_equal(w.target[0], 10); /* 54.40 % */

    w.jobs[0].parallelism = 10;
    w.n_jobs = 2;
    w.totals.cpu_requested_millicores = 1840 + 2 * 1600 + 12 * 200;
    w.nodes[0].cpu = 10000 - w.totals.cpu_requested_millicores;
    decide(&w);
    assert_int_equal(w.target[0], 10);
    assert_int_equal(w.target[1], 9); /* 88.40 % <= 90 %, a tenth would be 90.40 % */

    w.jobs[1].parallelism = 8;
    w.jobs[2].pending = true;
    w.jobs[2].stable = false;
    w.jobs[2].parallelism = 0;
    w.n_jobs = 3;
    w.totals.cpu_requested_millicores = 1840 + 3 * 1600 + (10 + 8 + 2) * 200;
    w.nodes[0].cpu = 10000 - 1840 - 2 * 1600 - 18 * 200;
    decide(&w);
    assert_int_equal(w.target[0], 5);
    assert_int_equal(w.target[1], 4);
    assert_int_equal(w.target[2], 0); /* its gang is the queue's affair */

    /* 11 trainers, 88.40 %: one goes from the first to the last, which then has it */
    w.jobs[0].parallelism = 5;
    w.jobs[1].parallelism = 4;
    w.jobs[2].pending = false;
    w.jobs[2].stable = true;
    w.jobs[2].parallelism = 2;
    w.totals.cpu_requested_millicores = 1840 + 3 * 1600 + 11 * 200;
    w.nodes[0].cpu = 10000 - w.totals.cpu_requested_millicores;
    decide(&w);
    assert_int_equal(w.target[0], 4);
    assert_int_equal(w.target[1], 4);
    assert_int_equal(w.target[2], 2);

    /* while it is being stopped nothing moves, and nobody else takes its place */
    w.jobs[0].parallelism = 4;
    w.jobs[0].stable = false;
    w.totals.cpu_requested_millicores -= 200;
    w.totals.cpu_stopping_millicores = 200;
    w.totals.memory_stopping_bytes = 1;
    w.nodes[0].cpu = 0;
    decide(&w);
    assert_int_equal(w.target[0] + w.target[1] + w.target[2], 10);

    /* when it is gone the least fulfilled gets it; and there it stays: 4/4/3 */
    w.jobs[0].stable = true;
    w.totals.cpu_stopping_millicores = w.totals.memory_stopping_bytes = 0;
    w.nodes[0].cpu = 10000 - w.totals.cpu_requested_millicores;
    decide(&w);
    assert_int_equal(w.target[2], 3);
    w.jobs[2].parallelism = 3;
    w.totals.cpu_requested_millicores += 200;
    decide(&w);
    assert_int_equal(w.target[0], 4);
    assert_int_equal(w.target[1], 4);
    assert_int_equal(w.target[2], 3);
}

static double jain(const uint32_t *x, size_t n)
{
    double sum = 0, squares = 0;

    for (size_t i = 0; i < n; i++) {
        sum += x[i];
        squares += (double)x[i] * x[i];
    }
    return sum * sum / ((double)n * squares);
}

/* The 2,348 cores of the report, in one piece: what single nodes make of it is the simulator's
 * affair. */
static void make_report_cluster(struct world *w)
{
    w->totals = (struct policy_totals){ .cpu_total_millicores = 2348000,
                                        .memory_total_bytes = 13665210 * MEGA,
                                        .max_load_permille = 970 };
    w->n_nodes = 1;
    w->nodes[0].cpu = 2348000;
    w->nodes[0].memory = 13665210 * MEGA;
}

static void take(struct world *w, uint64_t cpu_millicores, unsigned times)
{
    const struct policy_job what = { .cpu_millicores = cpu_millicores, .memory_bytes = 1 };

    for (unsigned i = 0; i < times; i++)
        assert_true(place(w, &what));
    w->totals.cpu_requested_millicores += (int64_t)(times * cpu_millicores);
}

static void add_report_jobs(struct world *w, size_t n)
{
    w->n_jobs = n;
    for (size_t i = 0; i < n; i++) {
        take(w, 4000, 10);
        take(w, 1000, 1);
        take(w, 5000, 2);
        w->jobs[i] = (struct policy_job){ .id = i + 1,
                                          .min = 2,
                                          .max = 60,
                                          .parallelism = 2,
                                          .stable = true,
                                          .cpu_millicores = 5000,
                                          .memory_bytes = 1 };
    }
}

/* B3: 20 jobs share what the experiment of 2017 shared with a Jain index of 0.44 */
TEST(test_report_case_1_is_fair)
{
    struct world *w = xcalloc(1, sizeof *w);
    uint32_t total = 0;

    make_report_cluster(w);
    add_report_jobs(w, 20);
    decide(w);
    for (size_t i = 0; i < 20; i++) {
        assert_in_range(w->target[i], 14, 15);
        total += w->target[i];
    }
    assert_true(jain(w->target, 20) > 0.99);
    /* what is left under 97 % is less than one trainer */
    assert_in_range(20 * 41 + 5 * total, 2348 * 97 / 100 - 5, 2348 * 97 / 100);
    free(w);
}

/* The same when the first six came long before and hold all there is: they give until all are even.
 */
TEST(test_a_full_cluster_is_shared_anew)
{
    struct world *w = xcalloc(1, sizeof *w);
    uint32_t total = 0;

    make_report_cluster(w);
    add_report_jobs(w, 20);
    for (size_t i = 0; i < 6; i++) {
        w->jobs[i].parallelism = 44;
        take(w, 5000, 42);
    }
    for (int rounds = 0; rounds < 3; rounds++) {
        decide(w);
        total = 0;
        for (size_t i = 0; i < 20; i++) {
            int64_t change = (int64_t)w->target[i] - w->jobs[i].parallelism;

            /* grow() has taken its room; what was stopped is gone by the next decision */
            w->totals.cpu_requested_millicores += 5000 * change;
            if (change < 0)
                w->nodes[0].cpu -= 5000 * change;
            w->jobs[i].parallelism = w->target[i];
            total += w->target[i];
        }
    }
    assert_true(jain(w->target, 20) > 0.98);
    assert_in_range(20 * 41 + 5 * total, 2348 * 97 / 100 - 5, 2348 * 97 / 100);
    free(w);
}

/* B4: six jobs beside a web service of 100 to 400 pods of 3 cores */
TEST(test_report_case_2_gives_way)
{
    struct world *w = xcalloc(1, sizeof *w);
    uint32_t before = 0, after = 0;

    make_report_cluster(w);
    take(w, 3000, 100);
    add_report_jobs(w, 6);
    decide(w);
    for (size_t i = 0; i < 6; i++) {
        before += w->jobs[i].parallelism = w->target[i];
        w->totals.cpu_requested_millicores += 5000 * ((int64_t)w->target[i] - 2);
    }
    assert_in_range(w->totals.cpu_requested_millicores, 2348 * 970 - 5000, 2348 * 970);
    w->totals.cpu_requested_millicores += 300 * 3000; /* the service comes back */
    decide(w);
    for (size_t i = 0; i < 6; i++)
        after += w->target[i];
    assert_in_range(1200 + 6 * 41 + 5 * after, 2348 * 97 / 100 - 5, 2348 * 97 / 100);
    assert_true(jain(w->target, 6) > 0.99);
    free(w);
}

TEST(test_unstable_jobs_wait_unless_one_is_pending)
{
    struct world w = { .totals = { .cpu_total_millicores = 10000,
                                   .cpu_requested_millicores = 1000,
                                   .memory_total_bytes = 10000 * MEGA,
                                   .max_load_permille = 1000 },
                       .n_jobs = 1,
                       .n_nodes = 1 };

    w.nodes[0].cpu = 9000;
    w.nodes[0].memory = 9000 * MEGA;
    w.jobs[0] = (struct policy_job){
        .id = 1, .min = 1, .max = 4, .parallelism = 1, .cpu_millicores = 1000, .memory_bytes = 1
    };
    w.jobs[1] = (struct policy_job){
        .id = 2, .min = 1, .max = 1, .pending = true, .cpu_millicores = 1000, .memory_bytes = 1
    };
    decide(&w);
    assert_int_equal(w.target[0], 1);
    w.n_jobs = 2;
    decide(&w);
    assert_int_equal(w.target[0], 4);
}

/* --- many jobs of which no two ask for the same --- */

#define MANY 4000

static bool find_no_node(void *userdata, uint64_t id)
{
    (void)id;
    ++*(size_t *)userdata;
    return false;
}

static bool give_nobody(void *userdata, uint64_t id)
{
    (void)userdata;
    fail_msg("job %llu is to give", (unsigned long long)id);
    return false;
}

/* Half of them poor with large requests, half rich with small ones: whoever could give has not
 * enough. */
static struct policy_state *many_distinct(void)
{
    struct policy_state *policy = policy_fulfilment.new();

    for (uint64_t i = 0; i < MANY; i++) {
        bool rich = i % 2 == 1;
        const struct policy_job job = { .id = i + 1,
                                        .min = 1,
                                        .max = 20,
                                        .parallelism = rich ? 15 : 2,
                                        .stable = true,
                                        .cpu_millicores = rich ? 1000 : 2000,
                                        .memory_bytes =
                                            (rich ? 1000000 : 2000000) + i * 7919 % MANY };

        policy_fulfilment.put(policy, &job);
    }
    return policy;
}

static double cpu_ms(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

/* It took 54 ms when every shape was looked at; it takes some microseconds. */
TEST(test_nothing_to_do_costs_next_to_nothing)
{
    const struct policy_ops no_ops = { .grow = find_no_node, .shrink = give_nobody };
    const struct policy_totals totals = { .cpu_total_millicores = 1000000000,
                                          .cpu_requested_millicores = 970000000,
                                          .memory_total_bytes = INT64_C(1) << 60,
                                          .max_load_permille = 970 };
    struct policy_state *policy = many_distinct();
    double least_ms = 1e9;
    size_t asked = 0;

    for (int i = 0; i < 10; i++) {
        double begun = cpu_ms();
        double took;

        policy_fulfilment.decide(policy, &totals, &no_ops, &asked);
        took = cpu_ms() - begun;
        least_ms = MIN_OF(least_ms, took);
    }
    assert_int_equal(asked, 0);
    if (least_ms > 2)
        fail_msg("a decision with nothing to do takes %.2f ms", least_ms);
    policy_fulfilment.free(policy);
}

/* There is load to give, and no node with room: who asks for more than one who was refused need not
 * ask. */
TEST(test_a_full_set_of_nodes_is_asked_a_few_times)
{
    const struct policy_ops no_ops = { .grow = find_no_node, .shrink = give_nobody };
    const struct policy_totals totals = { .cpu_total_millicores = 1000000000,
                                          .cpu_requested_millicores = 900000000,
                                          .memory_total_bytes = INT64_C(1) << 60,
                                          .max_load_permille = 970 };
    struct policy_state *policy = many_distinct();
    size_t asked = 0;

    policy_fulfilment.decide(policy, &totals, &no_ops, &asked);
    assert_in_range(asked, 1, 32);
    policy_fulfilment.free(policy);
}

TEST(test_policy_find_knows_it)
{
    char names[64];

    policy_names(names, sizeof names);
    assert_string_equal(names, "goodput, goodput-balanced, fulfilment");
    assert_ptr_equal(policy_find("fulfilment"), &policy_fulfilment);
    assert_null(policy_find("fulfil"));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_load_limit.c - a small reserve above the load limit counts in whole cores */
#include "scheduler/core/policy/limits.h"
#include "tests/unit/policy_world.h"
#include "tests/unit/test.h"

static const struct {
    int64_t total;
    uint32_t permille;
    int64_t limit;
} rows[] = {
    { 4000, 970, 4000 }, /* an eighth of a core is none */
    { 13500, 970, 13500 },     { 33000, 970, 33000 }, { 34000, 970, 33000 }, { 64000, 970, 63000 },
    { 2348000, 970, 2278000 }, { 20000, 950, 19000 }, /* a twentieth */
    { 2000, 900, 1800 },                              /* more is a wish, and exact */
    { 4000, 900, 3600 },       { 13500, 900, 12150 }, { 16000, 940, 15040 }, { 4000, 500, 2000 },
    { 4000, 100, 400 },        { 4000, 1000, 4000 },  { 0, 970, 0 },
};

TEST(test_small_reserve_counts_in_whole_cores)
{
    for (size_t i = 0; i < ELEMENTS(rows); i++)
        assert_int_equal(policy_load_limit(rows[i].total, rows[i].permille), rows[i].limit);
}

/* Whatever the cluster: not below the fraction, not above all there is, and at least half of a
 * reserve of a core or more is kept. */
TEST(test_reserve_is_kept_in_part)
{
    for (uint32_t permille = 0; permille <= 1000; permille++)
        for (int64_t total = 0; total < 100000; total += 700) {
            int64_t limit = policy_load_limit(total, permille);
            int64_t reserve = total - total * permille / 1000;

            assert_in_range(limit, total * permille / 1000, total);
            assert_true(total - limit > reserve - 1000);
            if (reserve >= 1000)
                assert_true(2 * (total - limit) >= reserve);
        }
}

/* An instance of a core fills it, and the next decision leaves it at that. */
TEST(test_who_grew_to_the_limit_keeps_it)
{
    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        struct policy_state *policy = policy_fulfilment.new();
        struct world w = { .n_jobs = 1, .n_nodes = 1 };
        uint32_t most = (uint32_t)(rows[i].limit / 1000);

        w.totals.cpu_total_millicores = rows[i].total;
        w.totals.memory_total_bytes = 1;
        w.totals.max_load_permille = rows[i].permille;
        w.nodes[0].cpu = rows[i].total;
        w.jobs[0] = (struct policy_job){
            .id = 1, .max = most + 5, .stable = true, .cpu_millicores = 1000, .units_left = -1
        };
        for (int decision = 0; decision < 2; decision++) {
            policy_fulfilment.put(policy, &w.jobs[0]);
            w.target[0] = w.jobs[0].parallelism;
            policy_fulfilment.decide(policy, &w.totals, &ops, &w);
            assert_int_equal(w.target[0], most);
            w.jobs[0].parallelism = most;
            w.totals.cpu_requested_millicores = 1000 * most;
        }
        assert_null(policy_fulfilment.free(policy));
    }
}

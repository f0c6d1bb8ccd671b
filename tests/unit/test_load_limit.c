/* SPDX-License-Identifier: Apache-2.0 */
/* test_load_limit.c - the reserve above the load limit keeps no whole core, and no whole instance,
 * for a part of it */
#include "scheduler/core/policy/limits.h"
#include "tests/unit/policy_world.h"
#include "tests/unit/test.h"

static const struct {
    int64_t total;
    uint32_t permille;
    uint64_t one;
    int64_t fills; /* so many millicores by such instances alone */
} rows[] = {
    { 4000, 970, 1000, 4000 }, /* a reserve of an eighth of a core kept a whole one */
    { 12000, 970, 1000, 12000 },
    { 24000, 970, 1000, 24000 },
    { 64000, 970, 8000, 64000 }, /* the last of eight GPUs with eight cores each */
    { 4000, 970, 100, 3800 },    /* what is smaller than the reserve leaves it */
    { 36000, 970, 1000, 35000 }, /* of a core and a bit one is kept */
    { 64000, 970, 1000, 63000 },
    { 1000000, 970, 1000, 970000 },
    { 2348000, 970, 5000, 2275000 },
    { 4000, 900, 1000, 4000 }, /* a larger one: to the next instance */
    { 3000, 800, 1000, 2000 },
    { 1000, 900, 100, 900 },
    { 10000, 900, 200, 9000 },
    { 4000, 500, 3000, 3000 },
    { 4000, 500, 1000, 2000 },
    { 4000, 1000, 1000, 4000 },
};

/* The decision of a policy about one job alone, from nothing on. */
static int64_t fills(const struct policy *policy, size_t row, uint32_t from)
{
    struct policy_state *state = policy->new ();
    struct world w = { .n_jobs = 1, .n_nodes = 1 };
    uint32_t most = (uint32_t)(rows[row].total / (int64_t)rows[row].one);

    w.totals.cpu_total_millicores = rows[row].total;
    w.totals.cpu_requested_millicores = (int64_t)from * (int64_t)rows[row].one;
    w.totals.memory_total_bytes = 1;
    w.totals.max_load_permille = rows[row].permille;
    w.nodes[0].cpu = rows[row].total - w.totals.cpu_requested_millicores;
    w.jobs[0] = (struct policy_job){ .id = 1,
                                     .min = 1,
                                     .max = most + 5,
                                     .parallelism = from,
                                     .stable = true,
                                     .cpu_millicores = rows[row].one,
                                     .units_left = -1 };
    policy->put(state, &w.jobs[0]);
    w.target[0] = from;
    policy->decide(state, &w.totals, &ops, &w);
    assert_null(policy->free(state));
    return (int64_t)w.target[0] * (int64_t)rows[row].one;
}

TEST(test_reserve_keeps_no_whole_core)
{
    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        uint32_t most = (uint32_t)(rows[i].total / (int64_t)rows[i].one);

        for (uint32_t from = 1; from <= most; from += MAX_OF(most - 1, 1U)) {
            int64_t has = fills(&policy_fulfilment, i, from);

            /* a full cluster shrinks to that */
            if (has != rows[i].fills)
                fail_msg("row %zu, from %u: %lld of %lld", i, from, (long long)has,
                         (long long)rows[i].fills);
        }
    }
}

/* Of the 11 idle cores instances of 3 and 4 leave the reserve of 10; one of 11 is larger than that.
 * Who looks at the small ones first finds the large one all the same, and they do not shrink for
 * it. */
TEST(test_larger_instance_may_fit_where_a_smaller_does_not)
{
    static const uint64_t cores[] = { 3, 4, 11 };
    struct policy_state *policy = policy_fulfilment.new();
    struct world w = { .n_jobs = ELEMENTS(cores), .n_nodes = 1 };
    struct request small;

    w.totals.cpu_total_millicores = 200000;
    w.totals.cpu_requested_millicores = 189000;
    w.totals.memory_total_bytes = 1;
    w.totals.max_load_permille = 950;
    w.nodes[0].cpu = 11000;
    for (size_t i = 0; i < w.n_jobs; i++) {
        w.jobs[i] = (struct policy_job){ .id = i + 1,
                                         .min = 1,
                                         .max = 9,
                                         .parallelism = 1,
                                         .stable = true,
                                         .cpu_millicores = 1000 * cores[i] };
        policy_fulfilment.put(policy, &w.jobs[i]);
    }
    small = request_of_job(&w.jobs[0]);
    assert_false(policy_may_grow(&w.totals, &small));
    decide_with(policy, &w);
    assert_int_equal(w.target[0], 1);
    assert_int_equal(w.target[1], 1);
    assert_int_equal(w.target[2], 2);
    w.jobs[0].parallelism = w.jobs[1].parallelism = w.jobs[2].parallelism = 2;
    w.totals.cpu_requested_millicores = 200000;
    for (size_t i = 0; i < w.n_jobs; i++)
        policy_fulfilment.put(policy, &w.jobs[i]);
    decide_with(policy, &w);
    assert_int_equal(w.target[0] + w.target[1] + w.target[2], 6);
    w.totals.cpu_requested_millicores = 200001;
    decide_with(policy, &w);
    assert_int_equal(w.target[0] + w.target[1] + w.target[2], 5);
    assert_null(policy_fulfilment.free(policy));
}

/* Whatever the sizes: what may grow need not shrink then, and what the search asks of a subtree
 * holds for all of it. */
TEST(test_load_limits_agree)
{
    for (uint32_t permille = 500; permille <= 1000; permille += 10)
        for (int64_t used = 0; used <= 40000; used += 300)
            for (uint64_t one = 100; one <= 9000; one += 700) {
                struct policy_totals totals = { .cpu_total_millicores = 40000,
                                                .cpu_requested_millicores = used,
                                                .memory_total_bytes = 1,
                                                .max_load_permille = permille };
                const struct request wanted = { .cpu_millicores = one };
                const struct request other = { .cpu_millicores = one / 2 };
                const struct request more = { .cpu_millicores = one * 2 };
                bool may = policy_may_grow(&totals, &wanted);

                assert_true(!may || policy_might_grow(&totals, &other));
                assert_true(!policy_must_shrink(&totals, &more) ||
                            policy_must_shrink(&totals, &wanted));
                if (!may)
                    continue;
                totals.cpu_requested_millicores += (int64_t)one;
                assert_true(totals.cpu_requested_millicores <= totals.cpu_total_millicores);
                assert_false(policy_must_shrink(&totals, &wanted));
            }
}

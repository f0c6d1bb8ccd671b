/* SPDX-License-Identifier: Apache-2.0 */
/* test_policy_goodput.c - the promises of a policy, and the shares of a small cluster
 *
 * A pretended cluster of a few nodes that carries out at once what the policy says. */
#include "scheduler/core/speed/measure.h"
#include "scheduler/core/policy/limits.h"
#include "scheduler/core/policy/policy.h"
#include "tests/unit/goodput_curves.h"
#include "tests/unit/test.h"

#define JOBS_MAX 12
#define NODES_MAX 6
#define MIB (1 << 20)

static const struct policy *tested = &policy_goodput; /* of the two */

struct cluster_of {
    struct policy_job jobs[JOBS_MAX];
    struct goodput_learned learned[JOBS_MAX];
    uint32_t held[JOBS_MAX][NODES_MAX]; /* instances */
    size_t n_jobs, n_nodes;
    int64_t cpu, memory, gpus; /* of a node */
    struct policy_group groups[3];
    uint32_t n_groups, load_permille;
    size_t moves;
    const struct policy_job *before; /* what the policy was told */
};

static int64_t used(const struct cluster_of *c, size_t node, int what)
{
    int64_t sum = 0;

    for (size_t i = 0; i < c->n_jobs; i++) {
        const struct policy_job *job = &c->jobs[i];
        uint64_t each = what == 0 ? job->cpu_millicores : what == 1 ? job->memory_bytes : job->gpus;

        sum += (int64_t)each * c->held[i][node];
    }
    return sum;
}

static int64_t used_in_all(const struct cluster_of *c, int what)
{
    int64_t sum = 0;

    for (size_t node = 0; node < c->n_nodes; node++)
        sum += used(c, node, what);
    return sum;
}

static struct policy_totals totals_of(struct cluster_of *c)
{
    int64_t n = (int64_t)c->n_nodes;

    for (uint32_t g = 0; g < c->n_groups; g++)
        c->groups[g].cpu_millicores = c->groups[g].gpus = 0;
    for (size_t i = 0; i < c->n_jobs; i++) {
        struct policy_group *group = &c->groups[c->jobs[i].group];

        group->cpu_millicores += (int64_t)c->jobs[i].cpu_millicores * c->jobs[i].parallelism;
        group->gpus += (int64_t)c->jobs[i].gpus * c->jobs[i].parallelism;
    }
    return (struct policy_totals){ .cpu_total_millicores = n * c->cpu,
                                   .cpu_requested_millicores = used_in_all(c, 0),
                                   .memory_total_bytes = n * c->memory,
                                   .memory_requested_bytes = used_in_all(c, 1),
                                   .gpu_total = n * c->gpus,
                                   .gpu_requested = used_in_all(c, 2),
                                   .max_load_permille = c->load_permille,
                                   .groups = c->n_groups > 0 ? c->groups : NULL,
                                   .n_groups = c->n_groups };
}

static size_t index_of(const struct cluster_of *c, uint64_t id)
{
    size_t i = 0;

    while (i < c->n_jobs && c->jobs[i].id != id)
        i++;
    assert_true(i < c->n_jobs);
    return i;
}

static bool any_pending(const struct cluster_of *c)
{
    for (size_t i = 0; i < c->n_jobs; i++)
        if (c->before[i].pending)
            return true;
    return false;
}

static void check_move(const struct cluster_of *c, size_t i)
{
    assert_true(c->before[i].stable || any_pending(c)); /* who is not stable is not moved */
    assert_false(c->before[i].pending);
    assert_true(c->moves < 1000);
}

static bool grow(void *userdata, uint64_t id)
{
    struct cluster_of *c = userdata;
    size_t i = index_of(c, id);
    struct policy_job *job = &c->jobs[i];

    check_move(c, i);
    assert_true(job->parallelism < job->max);
    for (size_t node = 0; node < c->n_nodes; node++) {
        if (used(c, node, 0) + (int64_t)job->cpu_millicores > c->cpu ||
            used(c, node, 1) + (int64_t)job->memory_bytes > c->memory ||
            used(c, node, 2) + (int64_t)job->gpus > c->gpus)
            continue;
        c->held[i][node]++;
        job->parallelism++;
        c->moves++; /* no limit is passed, not for a moment */
        assert_true(used_in_all(c, 0) <=
                    policy_load_limit((int64_t)c->n_nodes * c->cpu, c->load_permille));
        return true;
    }
    return false;
}

static bool shrink(void *userdata, uint64_t id)
{
    struct cluster_of *c = userdata;
    size_t i = index_of(c, id);
    struct policy_job *job = &c->jobs[i];

    check_move(c, i);
    assert_true(job->parallelism > job->min);
    for (size_t node = c->n_nodes; node-- > 0;)
        if (c->held[i][node] > 0) {
            c->held[i][node]--;
            job->parallelism--;
            c->moves++;
            return true;
        }
    fail_msg("a job holds instances on no node");
    return false;
}

static const struct policy_ops ops = { .grow = grow, .shrink = shrink };

static size_t decide(struct cluster_of *c, struct policy_state *state)
{
    struct policy_job before[JOBS_MAX];
    struct policy_totals totals = totals_of(c);
    char why[120];

    for (size_t i = 0; i < c->n_jobs; i++) {
        c->jobs[i].learned = &c->learned[i];
        tested->put(state, &c->jobs[i]);
    }
    memcpy(before, c->jobs, sizeof before);
    c->before = before;
    c->moves = 0;
    tested->decide(state, &totals, &ops, c);
    tested->explain(state, c->jobs[0].id, why, sizeof why);
    assert_true(strlen(why) > 10);
    return c->moves;
}

static size_t rounds_until_quiet(struct cluster_of *c)
{
    struct policy_state *state = tested->new ();
    size_t rounds = 0;

    while (decide(c, state) > 0)
        assert_true(++rounds < 60);
    assert_null(tested->free(state));
    return rounds;
}

/* Seconds a unit: t0/k + t1, told of often enough. */
static void teach(struct goodput_learned *learned, double t0, double t1)
{
    static const uint32_t sizes[] = { 1, 2, 3, 5, 8 };

    goodput_learn_init(learned);
    for (int i = 0; i < 20; i++) {
        uint32_t k = sizes[i % (int)ELEMENTS(sizes)];

        (void)goodput_pserver_add(&learned->fit,
                                  &(struct goodput_pserver_report){ k, 1, t0 / k + t1 });
        learned->windows++;
    }
    learned->largest = 8;
    learned->resize_s = 5;
}

static struct policy_job *add(struct cluster_of *c, uint32_t min, uint32_t max, uint32_t held)
{
    size_t i = c->n_jobs++;
    struct policy_job *job = &c->jobs[i];

    *job = (struct policy_job){ .id = i + 1,
                                .min = min,
                                .max = max,
                                .parallelism = held,
                                .stable = true,
                                .cpu_millicores = 1000,
                                .memory_bytes = MIB,
                                .units_left = 1e5 };
    teach(&c->learned[i], 1, 0.01);
    for (uint32_t k = 0; k < held; k++)
        c->held[i][k % c->n_nodes]++;
    return job;
}

/* So many, spread over the nodes */
static void hold(struct cluster_of *c, size_t i, uint32_t instances)
{
    memset(c->held[i], 0, sizeof c->held[i]);
    for (uint32_t k = 0; k < instances; k++)
        c->held[i][k % c->n_nodes]++;
    c->jobs[i].parallelism = instances;
}

static struct cluster_of cluster_of_nodes(size_t n)
{
    return (struct cluster_of){
        .n_nodes = n, .cpu = 4000, .memory = 1024 * MIB, .gpus = 2, .load_permille = 1000
    };
}

TEST(test_instances_go_to_the_job_that_makes_most_of_them)
{
    struct cluster_of c = cluster_of_nodes(4);

    (void)add(&c, 1, 16, 8);
    (void)add(&c, 1, 16, 8);
    teach(&c.learned[0], 1, 1); /* at most twice as fast as with one */
    (void)rounds_until_quiet(&c);
    assert_true(c.jobs[0].parallelism < c.jobs[1].parallelism);
    assert_int_equal(c.jobs[0].parallelism + c.jobs[1].parallelism, 16);
}

TEST(test_short_job_goes_first)
{
    struct cluster_of c = cluster_of_nodes(4);

    (void)add(&c, 1, 16, 8);
    add(&c, 1, 16, 8)->units_left = 3000;
    (void)rounds_until_quiet(&c);
    assert_true(c.jobs[1].parallelism > c.jobs[0].parallelism);
    assert_true(c.jobs[0].parallelism >= 1);
    c.jobs[0].priority = 8; /* as two hundred and fifty-six */
    (void)rounds_until_quiet(&c);
    assert_true(c.jobs[0].parallelism > c.jobs[1].parallelism);
}

/* The longest of three would have next to nothing; with eight it is over in time. */
TEST(test_what_a_deadline_needs_goes_first)
{
    struct cluster_of c = cluster_of_nodes(4);
    double speed_of_8 = 1.01 / (1 / 8.0 + 0.01), unit_s = 1.01;

    (void)add(&c, 1, 16, 4);
    add(&c, 1, 16, 4)->units_left = 3000;
    add(&c, 1, 16, 4)->units_left = 2000;
    c.learned[0].largest = 16; /* its speeds are believed */
    (void)rounds_until_quiet(&c);
    assert_true(c.jobs[0].parallelism < 4);
    c.jobs[0].learned_at_s = 500;
    c.jobs[0].due_s = 1500 + c.jobs[0].units_left * unit_s / speed_of_8;
    (void)rounds_until_quiet(&c);
    assert_int_equal(c.jobs[0].parallelism, 8);
    /* with all that it may have it is just in time: that is no reason to give up */
    c.jobs[0].due_s = 500 + 1.02 * c.jobs[0].units_left * goodput_learn_unit_s(&c.learned[0], 16);
    (void)rounds_until_quiet(&c);
    assert_true(c.jobs[0].parallelism >= 14); /* the others have their minima */
    c.jobs[0].due_s = 510;                    /* it cannot be kept */
    (void)rounds_until_quiet(&c);
    assert_true(c.jobs[0].parallelism < 4);
}

/* Of two deadlines that need ten of twelve cores each the earlier one has them. */
TEST(test_earliest_deadline_first)
{
    struct cluster_of c = cluster_of_nodes(3);

    for (int i = 0; i < 2; i++) {
        struct policy_job *job = add(&c, 1, 11, 1);

        job->due_s = i == 0 ? 12501 : 12500;
        job->units_left = 1e5;
        c.learned[i].largest = 16;
    }
    (void)rounds_until_quiet(&c);
    assert_int_equal(c.jobs[0].parallelism, 2);
    assert_int_equal(c.jobs[1].parallelism, 10);
}

/* Of two that are alike the one that its share would have brought further has more. */
TEST(test_who_is_behind_its_share_counts_for_more)
{
    struct cluster_of c = cluster_of_nodes(4);

    for (int i = 0; i < 2; i++) {
        struct policy_job *job = add(&c, 1, 16, 8);

        job->crowd = 2;
        job->units_done = 1000;
        job->units_left = 9000;
        job->elapsed_s = 1000 * goodput_learn_unit_s(&c.learned[i], 8);
        c.learned[i].resize_s = 0;
        c.learned[i].largest = 16;
    }
    (void)rounds_until_quiet(&c);
    assert_int_equal(c.jobs[0].parallelism, 8);
    c.jobs[1].elapsed_s *= 30;
    (void)rounds_until_quiet(&c);
    assert_true(c.jobs[1].parallelism > 8);
    /* of more jobs that had a share nobody could expect as much */
    c.jobs[1].crowd = 200;
    hold(&c, 0, 8);
    hold(&c, 1, 8);
    (void)rounds_until_quiet(&c);
    assert_int_equal(c.jobs[1].parallelism, 8);
    /* which has an end: what stands still for ever does not pass priorities */
    c.jobs[1].crowd = 2;
    c.jobs[1].elapsed_s *= 1e6;
    (void)rounds_until_quiet(&c);
    assert_true(c.jobs[1].parallelism > 8);
    c.jobs[0].priority = 2;
    (void)rounds_until_quiet(&c);
    assert_true(c.jobs[0].parallelism > 8);
}

/* A job of which nothing is measured yet waits for that at four times its minimum; one that says
 * nothing grows on, fourfold at once. */
TEST(test_unknown_job_grows_as_far_as_it_was_measured)
{
    struct cluster_of c = cluster_of_nodes(6);
    struct policy_state *policy = tested->new ();

    add(&c, 1, 24, 1)->units_left = -1;
    goodput_learn_init(&c.learned[0]);
    (void)decide(&c, policy);
    assert_int_equal(c.jobs[0].parallelism, 4);
    assert_int_equal(decide(&c, policy), 0);
    c.learned[0].largest = 4;
    c.learned[0].windows = 1; /* which is news */
    (void)decide(&c, policy);
    assert_int_equal(c.jobs[0].parallelism, 16);
    assert_int_equal(decide(&c, policy), 0);
    c.learned[0].silent = true;
    c.learned[0].windows = 0;
    (void)decide(&c, policy);
    assert_int_equal(c.jobs[0].parallelism, 24);
    assert_null(tested->free(policy));
}

/* Who goes first is told by the length that stays, not by what is left as it was counted last. */
TEST(test_order_is_that_of_the_length_that_stays)
{
    struct cluster_of c = cluster_of_nodes(4);

    add(&c, 1, 16, 8)->units_left = 3000;
    add(&c, 1, 16, 8)->units_left = 2000;
    c.learned[0].resize_s = c.learned[1].resize_s = 0;
    c.learned[0].length = 200;
    c.learned[1].length = 300;
    (void)rounds_until_quiet(&c);
    assert_true(c.jobs[0].parallelism > c.jobs[1].parallelism);
    hold(&c, 0, 8);
    hold(&c, 1, 8);
    c.learned[1].length = 70;
    (void)rounds_until_quiet(&c);
    assert_true(c.jobs[0].parallelism < c.jobs[1].parallelism);
}

/* In a stream of equal jobs the older ones have less left, and take nothing from newcomers. */
TEST(test_jobs_of_about_one_length_share_evenly)
{
    struct cluster_of c = cluster_of_nodes(4);

    for (size_t i = 0; i < 2; i++) {
        add(&c, 1, 16, 8)->units_left = 3000;
        c.learned[i].resize_s = 0;
        c.learned[i].length = i == 0 ? 100 : 200;
    }
    assert_int_equal(rounds_until_quiet(&c), 0);
    c.learned[0].length = 50; /* of another step */
    (void)rounds_until_quiet(&c);
    assert_true(c.jobs[0].parallelism > 8);
}

/* Nobody knows which of two silent jobs is better: the room is halved, whoever came first. */
TEST(test_silent_jobs_share_evenly)
{
    struct cluster_of c = cluster_of_nodes(6);

    for (int i = 0; i < 2; i++) {
        add(&c, 1, 24, i == 0 ? 20 : 4)->units_left = -1;
        goodput_learn_init(&c.learned[i]);
        c.learned[i].silent = true;
    }
    (void)rounds_until_quiet(&c);
    assert_int_equal(c.jobs[0].parallelism + c.jobs[1].parallelism, 24);
    assert_in_range(c.jobs[0].parallelism, 12, 13);
}

/* The one that would be over first takes nothing from the other when that is not paid back. */
TEST(test_resize_that_does_not_pay_is_not_made)
{
    struct cluster_of c = cluster_of_nodes(2);
    struct policy_state *policy = tested->new ();

    add(&c, 1, 8, 4)->units_left = 100; /* half a minute */
    (void)add(&c, 1, 8, 4);
    c.learned[0].resize_s = 60;
    assert_int_equal(decide(&c, policy), 0);
    c.learned[0].resize_s = 0.1;
    c.learned[1].resize_s = 0.1;
    assert_true(decide(&c, policy) > 0);
    assert_true(c.jobs[1].parallelism < 4);
    assert_null(tested->free(policy));
}

/* Room that nobody else wants is used, but not by who becomes slower by it. */
TEST(test_idle_room_is_tried_unless_it_was_in_vain)
{
    struct cluster_of c = cluster_of_nodes(2);

    (void)add(&c, 1, 8, 5);
    goodput_learn_init(&c.learned[0]);
    for (uint32_t k = 1; k <= 8; k++, c.learned[0].windows++)
        (void)goodput_pserver_add(&c.learned[0].fit,
                                  &(struct goodput_pserver_report){ k, 1, 1.0 / k + 0.2 * k });
    c.learned[0].largest = 8;
    (void)rounds_until_quiet(&c);
    assert_int_equal(c.jobs[0].parallelism, 3); /* five were much slower */
    c.learned[0].largest = 3;                   /* it was never tried with more: somewhat more is */
    (void)rounds_until_quiet(&c);
    assert_int_equal(c.jobs[0].parallelism, 5);
}

TEST(test_group_gets_what_is_guaranteed_to_it)
{
    struct cluster_of c = cluster_of_nodes(4);

    c.n_groups = 2;
    c.groups[0] = (struct policy_group){ .name = "a", .guaranteed_permille = 500, .weight = 1 };
    c.groups[1] = (struct policy_group){ .name = "b", .guaranteed_permille = 500, .weight = 1 };
    for (int i = 0; i < 3; i++)
        add(&c, 1, 16, 5)->units_left = 100; /* short ones, all of group a */
    c.jobs[2].parallelism = 4;
    c.held[2][0]--;
    add(&c, 1, 16, 1)->group = 1;
    c.jobs[3].units_left = 1e6;
    for (size_t i = 0; i < c.n_jobs; i++)
        c.learned[i].resize_s = 0;
    (void)rounds_until_quiet(&c);
    assert_int_equal(c.jobs[3].parallelism, 8);
    assert_int_equal(c.jobs[0].parallelism + c.jobs[1].parallelism + c.jobs[2].parallelism, 8);
}

/* Whoever would give his last one for least, of any group, stable or not. */
TEST(test_price_is_that_of_the_cheapest)
{
    struct cluster_of c = cluster_of_nodes(4);
    struct policy_state *policy = tested->new ();
    struct policy_price prices[POLICY_RESOURCES];
    struct policy_totals totals;
    double worth[4], least = INFINITY;

    c.n_groups = 2;
    c.groups[0] = (struct policy_group){ .name = "a", .guaranteed_permille = 500, .weight = 1 };
    c.groups[1] = (struct policy_group){ .name = "b", .guaranteed_permille = 500, .weight = 1 };
    for (size_t i = 0; i < 4; i++) {
        add(&c, 1, 16, 4)->group = i % 2;
        c.jobs[i].units_left = exp((double)i);
    }
    while (decide(&c, policy) > 0)
        continue;
    for (size_t i = 0; i < 4; i++) {
        char why[200];

        tested->explain(policy, c.jobs[i].id, why, sizeof why);
        assert_non_null(strstr(why, "the last is worth "));
        worth[i] = strtod(strstr(why, "worth ") + 6, NULL);
        least = fmin(least, worth[i]);
    }
    assert_true(worth[0] > 1.01 * least || worth[1] > 1.01 * least);
    totals = totals_of(&c);
    tested->prices(policy, &totals, prices);
    assert_near(prices[POLICY_CPU].worth, least, 0.01 * least);
    for (size_t i = 0; i < 4; i++) {
        c.jobs[i].stable = worth[i] > least;
        tested->put(policy, &c.jobs[i]);
    }
    tested->prices(policy, &totals, prices);
    assert_near(prices[POLICY_CPU].worth, least, 0.01 * least);
    assert_null(tested->free(policy));
}

/* --- random clusters: promises, an end, and the same whatever the order --- */

static void draw(struct cluster_of *c, uint64_t *seed)
{
    *c = cluster_of_nodes(1 + random_below(seed, NODES_MAX));
    if (random_below(seed, 3) == 0) {
        c->n_groups = 3;
        for (uint32_t g = 0; g < 3; g++)
            c->groups[g] = (struct policy_group){ .name = "g",
                                                  .guaranteed_permille = 300 * (g > 0),
                                                  .weight = 1 + g };
    }
    for (size_t n = 1 + random_below(seed, JOBS_MAX); n > 0; n--) {
        uint32_t min = 1 + (uint32_t)random_below(seed, 2);
        struct policy_job *job = add(c, min, min + (uint32_t)random_below(seed, 12), 0);
        size_t i = c->n_jobs - 1;

        job->cpu_millicores = 500 * random_below(seed, 5);
        job->memory_bytes = MIB * (1 + random_below(seed, 400));
        job->gpus = random_below(seed, 3) == 0 ? 1 : 0;
        job->units_left = random_below(seed, 4) == 0 ? -1 : exp(14 * random_unit(seed));
        job->units_done = exp(12 * random_unit(seed));
        job->elapsed_s = exp(14 * random_unit(seed));
        job->crowd = (uint32_t)random_below(seed, 30);
        job->priority = (int32_t)random_below(seed, 3);
        job->group = c->n_groups > 0 ? (uint32_t)random_below(seed, c->n_groups) : 0;
        if (random_below(seed, 4) == 0)
            goodput_learn_init(&c->learned[i]);
        else
            teach(&c->learned[i], random_unit(seed), 0.3 * random_unit(seed));
        /* its minimum is there already, or it would not be the policy's affair */
        c->before = c->jobs;
        c->moves = 0;
        for (uint32_t k = 0; k < min; k++)
            if (!grow(c, job->id)) {
                memset(c->held[i], 0, sizeof c->held[i]);
                c->n_jobs--;
                break;
            }
    }
}

TEST(test_random_clusters_settle_within_all_bounds)
{
    uint64_t seed = 71;
    size_t most = 0;

    for (int round = 0; round < 3000; round++) {
        struct cluster_of c;
        size_t rounds;

        draw(&c, &seed);
        if (c.n_jobs == 0)
            continue;
        rounds = rounds_until_quiet(&c);
        most = MAX_OF(most, rounds);
        for (size_t i = 0; i < c.n_jobs; i++)
            assert_in_range(c.jobs[i].parallelism, c.jobs[i].min, c.jobs[i].max);
    }
    print_message("decisions until nothing moves: %zu at most\n", most);
}

static void use_balanced(bool balanced)
{
    tested = balanced ? &policy_goodput_balanced : &policy_goodput;
}

/* A long job, a short one that scales as well, and all that the policy is to keep to. Both scale
 * nearly in proportion, so that what they are worth differs by more than the margin. */
TEST(test_balanced_leaves_more_to_the_long_one)
{
    uint32_t of_long_one[2];

    for (int balanced = 0; balanced < 2; balanced++) {
        struct cluster_of c = cluster_of_nodes(4);

        use_balanced(balanced == 1);
        (void)add(&c, 1, 16, 8);
        add(&c, 1, 16, 8)->units_left = 3000;
        c.learned[0].resize_s = c.learned[1].resize_s = 0;
        (void)rounds_until_quiet(&c);
        of_long_one[balanced] = c.jobs[0].parallelism;
        assert_int_equal(c.jobs[0].parallelism + c.jobs[1].parallelism, 16);
    }
    assert_true(of_long_one[1] > of_long_one[0]);
    test_random_clusters_settle_within_all_bounds(state);
    use_balanced(false);
}

TEST(test_order_in_which_jobs_are_told_does_not_matter)
{
    uint64_t seed = 72;

    for (int round = 0; round < 1000; round++) {
        struct cluster_of c, turned;
        struct policy_state *one = tested->new (), *other = tested->new ();

        draw(&c, &seed);
        if (c.n_jobs > 0) {
            turned = c;
            for (size_t i = c.n_jobs; i-- > 0;) { /* told in the other order before */
                turned.jobs[i].learned = &turned.learned[i];
                tested->put(other, &turned.jobs[i]);
            }
            (void)decide(&c, one);
            (void)decide(&turned, other);
            for (size_t i = 0; i < c.n_jobs; i++)
                assert_int_equal(c.jobs[i].parallelism, turned.jobs[i].parallelism);
        }
        assert_null(tested->free(one));
        assert_null(tested->free(other));
    }
}

TEST(test_unstable_jobs_are_moved_for_a_gang_only)
{
    uint64_t seed = 73;
    size_t moved = 0;

    for (int round = 0; round < 2000; round++) {
        struct cluster_of c;
        struct policy_state *policy = tested->new ();

        draw(&c, &seed); /* check_move looks at every move */
        for (size_t i = 0; i < c.n_jobs; i++)
            c.jobs[i].stable = random_below(&seed, 2);
        if (c.n_jobs > 1 && random_below(&seed, 2)) {
            c.jobs[0].pending = true;
            c.jobs[0].parallelism = 0;
            memset(c.held[0], 0, sizeof c.held[0]);
        }
        c.load_permille = 700 + (uint32_t)random_below(&seed, 300);
        if (c.n_jobs > 0 &&
            used_in_all(&c, 0) <= (int64_t)c.n_nodes * c.cpu * c.load_permille / 1000)
            moved += decide(&c, policy);
        assert_null(tested->free(policy));
    }
    assert_true(moved > 0);
}

/* Of 16 cores a long job holds so many, and a short one would have more than its one. */
static struct cluster_of short_beside_long(uint32_t held_by_long, bool rest)
{
    struct cluster_of c = cluster_of_nodes(4);

    add(&c, 1, 16, held_by_long)->units_left = 1e5;
    add(&c, 1, 16, 1)->units_left = 1e3;
    c.jobs[0].rests = c.jobs[1].rests = rest;
    return c;
}

TEST(test_who_rests_neither_gives_nor_takes)
{
    for (size_t resting = 0; resting < 2; resting++) {
        struct cluster_of c = short_beside_long(15, false);

        c.jobs[resting].rests = true;
        assert_int_equal(rounds_until_quiet(&c), 0);
        c.jobs[resting].rests = false; /* that is news */
        (void)rounds_until_quiet(&c);
        assert_true(c.jobs[1].parallelism > 8);
    }
}

TEST(test_who_rests_grows_where_there_is_room)
{
    struct cluster_of c = short_beside_long(8, true);

    (void)rounds_until_quiet(&c);
    assert_int_equal(c.jobs[0].parallelism + c.jobs[1].parallelism, 16);
}

TEST(test_who_rests_gives_what_is_urgent)
{
    struct cluster_of c = short_beside_long(15, true);
    struct policy_state *policy = tested->new ();

    add(&c, 4, 4, 0)->pending = true; /* a gang */
    (void)decide(&c, policy);
    assert_true(c.jobs[0].parallelism < 15);
    assert_null(tested->free(policy));
    c = short_beside_long(15, true);
    c.load_permille = 500; /* a limit is passed */
    (void)rounds_until_quiet(&c);
    assert_int_equal(c.jobs[0].parallelism + c.jobs[1].parallelism, 8);
}

/* Jobs give up all that is over a limit, down to their minima. */
TEST(test_what_is_over_a_limit_is_given_up)
{
    struct cluster_of c = cluster_of_nodes(4);

    (void)add(&c, 1, 16, 8);
    (void)add(&c, 2, 16, 8);
    c.load_permille = 500;
    (void)rounds_until_quiet(&c);
    assert_int_equal(c.jobs[0].parallelism + c.jobs[1].parallelism, 8);
    c.load_permille = 100;
    (void)rounds_until_quiet(&c);
    assert_int_equal(c.jobs[0].parallelism, 1);
    assert_int_equal(c.jobs[1].parallelism, 2);
}

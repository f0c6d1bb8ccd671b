/* SPDX-License-Identifier: Apache-2.0 */
/* test_trace_run.c - the laboratory's engine, and policies whose answer can be worked out by hand
 */
#include "tests/unit/test.h"
#include "tests/unit/trace_world.h"

/* ---- the engine ---- */

TEST(test_one_job_at_events)
{
    struct trace *trace = trace_of("submit_s,speed,work_steps,instances\n10,power:1,100,2\n");
    struct run_config config = cluster_of(1, 4);
    struct run_result result = run_of(trace, policy_of("fifo"), &config);
    struct figures figures;

    assert_near(result.jobs[0].start_s, 10);
    assert_near(result.jobs[0].done_s, 10 + 30 + 50);
    assert_near(result.jobs[0].wait_s, 0);
    assert_near(result.jobs[0].held_s, 160);
    assert_near(result.jobs[0].lost_s, 60);
    assert_near(result.jobs[0].served_s, 100);
    assert_int_equal(result.jobs[0].restarts, 0);
    assert_int_equal(figures_of(trace, &config, &result, &figures, NULL), 0);
    assert_near(figures.makespan_s, 80);
    assert_near(figures.allocated, 0.5);
    assert_near(figures.effective, 100.0 / 320);
    assert_near(figures.rho_worst, 80 / (25 + 90.0)); /* alone it has all four */
    run_result_done(&result);
    config.window_s = 5;
    config.restart_s = 0;
    result = run_of(trace, policy_of("fifo"), &config);
    assert_near(result.jobs[0].done_s, 10 + 5 + 50);
    assert_near(result.jobs[0].wait_s, 5);
    run_result_done(&result);
    (void)trace_free(trace);
}

TEST(test_one_job_in_rounds)
{
    struct trace *trace = trace_of("submit_s,speed,work_steps\n100000,power:1,100\n");
    struct run_config config = cluster_of(1, 4);
    struct run_result result;

    config.round_s = 60;
    result = run_of(trace, policy_of("fifo"), &config);
    assert_near(result.jobs[0].start_s, 100020); /* the next multiple of 60 */
    assert_near(result.jobs[0].done_s, 100020 + 30 + 100);
    assert_true(result.n_decisions < 10); /* rounds in which nobody is here are not played */
    assert_near(result.used_s, 180);      /* it is taken back at the end of a round */
    run_result_done(&result);
    (void)trace_free(trace);
}

/* A line has room for work that takes any time, and for one that a round does not change. */
TEST(test_a_run_without_end_is_given_up)
{
    static const struct {
        const char *job;
        double round_s;
        const char *policy, *says;
    } cases[] = {
        { "0,table:1=1e-9,1000000", 3600, "fifo", "or give a longer --round" },
        { "0,table:1=1e-9,1000000", 0, "sia", "is not over after 2000100 decisions" },
        { "1e12,power:1,1", 1e-6, "fifo", "look at its submit_s" },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        char text[100];
        struct run_config config = cluster_of(1, 4);
        struct edl_error error = { 0 };
        struct run_result result;
        struct trace *trace;

        (void)snprintf(text, sizeof text, "submit_s,speed,work_steps\n%s\n", cases[i].job);
        trace = trace_of(text);
        config.round_s = cases[i].round_s;
        assert_int_equal(run_trace(trace, policy_of(cases[i].policy), &config, &result, &error),
                         -E2BIG);
        if (strstr(error.text, cases[i].says) == NULL &&
            strstr(error.remedy, cases[i].says) == NULL)
            fail_msg("it says: %s; %s", error.text, error.remedy);
        (void)trace_free(trace);
    }
}

TEST(test_fifo_lets_nobody_overtake)
{
    struct trace *trace = trace_of("submit_s,speed,work_steps,instances\n"
                                   "0,power:1,300,3\n"  /* until 100 */
                                   "1,power:1,200,2\n"  /* waits for it, until 200 */
                                   "2,power:1,10,1\n"); /* would fit at once */
    struct run_config config = cluster_of(1, 4);
    struct run_result result;

    config.restart_s = 0;
    result = run_of(trace, policy_of("fifo"), &config);
    assert_near(result.jobs[0].done_s, 100);
    assert_near(result.jobs[1].done_s, 200);
    assert_near(result.jobs[2].done_s, 110);
    run_result_done(&result);
    result = run_of(trace, policy_of("srtf"), &config);
    assert_near(result.jobs[2].done_s, 12);
    assert_near(result.jobs[0].done_s, 100); /* shorter than the second one */
    run_result_done(&result);
    (void)trace_free(trace);
}

TEST(test_srtf_stops_the_longer_one)
{
    struct trace *trace = trace_of("submit_s,speed,work_steps,instances\n"
                                   "0,power:1,100,1\n20,power:1,10,1\n");
    struct run_config config = cluster_of(1, 1);
    struct run_result result = run_of(trace, policy_of("srtf"), &config);

    assert_near(result.jobs[1].done_s, 20 + 30 + 10);
    assert_near(result.jobs[0].done_s, 60 + 30 + 100); /* it stood still when it was stopped */
    assert_int_equal(result.jobs[0].restarts, 1);
    assert_near(result.jobs[0].wait_s, 40);
    assert_near(result.jobs[0].lost_s, 20 + 30);
    run_result_done(&result);
    (void)trace_free(trace);
}

/* ---- what a policy sees, and what it must not do ---- */

static unsigned seen_speeds, seen_lengths;

static void look_and_run(void *state, const struct view *view, struct plan *plan)
{
    (void)state;
    seen_speeds += !isnan(view_speed(view, 0, 2)) + !isnan(view_step_s(view, 0, 2, 0));
    seen_lengths += !isnan(view_remaining_s(view, 0, 1)) + !isnan(view_steps_left(view, 0));
    plan->counts[0] = 1;
}

TEST(test_what_is_not_used_is_not_seen)
{
    static const struct {
        unsigned uses, speeds, lengths;
    } cases[] = {
        { 0, 0, 0 },
        { USES_SPEEDS, 2, 0 },
        { USES_LENGTHS, 0, 1 }, /* steps, but not how long they take */
        { USES_SPEEDS | USES_LENGTHS, 2, 2 },
    };
    struct trace *trace = trace_of("submit_s,speed,work_steps\n0,power:1,100\n");
    struct run_config config = cluster_of(1, 4);

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        struct trace_policy policy = { .name = "spy",
                                       .uses = cases[i].uses,
                                       .decide = look_and_run };
        struct run_result result;

        seen_speeds = seen_lengths = 0;
        result = run_of(trace, &policy, &config);
        assert_int_equal(result.n_decisions, 1);
        assert_int_equal(seen_speeds, cases[i].speeds);
        assert_int_equal(seen_lengths, cases[i].lengths);
        run_result_done(&result);
    }
    (void)trace_free(trace);
}

static void do_nothing(void *state, const struct view *view, struct plan *plan)
{
    (void)state;
    (void)view;
    (void)plan;
}

static void give_too_much(void *state, const struct view *view, struct plan *plan)
{
    (void)state;
    for (size_t i = 0; i < view->n; i++)
        plan->counts[i] = 3;
}

static void give_too_little(void *state, const struct view *view, struct plan *plan)
{
    (void)state;
    (void)view;
    plan->counts[0] = 1;
}

static void assert_refused(const struct trace *trace, const struct trace_policy *policy,
                           const struct run_config *config, const char *says)
{
    struct edl_error error = { 0 };
    struct run_result result;

    assert_int_equal(run_trace(trace, policy, config, &result, &error), -EINVAL);
    if (strstr(error.text, says) == NULL)
        fail_msg("no \"%s\" in \"%s\"", says, error.text);
}

TEST(test_policies_are_checked)
{
    struct trace *trace = trace_of(
        "job,submit_s,speed,work_steps,min,instances\na,0,power:1,9,2,2\nb,0,power:1,9,2,2\n");
    struct trace_policy policy = { .name = "bad", .decide = do_nothing };
    struct run_config config = cluster_of(1, 4);

    assert_refused(trace, &policy, &config, "bad leaves job a of test.csv waiting for ever");
    config.round_s = 1;
    assert_refused(trace, &policy, &config, "waiting for ever");
    policy.decide = give_too_much;
    assert_refused(trace, &policy, &config, "bad gives out 6 instances of 4");
    policy.decide = give_too_little;
    assert_refused(trace, &policy, &config, "bad gives job a 1 instances, not 2 to 4");
    config.information.lengths = false;
    assert_refused(trace, policy_of("srtf"), &config, "srtf uses lengths");
    config = cluster_of(1, 1);
    assert_refused(trace, policy_of("fifo"), &config, "job a needs 2 instances, the cluster has 1");
    (void)trace_free(trace);
}

/* ---- what nobody measured ---- */

/* One instance a step and second each; but nothing is known of three, of more than five, and of two
 * on two nodes. */
static int gaps_pace(struct profile *profile, const struct shape *shape, struct pace *ret,
                     struct edl_error *error)
{
    if (shape->n == 3 || shape->n > 5 || (shape->n == 2 && shape->n_nodes == 2))
        return edl_error_set(error, -ERANGE, "%s: unknown: %u on %u nodes", profile->name, shape->n,
                             shape->n_nodes);
    ret->rate[0] = shape->n;
    ret->step_s = 1.0 / shape->n;
    return 0;
}

static void free_gaps(struct profile *profile)
{
    free(profile);
}

/* trace_with_gaps - its jobs ask for so many; 0 ends them */
static struct trace *trace_with_gaps(const uint32_t *requested)
{
    static const struct profile_ops ops = { .name = "gaps", .pace = gaps_pace, .free = free_gaps };
    struct profile *profile = xcalloc(1, sizeof(*profile));
    struct trace *trace = trace_new("gaps");

    profile_init(profile, &ops, "m");
    profile->needs_shape = true;
    for (; *requested != 0; requested++) {
        struct trace_job *job = trace_add(trace);

        job->name = xstrdup("j");
        job->family = xstrdup("m");
        job->user = xstrdup("");
        job->work_steps = 100;
        job->requested = *requested;
        job->min = 1;
        job->max = UINT32_MAX;
        job->profile = profile_ref(profile);
    }
    (void)profile_unref(profile);
    return trace;
}

static struct view_job shown;
static uint32_t wanted;

static void see_and_give(void *state, const struct view *view, struct plan *plan)
{
    (void)state;
    shown = view->jobs[0];
    plan->counts[0] = wanted;
}

TEST(test_what_was_not_measured_cannot_be_chosen)
{
    struct trace *trace = trace_with_gaps((const uint32_t[]){ 4, 3, 9, 2, 0 });
    struct trace_policy policy = { .name = "spy", .decide = see_and_give };
    struct run_config config = cluster_of(1, 8);
    struct run_result result;

    for (size_t i = 0; trace_policies[i] != NULL; i++) {
        result = run_of(trace, trace_policies[i], &config);
        assert_int_equal(result.n_cut, 2); /* three, nine */
        run_result_done(&result);
    }
    (void)trace_free(trace);
    trace = trace_with_gaps((const uint32_t[]){ 3, 0 });
    wanted = 4;
    result = run_of(trace, &policy, &config);
    assert_int_equal(shown.requested, 2);
    assert_int_equal(shown.max, 5);
    assert_int_equal(view_next(&shown, 2), 4);
    assert_int_equal(view_prev(&shown, 4), 2);
    assert_int_equal(view_next(&shown, 5), 0);
    run_result_done(&result);
    config.per_node = 2; /* two are all that there is: no gap */
    wanted = 1;
    result = run_of(trace, &policy, &config);
    assert_null(shown.counts);
    assert_int_equal(shown.max, 2);
    run_result_done(&result);
    (void)trace_free(trace);
}

TEST(test_an_unknown_shape_names_policy_and_job)
{
    struct trace *trace = trace_with_gaps((const uint32_t[]){ 2, 0 });
    struct trace_policy policy = { .name = "spy", .decide = see_and_give };
    struct run_config config = cluster_of(2, 4);
    struct edl_error error = { 0 };
    struct run_result result;

    wanted = 3; /* although it is not offered */
    assert_int_equal(run_trace(trace, &policy, &config, &result, &error), -ERANGE);
    assert_string_equal(error.text, "spy, job j of gaps: m: unknown: 3 on 1 nodes");
    assert_non_null(strstr(error.remedy, "--policy without spy"));
    config = cluster_of(2, 1); /* one on each of two: nobody knows two there */
    wanted = 1;
    result = run_of(trace, &policy, &config);
    assert_int_equal(shown.max, 1);
    run_result_done(&result);
    trace->jobs[0].min = 2;
    assert_int_equal(run_trace(trace, &policy, &config, &result, &error), -ERANGE);
    assert_string_equal(error.text, "gaps, job j: m: unknown: 2 on 2 nodes");
    (void)trace_free(trace);
}

TEST(test_bounds_name_who_cannot_run)
{
    struct trace *trace = trace_with_gaps((const uint32_t[]){ 2, 0 });
    struct run_config config = cluster_of(1, 8);
    struct edl_error error = { 0 };
    struct bounds bounds;

    trace->jobs[0].min = 6;
    assert_int_equal(bounds_of(trace, &config, &bounds, &error), -ERANGE);
    assert_string_equal(error.text, "gaps, job j: m: unknown: 6 on 1 nodes");
    trace->jobs[0].min = 9;
    assert_int_equal(bounds_of(trace, &config, &bounds, &error), -EINVAL);
    assert_string_equal(error.text, "gaps: job j needs 9 instances, the cluster has 8");
    assert_string_equal(error.remedy, "more or larger nodes: --nodes");
    (void)trace_free(trace);
}

/* ---- policies ---- */

static const char *plan_of; /* the policy whose first decision is recorded */
static uint32_t counts[8], pservers[8];

static void record(void *state, const struct view *view, struct plan *plan)
{
    policy_of(plan_of)->decide(state, view, plan);
    if (counts[0] != UINT32_MAX)
        return;
    for (size_t i = 0; i < view->n; i++) {
        counts[i] = plan->counts[i];
        pservers[i] = plan->pservers[i];
    }
}

/* first_plan - of a policy for jobs that are all there at once */
static void first_plan(const char *policy, const char *text, uint32_t n_nodes, uint32_t per_node)
{
    struct trace *trace = trace_of(text);
    struct trace_policy recorded = *policy_of(policy);
    struct run_config config = cluster_of(n_nodes, per_node);
    struct run_result result;

    plan_of = policy;
    counts[0] = UINT32_MAX;
    recorded.decide = record;
    result = run_of(trace, &recorded, &config);
    run_result_done(&result);
    (void)trace_free(trace);
}

TEST(test_optimus)
{
    /* gains of the first: 660 (1 - 1/2), 660 (1/2 - 1/3), 660 (1/3 - 1/4) = 55; the other's is 50
     */
    first_plan("optimus", "submit_s,speed,work_steps\n0,power:1,660\n0,power:1,100\n", 1, 5);
    assert_int_equal(counts[0], 4);
    assert_int_equal(counts[1], 1);
    /* a table's next amount is dearer: its gain counts by instance */
    first_plan("optimus", "submit_s,speed,work_steps\n0,table:1=1;4=2,100\n0,power:1,40\n", 1, 5);
    assert_int_equal(counts[0], 1); /* 50 / 3 against 20, 6.7, 3.3, 2 */
    assert_int_equal(counts[1], 4);
}

TEST(test_optimus_chooses_servers_and_trainers)
{
    first_plan("optimus", "submit_s,speed,work_steps,max\n0,pserver:vgg-16,1000,6\n", 1, 8);
    assert_int_equal(counts[0], 6);
    assert_int_equal(pservers[0], 5); /* one trainer: more of them are slower here */
    first_plan("optimus", "submit_s,speed,work_steps,max\n0,pserver:dssm,1000,6\n", 1, 8);
    assert_int_equal(pservers[0], 1);
}

TEST(test_afs)
{
    /* not enough for all: the shortest */
    first_plan("afs-l", "submit_s,speed,work_steps\n0,power:1,30\n0,power:1,10\n0,power:1,20\n", 1,
               2);
    assert_int_equal(counts[0], 0);
    assert_int_equal(counts[1], 1);
    assert_int_equal(counts[2], 1);
    /* equal speed-up: the shorter one gains 1 relative to its speed, the longer one 1/2 behind it;
     * then both 1/2, and the longer one wins */
    first_plan("afs-l", "submit_s,speed,work_steps\n0,power:1,100\n0,power:1,10\n", 1, 3);
    assert_int_equal(counts[0], 1);
    assert_int_equal(counts[1], 2);
    first_plan("afs-l", "submit_s,speed,work_steps\n0,power:1,100\n0,power:1,10\n", 1, 4);
    assert_int_equal(counts[0], 2);
    assert_int_equal(counts[1], 2);
    first_plan("afs-l", "submit_s,speed,work_steps\n0,power:1,10\n0,power:1,100\n", 1, 4);
    assert_int_equal(counts[0], 2);
    assert_int_equal(counts[1], 2);
    /* the shorter one does not scale: 0.02 against 0.5 */
    first_plan("afs-l", "submit_s,speed,work_steps\n0,power:1,100\n0,power:0.03,10\n", 1, 4);
    assert_int_equal(counts[0], 3);
    assert_int_equal(counts[1], 1);
}

TEST(test_fulfilment)
{
    /* 50 places, 48 may be taken by growth, 3 are minima: half of 40, of 30 and of 20 */
    first_plan("fulfilment",
               "submit_s,speed,work_steps,max\n0,power:1,9,41\n0,power:1,9,31\n0,power:1,9,21\n",
               10, 5);
    assert_int_equal(counts[0], 21);
    assert_int_equal(counts[1], 16);
    assert_int_equal(counts[2], 11);
}

TEST(test_fulfilment_shrinks_for_who_waits)
{
    struct trace *trace = trace_of("submit_s,speed,work_steps,min,instances\n"
                                   "0,power:1,1000,1,1\n50,power:1,10,3,3\n");
    struct run_config config = cluster_of(1, 4);
    struct run_result result = run_of(trace, policy_of("fulfilment"), &config);

    assert_near(result.jobs[1].start_s, 50);
    assert_int_equal(result.jobs[0].restarts, 2); /* shrunk, and grown again */
    run_result_done(&result);
    (void)trace_free(trace);
}

TEST(test_tiresias)
{
    struct trace *trace = trace_of("submit_s,speed,work_steps,instances\n"
                                   "0,power:1,400000,4\n1000,power:1,4000,4\n");
    struct run_config config = cluster_of(1, 4);
    struct run_result result;

    config.restart_s = 0;
    result = run_of(trace, policy_of("tiresias"), &config);
    /* 16 instance-hours are 14400 s with four: then the second one goes first */
    assert_near(result.jobs[1].start_s, 14400);
    assert_near(result.jobs[1].done_s, 15400);
    assert_near(result.jobs[0].done_s, 100000 + 1000);
    run_result_done(&result);
    (void)trace_free(trace);
}

/* --- Sia: the knapsack against every choice there is --- */

static unsigned compared;

static double sia_value(const struct view *view, size_t i, uint32_t n)
{
    const struct view_job *job = &view->jobs[i];
    double age_s = view->now_s - job->submit_s, g;

    if (n == 0)
        return 0;
    g = view_speed(view, i, n);
    if (job->held > 0 && n != job->held)
        g *= fmax((age_s - job->restarts * view->restart_s) / (age_s + view->restart_s), 0.01);
    return 1.1 - 1 / sqrt(g);
}

static bool sia_may(const struct view *view, size_t i, uint32_t n)
{
    const struct view_job *job = &view->jobs[i];

    if (job->held > 0 && job->restart_left_s > 0)
        return n == job->held;
    if (n > (job->held > 0 ? 2 * job->held : 1) || n > job->max)
        return false;
    return n == 0 || n == job->held ||
           (n < view->per_node ? (n & (n - 1)) == 0 : n % view->per_node == 0);
}

static double best_of_all(const struct view *view, size_t i, uint32_t left)
{
    double best = -INFINITY;

    if (i == view->n)
        return 0;
    for (uint32_t n = 0; n <= left; n++)
        if (sia_may(view, i, n))
            best = fmax(best, sia_value(view, i, n) + best_of_all(view, i + 1, left - n));
    return best;
}

static void compare_sia(void *state, const struct view *view, struct plan *plan)
{
    double value = 0;

    policy_of("sia")->decide(state, view, plan);
    if (view->n > 4)
        return;
    for (size_t i = 0; i < view->n; i++)
        value += sia_value(view, i, plan->counts[i]);
    assert_near(value, best_of_all(view, 0, view->capacity));
    compared++;
}

TEST(test_sia_is_exact)
{
    struct trace *trace = trace_of("submit_s,speed,work_steps\n"
                                   "0,power:0.9,2000\n5,power:0.6,1500\n100,amdahl:0.05,2500\n"
                                   "300,power:1,900\n310,amdahl:0.3,700\n400,power:0.8,1200\n");
    struct trace_policy policy = *policy_of("sia");
    struct run_config config = cluster_of(2, 4);
    struct run_result result;

    compared = 0;
    policy.decide = compare_sia;
    result = run_of(trace, &policy, &config);
    assert_true(compared > 10);
    run_result_done(&result);
    (void)trace_free(trace);
}

/* ---- ours ---- */

TEST(test_goodput_prefers_the_shorter)
{
    struct trace *trace = trace_of("submit_s,speed,work_steps\n0,power:1,1000\n0,power:1,100\n");
    struct run_config config = cluster_of(1, 8);
    struct run_result result;

    config.restart_s = 0;
    result = run_of(trace, policy_of("goodput"), &config);
    /* everybody has one, and the rest goes to the one that ends first */
    assert_near(result.jobs[1].done_s, 100.0 / 7);
    assert_near(result.jobs[0].done_s, 100.0 / 7 + (1000 - 100.0 / 7) / 8);
    assert_near(result.jobs[0].wait_s, 0);
    run_result_done(&result);
    result = run_of(trace, policy_of("goodput-patient"), &config); /* or all of it */
    assert_near(result.jobs[1].done_s, 100.0 / 8);
    assert_near(result.jobs[0].wait_s, 100.0 / 8);
    run_result_done(&result);
    (void)trace_free(trace);
}

/* The first waits for three places while a later one begins in the last one: who began out of turn
 * is forgotten when it ends, or it goes on holding room. */
TEST(test_live_forgets_who_ended)
{
    struct trace *trace = trace_of("submit_s,speed,work_steps,instances,min,max\n"
                                   "0,power:0.9,200000,1,1,8\n0,power:0.9,600,3,3,3\n"
                                   "10,power:0.9,300,5,5,8\n20,power:0.9,1000,1,1,1\n");
    struct run_config config = cluster_of(1, 8);
    struct run_result result = run_of(trace, policy_of("goodput-live"), &config);

    assert_true(result.jobs[2].start_s > result.jobs[3].start_s);
    /* alone at last, with all there is */
    assert_true(result.jobs[0].done_s < 1.2 * 200000 / pow(8, 0.9));
    run_result_done(&result);
    (void)trace_free(trace);
}

TEST(test_goodput_pays_for_changes)
{
    struct trace *trace = trace_of("submit_s,speed,work_steps\n0,power:1,200\n1,power:1,20\n");
    struct run_config config = cluster_of(1, 2);
    struct run_result result;

    config.restart_s = 15; /* as long as what is left of it would be faster */
    result = run_of(trace, policy_of("goodput"), &config);
    assert_int_equal(result.jobs[1].restarts, 0);
    run_result_done(&result);
    (void)trace_free(trace);
}

/* One of each family ended before: then it is known which of two new ones is the longer. */
TEST(test_goodput_knows_families)
{
    struct trace *trace = trace_of("submit_s,speed,work_steps,family\n"
                                   "0,power:1,1000,long\n0,power:1,100,short\n"
                                   "5000,power:1,100,short\n5000,power:1,1000,long\n");
    struct run_config config = cluster_of(1, 8);
    struct run_result result;

    config.restart_s = 0;
    config.information.lengths = false;
    config.information.history = true;
    result = run_of(trace, policy_of("goodput"), &config);
    /* of equal ones the first counts as the longer */
    assert_near(result.jobs[2].done_s, 5000 + 100.0 / 7);
    run_result_done(&result);
    config.information.history = false; /* nobody says so: the first one is taken for the longer */
    result = run_of(trace, policy_of("goodput"), &config);
    assert_true(result.jobs[2].done_s > 5000 + 50);
    run_result_done(&result);
    (void)trace_free(trace);
}

TEST(test_speeds_of_laws_cannot_be_learnt)
{
    struct trace *trace = trace_of("submit_s,speed,work_steps\n0,power:1,1000\n");
    struct run_config config = cluster_of(1, 8);

    config.information.speeds = SPEEDS_LEARNT;
    assert_refused(trace, policy_of("goodput"), &config, "rounds only");
    config.round_s = 60;
    assert_refused(trace, policy_of("goodput"), &config, "cannot be learnt");
    (void)trace_free(trace);
}

TEST(test_same_run_twice)
{
    struct trace *trace =
        trace_of("submit_s,speed,work_steps,instances\n"
                 "0,power:0.9,2000,2\n5,power:0.6,1500,1\n100,amdahl:0.05,2500,4\n"
                 "300,power:1,900,2\n310,amdahl:0.3,700,2\n400,power:0.8,1200,8\n");
    struct run_config config = cluster_of(2, 4);

    for (size_t p = 0; trace_policies[p] != NULL; p++) {
        struct run_result one = run_of(trace, trace_policies[p], &config);
        struct run_result two = run_of(trace, trace_policies[p], &config);

        assert_memory_equal(one.jobs, two.jobs, one.n_jobs * sizeof(*one.jobs));
        for (size_t i = 0; i < one.n_jobs; i++) /* nobody is faster than alone with all */
            assert_true(one.jobs[i].done_s - one.jobs[i].start_s >= 30);
        run_result_done(&one);
        run_result_done(&two);
    }
    (void)trace_free(trace);
}

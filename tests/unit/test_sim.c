/* SPDX-License-Identifier: Apache-2.0 */
/* test_sim.c - the simulator itself, and some seeds of every profile
 *
 * EDL_SEEDS: how many of each profile; EDL_SEED chooses them (seeds.h). */
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

#include "scheduler/core/core.h"
#include "scheduler/core/model/cluster_internal.h"
#include "simulator/internal.h"
#include "tests/unit/seeds.h"
#include "tests/unit/test.h"

#define SEEDS 10
#define MIXED_SEEDS 25
#define GIB (UINT64_C(1) << 30)

/* --- the engine --- */

TEST(test_heap_gives_events_by_time_then_by_their_making)
{
    struct heap heap = { 0 };
    uint64_t random = 7;
    struct event last = { 0 };
    struct event event;

    for (uint64_t i = 1; i <= 1000; i++)
        heap_push(&heap, &(struct event){ .at_us = random_below(&random, 50), .seq = i });
    for (int i = 0; i < 1000; i++) {
        assert_true(heap_pop(&heap, &event));
        assert_true(event.at_us > last.at_us ||
                    (event.at_us == last.at_us && event.seq > last.seq));
        last = event;
    }
    assert_false(heap_pop(&heap, &event));
    free(heap.items);
}

TEST(test_stream_depends_on_seed_name_and_numbers)
{
    const struct sim one = { .config = { .seed = 1 } };
    const struct sim two = { .config = { .seed = 2 } };

    assert_true(stream(&one, "a", 1, 2) == stream(&one, "a", 1, 2));
    assert_true(stream(&one, "a", 1, 2) != stream(&two, "a", 1, 2));
    assert_true(stream(&one, "a", 1, 2) != stream(&one, "b", 1, 2));
    assert_true(stream(&one, "a", 1, 2) != stream(&one, "a", 2, 1));
}

static char *trace_of(uint64_t seed, uint64_t *ret_hash)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    struct sim_run_options options = { .profile = "storm", .no_shrink = true, .trace = file };
    struct sim_result result;

    assert_int_equal(sim_run_seed(&options, seed, &result, NULL), 0);
    *ret_hash = result.hash;
    sim_result_done(&result);
    (void)fclose(file);
    return text;
}

TEST(test_seed_gives_one_history)
{
    uint64_t hashes[3];
    char *a = trace_of(11, &hashes[0]);
    char *b = trace_of(11, &hashes[1]);
    char *c = trace_of(12, &hashes[2]);

    assert_string_equal(a, b);
    assert_true(strcmp(a, c) != 0);
    assert_true(hashes[0] == hashes[1] && hashes[0] != hashes[2]);
    free(a);
    free(b);
    free(c);
}

TEST(test_profile_that_does_not_exist_is_refused)
{
    struct edl_error error = { 0 };
    struct sim_result result;

    assert_int_equal(sim_run_seed(&(struct sim_run_options){ .profile = "sunshine" }, 1, &result,
                                  &error),
                     -EINVAL);
    assert_non_null(strstr(error.text, "sunshine"));
}

/* --- a small cluster --- */

static struct job_spec *spec_of(const char *name, uint32_t min, uint32_t max)
{
    struct job_spec *spec = job_spec_new(1);
    struct role_spec *role = &spec->roles[spec->n_roles++];

    (void)snprintf(spec->name, sizeof spec->name, "%s", name);
    (void)snprintf(role->name, sizeof role->name, "trainer");
    spec->fault_tolerant = true;
    spec->passes = 2;
    spec->grace_us = 2 * USEC_PER_SEC;
    spec->restart_max = 5;
    spec->restart_backoff_us = USEC_PER_SEC;
    role->argv = xcalloc(1, sizeof(*role->argv));
    role->workspace = xstrdup("");
    role->min = min;
    role->max = max;
    role->cpu_millicores = 1000;
    role->memory_bytes = GIB;
    return spec;
}

static struct sim *small_of(uint32_t n_schedulers, uint32_t n_nodes)
{
    struct sim *sim = sim_new(&(struct sim_config){ .seed = 5,
                                                    .max_load_permille = 1000,
                                                    .schedulers = n_schedulers,
                                                    .latency = { 500, 2000 },
                                                    .commit = { 1000, 5000 } });
    const struct node_offer offer = {
        .cpu_millicores = 4000, .memory_bytes = 8 * GIB, .port_first = 20000, .port_last = 20099
    };

    for (uint32_t i = 0; i < n_nodes; i++) {
        char name[16];

        (void)snprintf(name, sizeof name, "n%u", i);
        assert_int_equal(sim_add_node(sim, 0, name, &offer), i);
    }
    return sim;
}

static struct sim *small(uint32_t n_nodes)
{
    return small_of(1, n_nodes);
}

static void done(struct sim *sim)
{
    if (sim_violation(sim) != NULL)
        fail_msg("%s", sim_violation(sim)->text);
    (void)sim_free(sim);
}

static void count_process(const struct sim_process_view *view, void *userdata)
{
    (void)view;
    ++*(uint32_t *)userdata;
}

static uint32_t n_processes(const struct sim *sim)
{
    uint32_t n = 0;

    sim_each_process(sim, count_process, &n);
    return n;
}

static const struct sim_work forever = { .kind = SIM_WORK_FOREVER,
                                         .start = { 100000, 200000 },
                                         .stop = { 100000, 200000 } };

TEST(test_job_works_off_its_tasks_and_ends)
{
    const struct sim_work work = { .kind = SIM_WORK_TASKS,
                                   .tasks = 20,
                                   .records_per_task = 10,
                                   .task_us = USEC_PER_SEC,
                                   .save_us = USEC_PER_SEC,
                                   .start = { 1000000, 1000000 } };
    struct sim *sim = small(1);
    struct sim_job_facts facts;

    (void)sim_submit_at(sim, 10 * USEC_PER_SEC, spec_of("one", 2, 4), &work);
    sim_run_until(sim, 60 * USEC_PER_SEC);
    sim_job_facts(sim, 0, &facts);
    assert_int_equal(facts.state, JOB_SUCCEEDED);
    assert_true(facts.submitted_us == 10 * USEC_PER_SEC);
    assert_true(facts.acknowledged_us < facts.submitted_us + USEC_PER_SEC);
    assert_true(facts.started_us > 11 * USEC_PER_SEC && facts.started_us < 12 * USEC_PER_SEC);
    /* 40 tasks of 1 s by 2 to 4 trainers, and the model */
    assert_true(facts.ended_us > 21 * USEC_PER_SEC && facts.ended_us < 34 * USEC_PER_SEC);
    assert_true(facts.cpu_granted_us > 40 * USEC_PER_SEC);
    assert_int_equal(n_processes(sim), 0);
    assert_int_equal(task_queue_counts(cluster_job(sim_cluster(sim), 1)->queue).records_total, 400);
    done(sim);
}

TEST(test_foreign_load_makes_trainers_give_way_and_grow_back)
{
    struct sim *sim = small(1);

    (void)sim_submit_at(sim, 10 * USEC_PER_SEC, spec_of("one", 1, 3), &forever);
    sim_foreign_at(sim, 60 * USEC_PER_SEC, 0, 2500, 0);
    sim_foreign_at(sim, 120 * USEC_PER_SEC, 0, 0, 0);
    sim_run_until(sim, 59 * USEC_PER_SEC);
    assert_int_equal(n_processes(sim), 3);
    sim_run_until(sim, 119 * USEC_PER_SEC);
    assert_int_equal(n_processes(sim), 1);
    sim_run_until(sim, 200 * USEC_PER_SEC);
    assert_int_equal(n_processes(sim), 3);
    done(sim);
}

TEST(test_kill_drain_and_scale_are_carried_out)
{
    struct sim *sim = small(2);
    struct sim_job_facts facts;

    (void)sim_submit_at(sim, 10 * USEC_PER_SEC, spec_of("one", 2, 2), &forever);
    (void)sim_submit_at(sim, 10 * USEC_PER_SEC, spec_of("two", 1, 1), &forever);
    sim_kill_at(sim, 30 * USEC_PER_SEC, 1);
    sim_scale_at(sim, 30 * USEC_PER_SEC, 0, NULL, 3, 3);
    sim_node_state_at(sim, 60 * USEC_PER_SEC, 0, NODE_DRAINING);
    sim_run_until(sim, 29 * USEC_PER_SEC);
    assert_int_equal(n_processes(sim), 3);
    sim_run_until(sim, 59 * USEC_PER_SEC);
    assert_int_equal(n_processes(sim), 3);
    sim_job_facts(sim, 1, &facts);
    assert_int_equal(facts.state, JOB_KILLED);
    sim_run_until(sim, 90 * USEC_PER_SEC);
    assert_null(sim->nodes[0]->units);
    assert_int_equal(n_processes(sim), 3);
    done(sim);
}

/* groups - of two nodes: whether what runs there can be frozen */
static struct sim *two_nodes(bool groups)
{
    struct sim *sim = small(2);

    for (uint32_t i = 0; i < 2; i++)
        sim->nodes[i]->can_freeze = groups;
    return sim;
}

/* What a node that is cut off runs stands still, until its place is known to be another's. */
TEST(test_cut_off_node_stands_still_and_is_killed_as_it_stands)
{
    struct sim *sim = two_nodes(true);
    uint32_t first;

    (void)sim_submit_at(sim, 10 * USEC_PER_SEC, spec_of("one", 1, 1), &forever);
    sim_run_until(sim, 30 * USEC_PER_SEC);
    first = sim->nodes[0]->units != NULL ? 0 : 1;
    sim_script_at(sim, 30 * USEC_PER_SEC,
                  &(struct script){
                      .kind = SCRIPT_CUT, .node = first, .a = 3, .for_us = 90 * USEC_PER_SEC });
    sim_run_until(sim,
                  41 * USEC_PER_SEC); /* a lease of 15 s ends at 44 s at least, a sixth before */
    assert_false(sim->nodes[first]->units->frozen);
    sim_run_until(sim, 45 * USEC_PER_SEC);
    assert_true(sim->nodes[first]->units->frozen);
    sim_run_until(sim, 100 * USEC_PER_SEC);
    assert_true(sim->nodes[first]->units->frozen);
    assert_int_equal(sim->nodes[1 - first]->cpu_used, 1000);
    sim_run_until(sim, 150 * USEC_PER_SEC);
    assert_int_equal(n_processes(sim), 1);
    assert_int_equal(sim_saw(sim, SIM_SEEN_THAWED), 0);
    done(sim);
}

TEST(test_scheduler_that_is_away_ends_nothing)
{
    struct sim *sim = two_nodes(true);
    const struct unit *unit;
    uint64_t serial;

    (void)sim_submit_at(sim, 10 * USEC_PER_SEC, spec_of("one", 2, 2), &forever);
    sim_run_until(sim, 30 * USEC_PER_SEC);
    unit = sim->nodes[0]->units != NULL ? sim->nodes[0]->units : sim->nodes[1]->units;
    serial = unit->serial;
    sim_script_at(sim, 30 * USEC_PER_SEC,
                  &(struct script){ .kind = SCRIPT_SERVER_REBOOT, .for_us = 60 * USEC_PER_SEC });
    sim_run_until(sim, 80 * USEC_PER_SEC);
    assert_true(unit->frozen);
    sim_run_until(sim, 110 * USEC_PER_SEC);
    assert_false(unit->frozen);
    assert_int_equal(unit->serial, serial);
    assert_int_equal(unit->life, LIFE_RUNNING);
    assert_int_equal(n_processes(sim), 2);
    assert_int_equal(sim_saw(sim, SIM_SEEN_THAWED), 2);
    done(sim);
}

/* Where nothing can be frozen it ends by itself, before it is started elsewhere. */
TEST(test_cut_off_node_stops_before_its_work_is_granted_again)
{
    struct sim *sim = two_nodes(false);
    uint32_t first;

    (void)sim_submit_at(sim, 10 * USEC_PER_SEC, spec_of("one", 1, 1), &forever);
    sim_run_until(sim, 30 * USEC_PER_SEC);
    first = sim->nodes[0]->units != NULL ? 0 : 1;
    sim_script_at(sim, 30 * USEC_PER_SEC,
                  &(struct script){
                      .kind = SCRIPT_CUT, .node = first, .a = 3, .for_us = 90 * USEC_PER_SEC });
    sim_run_until(sim, 45 * USEC_PER_SEC);
    assert_int_equal(n_processes(sim), 0);  /* the lease is 15 s */
    sim_run_until(sim, 100 * USEC_PER_SEC); /* what the cut held back may renew the lease late */
    assert_int_equal(n_processes(sim), 1);
    assert_int_equal(sim->nodes[1 - first]->cpu_used, 1000);
    sim_run_until(sim, 150 * USEC_PER_SEC);
    assert_int_equal(n_processes(sim), 1);
    done(sim);
}

/* A task of 50 minutes is never done within its lease. Who holds one is stopped, soon or late after
 * the lease timed out and before anybody else asks for the task: it failed by then, and so it is as
 * often as the scheduler counts that it is discarded. */
TEST(test_lease_that_timed_out_counts_whoever_is_stopped_later)
{
    static const uint64_t stop_at_s[] = { 1250, 1500, 2700 };
    const struct sim_work work = { .kind = SIM_WORK_TASKS,
                                   .tasks = 2,
                                   .records_per_task = 10,
                                   .task_us = 50 * 60 * USEC_PER_SEC,
                                   .start = { 100000, 200000 },
                                   .stop = { 100000, 200000 } };
    struct sim *sim = small(2);

    for (uint32_t job = 0; job < ELEMENTS(stop_at_s); job++) {
        char name[16];
        struct job_spec *spec;

        (void)snprintf(name, sizeof name, "job-%u", job);
        spec = spec_of(name, 1, 2);
        spec->passes = 1;
        (void)sim_submit_at(sim, 10 * USEC_PER_SEC, spec, &work);
        sim_scale_at(sim, stop_at_s[job] * USEC_PER_SEC, job, NULL, 1, 1);
    }
    sim_run_until(sim, 60 * USEC_PER_SEC);
    assert_int_equal(n_processes(sim), 6); /* all tasks are held */
    sim_run_until(sim, 2800 * USEC_PER_SEC);
    assert_int_equal(n_processes(sim), 3);
    sim_run_until(sim, 24 * 3600 * USEC_PER_SEC);
    assert_int_equal(sim_saw(sim, SIM_SEEN_TASKS_FINISHED), 0);
    for (uint32_t job = 0; job < ELEMENTS(stop_at_s); job++) {
        struct sim_job_facts facts;

        sim_job_facts(sim, job, &facts);
        assert_int_equal(facts.state, JOB_FAILED); /* no task was trained */
    }
    done(sim);
}

/* What a frozen machine should have done happens at once when it goes on. */
TEST(test_frozen_machine_does_nothing_and_is_overdue_afterwards)
{
    struct sim *sim = small(1);

    (void)sim_submit_at(sim, 10 * USEC_PER_SEC, spec_of("one", 1, 1), &forever);
    sim_script_at(sim, 30 * USEC_PER_SEC,
                  &(struct script){
                      .kind = SCRIPT_FREEZE, .node = 0, .for_us = 40 * USEC_PER_SEC });
    sim_run_until(sim, 69 * USEC_PER_SEC);
    assert_int_equal(n_processes(sim), 1); /* frozen, not gone */
    assert_int_equal(sim->nodes[0]->units->id.incarnation, 1);
    sim_run_until(sim, 90 * USEC_PER_SEC);
    assert_int_equal(n_processes(sim), 1);
    assert_true(sim->nodes[0]->units->id.incarnation > 1);
    done(sim);
}

/* Neither end of the scheduler nor of an agent disturbs what runs. */
TEST(test_crashes_of_scheduler_and_agent_disturb_nothing)
{
    struct sim *sim = small(1);

    (void)sim_submit_at(sim, 10 * USEC_PER_SEC, spec_of("one", 2, 2), &forever);
    for (uint64_t at_s = 30; at_s < 90; at_s += 10) {
        sim_script_at(sim, at_s * USEC_PER_SEC,
                      &(struct script){ .kind = SCRIPT_SERVER_CRASH, .for_us = 2 * USEC_PER_SEC });
        sim_script_at(sim, (at_s + 5) * USEC_PER_SEC,
                      &(struct script){ .kind = SCRIPT_AGENT_CRASH, .for_us = USEC_PER_SEC });
    }
    sim_run_until(sim, 120 * USEC_PER_SEC);
    assert_int_equal(n_processes(sim), 2);
    assert_int_equal(sim->nodes[0]->units->id.incarnation, 1);
    assert_int_equal(cluster_job(sim_cluster(sim), 1)->state, JOB_RUNNING);
    done(sim);
}

/* A scheduler that leaves in order is not missed. */
TEST(test_orderly_absence_disturbs_nothing)
{
    struct sim *sim = small(2);

    (void)sim_submit_at(sim, 10 * USEC_PER_SEC, spec_of("one", 2, 2), &forever);
    sim_script_at(sim, 30 * USEC_PER_SEC,
                  &(struct script){
                      .kind = SCRIPT_SERVER_STOP, .a = 1, .for_us = 50 * USEC_PER_SEC });
    sim_run_until(sim, 79 * USEC_PER_SEC);
    assert_null(sim_cluster(sim));
    assert_int_equal(n_processes(sim), 2);
    sim_run_until(sim, 200 * USEC_PER_SEC);
    assert_int_equal(sim_saw(sim, SIM_SEEN_SCHEDULER_LEFT), 1);
    assert_int_equal(sim_saw(sim, SIM_SEEN_ENDS_BY_FENCE), 0);
    assert_int_equal(sim_saw(sim, SIM_SEEN_NODES_LOST), 0);
    assert_int_equal(sim_saw(sim, SIM_SEEN_STARTS), 2);
    assert_int_equal(sim_cluster(sim)->away_us, 0);
    done(sim);
}

/* Longer than it said: its nodes freeze what they run when that time is over, and not before. */
TEST(test_absence_beyond_what_was_said_freezes)
{
    struct sim *sim = small(1);

    (void)sim_submit_at(sim, 10 * USEC_PER_SEC, spec_of("one", 1, 1), &forever);
    sim_script_at(sim, 30 * USEC_PER_SEC,
                  &(struct script){
                      .kind = SCRIPT_SERVER_STOP, .a = 1, .for_us = 110 * USEC_PER_SEC });
    sim_run_until(sim, 80 * USEC_PER_SEC);
    assert_false(sim->nodes[0]->units->frozen);
    sim_run_until(sim, 91 * USEC_PER_SEC);
    assert_true(sim->nodes[0]->units->frozen);
    sim_run_until(sim, 200 * USEC_PER_SEC);
    assert_false(sim->nodes[0]->units->frozen);
    assert_int_equal(n_processes(sim), 1);
    assert_int_equal(sim_saw(sim, SIM_SEEN_STARTS), 1);
    done(sim);
}

/* --- two schedulers --- */

/* take_over - of what one runs: it meets this fault at 30 s, and the other one leads by then */
static void take_over(enum script_kind fault, uint64_t for_us, uint64_t by_us)
{
    struct sim *sim = small_of(2, 2);

    (void)sim_submit_at(sim, 10 * USEC_PER_SEC, spec_of("one", 2, 2), &forever);
    sim_script_at(sim, 30 * USEC_PER_SEC, &(struct script){ .kind = fault, .for_us = for_us });
    sim_run_until(sim, 29 * USEC_PER_SEC);
    assert_int_equal(sim_saw(sim, SIM_SEEN_TERMS), 1);
    sim_run_until(sim, by_us);
    assert_int_equal(sim_saw(sim, SIM_SEEN_TERMS), 2);
    assert_non_null(sim_cluster(sim));
    (void)sim_submit_at(sim, by_us, spec_of("two", 1, 1), &forever);
    sim_run_until(sim, 120 * USEC_PER_SEC);
    assert_int_equal(n_processes(sim), 3);
    assert_int_equal(sim_saw(sim, SIM_SEEN_STARTS), 3);
    assert_int_equal(sim_saw(sim, SIM_SEEN_FROZEN), 0);
    assert_int_equal(sim_saw(sim, SIM_SEEN_TERMS), 2);
    done(sim);
}

TEST(test_another_scheduler_takes_over_from_one_that_died)
{
    take_over(SCRIPT_SERVER_CRASH, 20 * USEC_PER_SEC, 30100 * USEC_PER_MSEC);
}

TEST(test_another_scheduler_takes_over_from_one_that_froze)
{
    take_over(SCRIPT_SERVER_FREEZE, 20 * USEC_PER_SEC, 32 * USEC_PER_SEC);
}

/* Nothing is stored meanwhile, and nobody is told anything but leases. */
TEST(test_store_that_stands_still_holds_up_no_report)
{
    struct sim *sim = small_of(2, 1);

    (void)sim_submit_at(sim, 10 * USEC_PER_SEC, spec_of("one", 1, 1), &forever);
    sim_script_at(sim, 30 * USEC_PER_SEC,
                  &(struct script){ .kind = SCRIPT_STORE_STILL, .for_us = 7 * USEC_PER_SEC });
    (void)sim_submit_at(sim, 31 * USEC_PER_SEC, spec_of("two", 1, 1), &forever);
    sim_run_until(sim, 37 * USEC_PER_SEC);
    assert_true(sim_saw(sim, SIM_SEEN_LEASES_ONLY) > 0);
    assert_int_equal(sim_saw(sim, SIM_SEEN_STARTS), 1);
    sim_run_until(sim, 60 * USEC_PER_SEC);
    assert_int_equal(sim_saw(sim, SIM_SEEN_STARTS), 2);
    assert_int_equal(sim_saw(sim, SIM_SEEN_FROZEN), 0);
    done(sim);
}

/* --- seeds --- */

TEST(test_seeds_of_every_profile_hold_every_promise)
{
    uint64_t first = first_seed(1);
    uint64_t n = number_from_environment("EDL_SEEDS", SEEDS);
    const char *profile;

    for (size_t i = 0; (profile = sim_profile_name(i)) != NULL; i++)
        for (uint64_t seed = first; seed - first < n; seed++) {
            struct sim_run_options options = { .profile = profile };
            struct sim_result result;

            assert_int_equal(sim_run_seed(&options, seed, &result, NULL), 0);
            if (result.failed)
                fail_msg("profile %s, EDL_FIRST_SEED=%" PRIu64 ": %s\n%s\n%s", profile, seed,
                         result.violation, result.schedule, result.history);
            sim_result_done(&result);
        }
    print_message("%" PRIu64 " seeds of each profile\n", n);
}

/* A trainer stood still for most of its minute, on a node that was cut off. Its job, whose others
 * all failed within seconds, may fail for that. */
TEST(test_program_that_stands_still_does_not_run)
{
    struct sim_run_options options = { .profile = "two-schedulers" };
    struct sim_result result;

    assert_int_equal(sim_run_seed(&options, 905035, &result, NULL), 0);
    if (result.failed)
        fail_msg("%s", result.violation);
    sim_result_done(&result);
}

static bool saw_everything(const uint64_t *seen)
{
    for (size_t i = 0; i < _SIM_SEEN_MAX; i++)
        if (seen[i] == 0)
            return false;
    return true;
}

/* A promise proves nothing where nothing attacked it. Groups, slow machines, types of GPU, roles
 * that name nodes, gaps of leases, promises and two schedulers are in histories of their own. These
 * seeds are fixed, since they are what contains it: one in each place, then the next, until all was
 * seen. A sample of less than SEEDS leaves them out. */
TEST(test_mixed_histories_contain_everything)
{
    static const char *const profiles[] = { "mixed",    "mixed",         "mixed", "mixed",
                                            "groups",   "slow",          "types", "pins",
                                            "gaps",     "away",          "alive", "limits",
                                            "services", "two-schedulers" };
    uint64_t seen[_SIM_SEEN_MAX] = { 0 };
    uint64_t n = 0;

    if (number_from_environment("EDL_SEEDS", SEEDS) < SEEDS)
        skip();
    for (uint64_t nth = 1; nth <= MIXED_SEEDS && !saw_everything(seen); nth++)
        for (size_t place = 0; place < ELEMENTS(profiles); place++, n++) {
            struct sim_run_options options = { .profile = profiles[place] };
            struct sim_result result;

            assert_int_equal(sim_run_seed(&options, place * MIXED_SEEDS + nth, &result, NULL), 0);
            for (size_t i = 0; i < _SIM_SEEN_MAX; i++)
                seen[i] += result.seen[i];
            sim_result_done(&result);
        }
    print_message("%" PRIu64 " histories\n", n);
    for (size_t i = 0; i < _SIM_SEEN_MAX; i++)
        if (seen[i] == 0)
            fail_msg("%" PRIu64 " histories contain no %s", n,
                     sim_seen_to_string((enum sim_seen)i));
}

TEST(test_failing_schedule_is_shrunk)
{
    struct sim_run_options options = { .profile = "storm",
                                       .mutant = SIM_MUTANT_ANSWER_BEFORE_COMMIT };
    struct sim_result result;

    assert_int_equal(sim_run_seed(&options, 3, &result, NULL), 0);
    assert_true(result.failed);
    assert_true(result.schedule_left < result.schedule_full / 2);
    assert_non_null(strstr(result.history, "VIOLATION durable"));
    assert_non_null(strstr(result.shorter, "durable: "));
    assert_non_null(strstr(result.shorter, strstr(result.violation, " was acknowledged")));
    assert_true(result.shorter_us > 0);
    assert_non_null(strstr(result.schedule, "submit"));
    sim_result_done(&result);
}

/* What shrinking left is a history of its own, whose violation can be traced. */
TEST(test_shortened_schedule_can_be_run_alone)
{
    struct sim_run_options options = { .profile = "storm",
                                       .mutant = SIM_MUTANT_ANSWER_BEFORE_COMMIT };
    struct sim_result result;
    struct sim_result again;

    assert_int_equal(sim_run_seed(&options, 3, &result, NULL), 0);
    options.only = result.left;
    options.n_only = result.schedule_left;
    options.no_shrink = true;
    assert_int_equal(sim_run_seed(&options, 3, &again, NULL), 0);
    assert_string_equal(again.violation, result.shorter);
    assert_true(again.violated_us == result.shorter_us);
    assert_string_equal(again.schedule, result.schedule);
    sim_result_done(&again);
    sim_result_done(&result);
}

TEST(test_entry_that_does_not_exist_is_refused)
{
    struct edl_error error = { 0 };
    struct sim_result result;

    assert_int_equal(sim_run_seed(&(struct sim_run_options){ .only =
                                                                 (const uint32_t[]){ 1, 1000000 },
                                                             .n_only = 2 },
                                  1, &result, &error),
                     -EINVAL);
    assert_non_null(strstr(error.text, "1000000"));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_servers_learn.c - the lessons of jobs whose number of parameter servers was chosen, and the
 * jobs that hear of it */
#include "scheduler/core/ask/admission.h"
#include "scheduler/core/core.h"
#include "scheduler/core/learn/job_learned.h"
#include "scheduler/core/learn/take.h"
#include "scheduler/core/model/facts.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/model/job_servers.h"
#include "scheduler/core/model/job_sm.h"
#include "scheduler/core/plan/capacity.h"
#include "scheduler/core/plan/placement.h"
#include "scheduler/core/plan/plan.h"
#include "scheduler/core/plan/planner.h"
#include "scheduler/core/plan/planned.h"
#include "scheduler/core/plan/servers.h"
#include "tests/unit/servers_world.h"
#include "tests/unit/test.h"
#include "tests/unit/world_storm.h"

/* Four trainers are so many times as fast as one. */
#define FOUR 2.0
#define WORK_S 1000.0

/* With so many servers; how much faster more of them are does not depend on the program. */
static void teach_curve(struct world *w, const struct job_spec *spec, uint32_t pservers)
{
    struct job job = { .spec = (struct job_spec *)spec }; /* why: only its names are asked for */
    struct goodput_learned learned;
    char name[JOB_FAMILY_SIZE];

    (void)snprintf(job.user, sizeof job.user, "%s", w->user);
    job_curve_name(&job, pservers, name);
    goodput_learn_init(&learned);
    for (uint32_t k = 1; k <= 8; k++) {
        double took_s = 1 / FOUR + (1 - 1 / FOUR) * (4.0 / k - 1) / 3;

        (void)goodput_pserver_add(&learned.fit, &(struct goodput_pserver_report){ k, 1, took_s });
        learned.windows++;
        learned.largest = learned.instances = k;
        learned.measured_s = took_s;
        goodput_prior_note(goodput_family_prior(w->cluster->families, name), &learned);
    }
}

static void teach_length(struct world *w, const struct job_spec *spec)
{
    char name[JOB_FAMILY_SIZE];

    spec_family_name(spec, w->user, name);
    goodput_family_begun(w->cluster->families, name);
    goodput_family_ended(w->cluster->families, name, WORK_S);
}

static struct job_spec *spec_from(uint32_t trainers)
{
    struct job_spec *spec = spec_of("job");

    spec->roles[1].min = trainers;
    return spec;
}

/* --- before it is started --- */

/* How long its turn is after its submission, in seconds */
static double turn_s(uint32_t trainers, bool known)
{
    struct world *w = world_of(&policy_goodput, 8);
    struct job_spec *spec = spec_from(trainers);
    const struct job *job;
    double turn;

    close_nodes(w, NODE_CORDONED);
    teach_length(w, spec);
    if (known)
        teach_curve(w, spec, 1);
    job = world_submit(w, spec);
    turn = (double)(job->turn_wall_us - job->submitted_wall_us) / USEC_PER_SEC;
    end(w);
    return turn;
}

/* Nobody knows with how many servers it will be: it is taken to have the fewest. */
TEST(test_turn_is_that_of_the_fewest_servers)
{
    assert_true(turn_s(1, true) > WORK_S / 2);
    assert_true(turn_s(4, false) < WORK_S / 3); /* nearly as if it scaled */
    assert_true(fabs(turn_s(4, true) - WORK_S / FOUR) < 0.05 * WORK_S);
}

static struct admission ask(struct world *w, const struct job_spec *spec)
{
    struct admission answer;

    cluster_admission(w->cluster, spec, w->user, w->now, &answer);
    return answer;
}

TEST(test_answer_to_a_submission_is_that_of_the_fewest_servers)
{
    struct world *w = world_of(&policy_goodput, 8);
    struct job_spec *spec = spec_from(4);
    struct admission answer;

    teach_length(w, spec);
    answer = ask(w, spec);
    assert_true(answer.most_s < WORK_S / 3); /* nearly as if it scaled */
    teach_curve(w, spec, 1);
    answer = ask(w, spec);
    assert_true(fabs(answer.most_s - WORK_S / FOUR) < 0.05 * WORK_S);
    (void)job_spec_free(spec);
    end(w);
}

/* With what its deadline needs there is not enough left beside it. */
TEST(test_who_waits_needs_what_the_fewest_servers_need)
{
    struct world *w = world_of(&policy_goodput, 5);
    struct job_spec *first = spec_from(4);
    struct job_spec *spec = spec_from(4);
    struct admission answer;
    struct job *job = NULL;

    teach_length(w, spec);
    teach_curve(w, spec, 1);
    first->deadline_us = 450 * USEC_PER_SEC; /* eight trainers */
    spec->deadline_us = 520 * USEC_PER_SEC;  /* five */
    assert_int_equal(ask(w, spec).verdict, ADMISSION_IN_TIME);
    assert_int_equal(cluster_submit(w->cluster, first, w->user, w->now, &job, NULL), 0);
    answer = ask(w, spec);
    assert_int_equal(answer.verdict, ADMISSION_TOO_LATE);
    assert_string_equal(answer.code, "too-little-left");
    (void)job_spec_free(spec);
    end(w);
}

/* --- from one number to another --- */

/* It was started with six and never ran; the next time there is room for two. */
TEST(test_another_number_begins_with_what_is_known_of_that)
{
    struct world *w = world_of(&policy_goodput, 8);
    struct job_spec *first = world_spec("first", 12, 12, CORE, 0, 0);
    struct job *job;
    char name[JOB_FAMILY_SIZE];

    job = submit_taught(w);
    assert_int_equal(job_servers(job), 6);
    teach_curve(w, job->spec, 6);
    teach_curve(w, job->spec, 2);
    fact_of_job(w->cluster, FACT_JOB_BEGUN, job, w->now);
    learn_take(w->cluster);
    job_curve_name(job, 6, name);
    assert_string_equal(job->learned->curve, name);
    close_nodes(w, NODE_CORDONED);
    job_stop(w->cluster, job, w->now, INTENT_REQUEUED, CAUSE_HALF_GANG, "for a test");
    world_run(w, 6);
    assert_int_equal(job->state, JOB_QUEUED);
    assert_non_null(job->learned);
    job->learned->of.largest = 0; /* of six nothing was known, to tell the two apart */
    first->priority = 5;
    (void)world_submit(w, first);
    close_nodes(w, NODE_READY);
    world_run(w, 6);
    assert_int_equal(job->state, JOB_RUNNING);
    assert_int_equal(job_servers(job), 2);
    job_curve_name(job, 2, name);
    assert_string_equal(job->learned->curve, name);
    job_program_name(job, 2, name);
    assert_string_equal(job->learned->program, name);
    assert_int_equal(job->learned->of.largest, 8);
    assert_true(job->learned->of.borrowed);
    end(w);
}

/* What it has measured of itself is not put aside for what others have shown. */
TEST(test_own_measurements_stay)
{
    struct world *w = world_of(&policy_goodput, 8);
    struct job *job = submit_taught(w);

    fact_of_job(w->cluster, FACT_JOB_BEGUN, job, w->now);
    learn_take(w->cluster);
    close_nodes(w, NODE_CORDONED);
    job_stop(w->cluster, job, w->now, INTENT_REQUEUED, CAUSE_HALF_GANG, "for a test");
    world_run(w, 6);
    teach_curve(w, job->spec, 6);
    job->learned->of.windows = 1;
    job->learned->of.largest = 3;
    close_nodes(w, NODE_READY);
    world_run(w, 6);
    assert_int_equal(job_servers(job), 6);
    assert_int_equal(job->learned->of.largest, 3);
    end(w);
}

/* --- while a server is away --- */

static void set_dataset(struct world *w, struct job *job)
{
    assert_int_equal(cluster_set_dataset(w->cluster, job, world_queue(1000, 100), "d", w->now,
                                         NULL),
                     0);
}

/* One each, which takes a second. */
static void do_tasks(struct world *w, const struct job *job, uint32_t n)
{
    enum task_lease_result result;
    struct task *tasks[8];
    bool save;

    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(cluster_lease_task(w->cluster, world_live(job, "trainer", i), NULL, 0,
                                            w->now, &result, &tasks[i], &save, NULL),
                         0);
    world_second(w);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(cluster_finish_task(w->cluster, world_live(job, "trainer", i),
                                             tasks[i]->id, task_queue_pass(job->queue),
                                             tasks[i]->lease, w->now, NULL),
                         0);
    world_plan(w);
}

/* Tasks get done, slowly: that is not how fast six are, neither now nor in what is measured when
 * the sixth is back. */
TEST(test_no_measurement_begins_while_a_server_is_away)
{
    struct world *w = world_of(&policy_goodput, 8);
    struct job *job = start_taught(w);
    uint32_t n;

    world_run(w, 20);
    n = job_count_running(job, 1);
    set_dataset(w, job);
    do_tasks(w, job, n);
    do_tasks(w, job, n);
    assert_int_equal(job->learned->of.instances, n); /* as long as all are there */
    w->max_linger = 100000;                          /* the next one takes long to start */
    w->seed = 1;
    world_exit(w, world_live(job, "pserver", 5), 1, 0);
    world_run(w, 1);
    assert_false(job_servers_run(job));
    do_tasks(w, job, n);
    assert_int_equal(job->learned->of.instances, 0);
    for (int i = 0; i < 5; i++)
        world_second(w);
    assert_int_equal(job_count(job, 0, true), 6); /* it is being started */
    do_tasks(w, job, n);
    assert_int_equal(job_count_running(job, 1), n);
    assert_int_equal(job->learned->of.instances, 0);
    end(w);
}

/* --- while room is made --- */

/* Others that wait behind it may look for room as often as if it had not. */
TEST(test_searches_for_more_servers_are_not_counted)
{
    struct world *w = world_of(&policy_goodput, 6);
    struct job *other = world_submit(w, world_spec("other", 8, 10, CORE, 0, 0));
    struct job_spec *spec = spec_of("job");
    struct demand demands[JOB_ROLES_MAX];
    struct plan plan = { .cluster = w->cluster,
                         .planner = w->cluster->planner,
                         .searches = SEARCHES_MAX };
    struct job *job = NULL;
    size_t mark;

    world_run(w, 30);
    plan.now = w->now;
    mark = capacity_mark(&w->cluster->planner->rooms);
    assert_int_equal(job_count_running(other, 0), 10);
    teach(w, spec, SERVERS_MAX);
    assert_int_equal(cluster_submit(w->cluster, spec, w->user, w->now, &job, NULL), 0);
    assert_true(plan_promise_servers(&plan, job, demands, gang_demands(job->spec, demands)));
    assert_int_equal(plan.searches, SEARCHES_MAX);
    capacity_roll_back(&w->cluster->planner->rooms, mark);
    plan_forget_places(job);
    end(w);
}

/* The load limit leaves twelve cores of sixteen. While one that gives way for more servers is being
 * stopped, nobody grows into what these will take. */
TEST(test_promised_servers_count_as_load)
{
    struct world *w = world_of(&policy_goodput, 8);
    struct job *other, *job;

    w->cluster->config.max_load_permille = 800;
    other = world_submit(w, world_spec("other", 1, 16, CORE, 0, 0));
    world_fall_silent(w);
    assert_int_equal(job_count_running(other, 0), 12);
    w->seed = 1;
    w->max_linger = 8;
    job = submit_taught(w);
    assert_true(planned_promised(job));
    assert_int_equal(plan_promised_servers(job, 2), 3);
    for (int i = 0; i < 30 && job->state == JOB_QUEUED; i++) {
        assert_int_equal(planned_is(job)->lack.cpu_millicores, 5 * CORE);
        assert_true(job_count(other, 0, false) + 5 <= 12);
        world_second(w);
    }
    assert_true(job_is_started(job));
    assert_int_equal(job_servers(job), 4);
    assert_true(job_count(other, 0, true) + job_count_live(job) <= 12);
    end(w);
}

/* The others keep what is over the limit with the servers: the gang waits for what stops all the
 * same, and does not start above it for having been promised more. */
TEST(test_promised_servers_start_nothing_earlier)
{
    struct world *w = world_of(&policy_goodput, 8);
    struct job *other, *job;

    w->cluster->config.max_load_permille = 800;
    other = world_submit(w, world_spec("other", 9, 16, CORE, 0, 0));
    world_run(w, 30);
    w->seed = 1;
    w->max_linger = 8;
    job = submit_taught(w);
    assert_true(plan_promised_servers(job, 2) > 0);
    for (int i = 0; i < 30 && job->state == JOB_QUEUED; i++)
        world_second(w);
    assert_true(job_is_started(job));
    /* two cores of its minimum are within the limit of 12.8, with what still stops */
    assert_true(job_count(other, 0, true) + 2 <= 12);
    end(w);
}

/* --- many events --- */

#define EVENTS 6000

/* Of three shapes, of which it is known how fast each number of servers makes them; others that
 * give way. */
static void submit_any(struct world *w)
{
    uint64_t cpu = 200 * (1 + world_random(w, 3));
    struct job_spec *spec;
    char name[16];

    (void)snprintf(name, sizeof name, "job-%d", (int)world_random(w, 40));
    if (world_random(w, 3) == 0) {
        spec = world_spec(name, 1 + (uint32_t)world_random(w, 3), 12, 300, 0, 0);
    } else {
        spec = world_spec(name, 1, 8, cpu, 1, cpu);
        spec->roles[0].max = SERVERS_MAX;
        teach(w, spec, world_random(w, 2) == 0 ? SERVERS_MAX : 2);
    }
    spec->priority = (int32_t)world_random(w, 2);
    spec->passes = 2; /* as those of its dataset */
    spec->restart_max = (uint32_t)world_random(w, 6);
    storm_submit(w, spec, 12);
}

/* Whatever happens while servers are chosen, waited for and promised: the invariants hold after
 * each plan, and what was committed is there after a restart. */
TEST(test_random_events_with_open_numbers)
{
    static const struct storm_event events[] = {
        { 40, storm_turn },      { 8, submit_any },       { 2, storm_kill },
        { 2, storm_scale },      { 2, storm_prioritise }, { 4, storm_exit },
        { 8, storm_advance },    { 1, storm_silence },    { 1, storm_boot },
        { 2, storm_node_state }, { 2, storm_foreign },    { 1, storm_remove_or_join },
        { 1, storm_restart },    { 10, storm_work },
    };
    unsigned n_chosen = 0, n_promised = 0;
    const struct job *job;
    struct world *w;

    world_policy = &policy_goodput;
    w = storm_world(WORLD_NODES);
    w->max_linger = 3;
    for (uint64_t i = storm_number("EDL_EVENTS", EVENTS); i > 0; i--) {
        storm_happen(w, events, ELEMENTS(events));
        if (world_random(w, 4) != 0)
            world_plan(w);
        for (job = w->cluster->active; job != NULL; job = job->active_next) {
            n_chosen += job_servers(job) > 1;
            n_promised += planned_promised(job) && plan_promised_servers(job, 2) > 0;
        }
    }
    print_message("seen %u times with chosen servers, %u with promised ones\n", n_chosen,
                  n_promised);
    assert_true(n_chosen > 0 && n_promised > 0);
    end(w);
}

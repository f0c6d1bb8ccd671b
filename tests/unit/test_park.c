/* SPDX-License-Identifier: Apache-2.0 */
/* test_park.c - a job that can go on later goes back to the queue for one that waits
 *
 * One node of four cores. A turn is a minute here, an hour in the scheduler. */
#include "scheduler/core/base/task_queue.h"
#include "scheduler/core/core.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/plan/planner.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

#define TURN_S 60
#define BEARS_S 10 /* ten times the second that a restart may take which nobody has measured */

static void pass(struct world *w, unsigned seconds)
{
    for (unsigned i = 0; i < seconds; i++) {
        world_second(w);
        world_run(w, 2);
    }
}

static struct world *begin(void)
{
    struct world *w;

    world_policy = &policy_goodput;
    w = world_new(1, 4000, GIB, 1000);
    w->cluster->config.parking_us = TURN_S * USEC_PER_SEC;
    return w;
}

static void end(struct world *w)
{
    world_free(w);
    world_policy = &policy_fulfilment;
}

static struct job_spec *saved_spec(const char *name, uint32_t millicores)
{
    struct job_spec *spec = world_spec(name, 1, 1, millicores, 0, 0);

    spec->checkpoint_path = xstrdup("/shared");
    spec->checkpoint_period_us = USEC_PER_SEC;
    return spec;
}

static struct job_spec *long_spec(const char *name)
{
    return saved_spec(name, 4000);
}

static struct job *submit_expected(struct world *w, const char *name, uint32_t millicores,
                                   unsigned seconds)
{
    struct job_spec *spec = world_command(saved_spec(name, millicores), name);

    spec->expected_us = seconds * USEC_PER_SEC;
    return world_submit(w, spec);
}

static struct job *submit_short(struct world *w, const char *name)
{
    return submit_expected(w, name, 4000, 10);
}

/* It has run for long enough, and a short one comes. */
static struct job *run_long(struct world *w, struct job_spec *spec)
{
    struct job *job = world_submit(w, spec);

    pass(w, BEARS_S + 20);
    assert_int_equal(job->state, JOB_RUNNING);
    return job;
}

TEST(test_lends_its_room_and_has_it_back)
{
    struct world *w = begin();
    struct job *lends = run_long(w, long_spec("long"));
    struct job *brief = submit_short(w, "short");

    pass(w, 8);
    assert_int_equal(brief->state, JOB_RUNNING);
    assert_int_equal(lends->state, JOB_QUEUED);
    assert_int_equal(lends->parked_for, brief->id);
    assert_int_equal(lends->n_parked, 1);
    assert_int_equal(w->cluster->figures.jobs_parked, 1);
    assert_non_null(strstr(lends->reason, "parked for job 2 and goes on"));
    world_exit(w, world_live(brief, "trainer", 0), 0, 0);
    pass(w, 8);
    assert_int_equal(lends->state, JOB_RUNNING);
    assert_int_equal(lends->parked_for, 0);
    end(w);
}

TEST(test_once_in_a_turn)
{
    struct world *w = begin();
    struct job *lends = run_long(w, long_spec("long"));
    struct job *brief = submit_short(w, "short");

    pass(w, 8);
    world_exit(w, world_live(brief, "trainer", 0), 0, 0);
    pass(w, 8);
    assert_int_equal(lends->state, JOB_RUNNING);
    brief = submit_short(w, "next");
    pass(w, TURN_S - 20);
    assert_int_equal(lends->n_parked, 1);
    assert_int_equal(brief->state, JOB_QUEUED);
    pass(w, 20);
    assert_int_equal(lends->n_parked, 2);
    assert_int_equal(brief->state, JOB_RUNNING);
    end(w);
}

TEST(test_never_without_a_gain)
{
    struct world *w = begin();
    struct job *lends = run_long(w, long_spec("long"));
    struct job_spec *spec = world_spec("as-long", 1, 1, 4000, 0, 0);
    struct job *waits;

    spec->expected_us = 1000 * USEC_PER_SEC;
    waits = world_submit(w, spec);
    pass(w, 2 * TURN_S);
    assert_int_equal(waits->state, JOB_QUEUED);
    assert_int_equal(lends->n_parked, 0);
    end(w);
}

/* Others wait as well. It goes on before them. */
TEST(test_goes_on_before_others)
{
    struct world *w = begin();
    struct job *lends = run_long(w, long_spec("long"));
    struct job *brief[] = { submit_short(w, "a"), submit_short(w, "b") };

    pass(w, 8);
    assert_int_equal(brief[0]->state, JOB_RUNNING);
    assert_int_equal(lends->parked_for, brief[0]->id);
    assert_false(brief[0]->goes_first);
    world_exit(w, world_live(brief[0], "trainer", 0), 0, 0);
    pass(w, 8);
    assert_int_equal(lends->state, JOB_RUNNING);
    assert_int_equal(brief[1]->state, JOB_QUEUED);
    end(w);
}

/* Its user pays for it, as for any other start. */
TEST(test_is_charged)
{
    struct world *w = begin();
    const struct share *share;
    uint64_t served = 0;
    struct job *brief;

    (void)run_long(w, long_spec("long"));
    brief = submit_short(w, "short");
    pass(w, 8);
    assert_int_equal(brief->state, JOB_RUNNING);
    assert_true(brief->charged > 0);
    for (share = w->cluster->planner->queue.shares; share != NULL; share = share->hh.next) {
        if (share->key.back == 0)
            served = MAX_OF(served, share->served);
        else
            assert_int_equal(share->served, 0);
    }
    assert_int_equal(served, brief->served + brief->charged);
    end(w);
}

/* One before it asks for the same, came long before, and is too long to pay. */
TEST(test_the_shortest_gains)
{
    struct world *w = begin();
    struct job *lends = run_long(w, long_spec("long"));
    struct job *first = submit_expected(w, "as-long", 4000, 2000);
    struct job *brief;

    pass(w, 700);
    brief = submit_short(w, "short");
    pass(w, 8);
    assert_int_equal(brief->state, JOB_RUNNING);
    assert_int_equal(first->state, JOB_QUEUED);
    assert_int_equal(lends->parked_for, brief->id);
    end(w);
}

/* Another one is over soon. */
TEST(test_waits_where_that_is_cheaper)
{
    struct world *w = begin();
    struct job *soon = submit_expected(w, "soon", 2000, BEARS_S + 40);
    struct job *lends = run_long(w, saved_spec("long", 2000));
    struct job *brief = submit_expected(w, "short", 2000, 10);

    pass(w, 8);
    assert_int_equal(brief->state, JOB_QUEUED);
    assert_int_equal(lends->n_parked, 0);
    world_exit(w, world_live(soon, "trainer", 0), 0, 0);
    pass(w, 8);
    assert_int_equal(brief->state, JOB_RUNNING);
    end(w);
}

/* One of a higher priority would take the room. */
TEST(test_nobody_goes_before_a_priority)
{
    struct world *w = begin();
    struct job *lends = run_long(w, long_spec("long"));
    struct job_spec *spec = world_command(world_spec("urgent", 1, 1, 4000, 0, 0), "urgent");

    spec->expected_us = 2000 * USEC_PER_SEC;
    spec->priority = 1;
    (void)world_submit(w, spec);
    (void)submit_short(w, "short");
    pass(w, TURN_S);
    assert_int_equal(lends->n_parked, 0);
    end(w);
}

/* A small one loses less, and its room helps nobody. */
TEST(test_nobody_is_parked_in_vain)
{
    struct world *w;
    struct job *large, *small, *brief;
    struct job_spec *spec = saved_spec("small", 1000);

    world_policy = &policy_goodput;
    w = world_new(2, 4000, GIB, 1000);
    w->cluster->config.parking_us = TURN_S * USEC_PER_SEC;
    spec->checkpoint_period_us /= 2;
    large = world_submit(w, long_spec("large"));
    pass(w, 1);
    (void)world_submit(w, world_spec("stays", 1, 1, 3000, 0, 0));
    small = run_long(w, spec);
    brief = submit_short(w, "short");
    pass(w, 8);
    assert_int_equal(brief->state, JOB_RUNNING);
    assert_int_equal(large->n_parked, 1);
    assert_int_equal(small->n_parked, 0);
    end(w);
}

/* And not the one that was submitted first. */
TEST(test_who_was_parked_first_goes_on_first)
{
    struct world *w = begin();
    struct job *old = world_submit(w, saved_spec("old", 2000));
    struct job_spec *spec = saved_spec("cheap", 2000);
    struct job *cheap, *brief[2];

    spec->checkpoint_period_us /= 2;
    cheap = run_long(w, spec);
    for (int i = 0; i < 2; i++) {
        brief[i] = submit_expected(w, i == 0 ? "a" : "b", 2000, 10);
        pass(w, 8);
        assert_int_equal(brief[i]->state, JOB_RUNNING);
        assert_int_equal((i == 0 ? cheap : old)->state, JOB_QUEUED);
    }
    world_exit(w, world_live(brief[1], "trainer", 0), 0, 0);
    pass(w, 4);
    assert_int_equal(cheap->state, JOB_RUNNING);
    assert_int_equal(old->state, JOB_QUEUED);
    end(w);
}

static void stays(struct job_spec *spec)
{
    struct world *w = begin();
    struct job *job = run_long(w, spec);

    (void)submit_short(w, "short");
    pass(w, TURN_S);
    assert_int_equal(job->state, JOB_RUNNING);
    assert_int_equal(job->n_parked, 0);
    end(w);
}

TEST(test_who_cannot_go_on_stays)
{
    struct job_spec *spec = long_spec("refuses");

    spec->parking = JOB_PARKING_NEVER;
    stays(spec);
    stays(world_spec("keeps-all-in-memory", 1, 1, 4000, 0, 0));
    spec = long_spec("saves-when-it-likes");
    spec->checkpoint_period_us = 0;
    stays(spec);
    spec = long_spec("saves-seldom"); /* it did not run for ten times what it may lose */
    spec->checkpoint_period_us = 10 * USEC_PER_SEC;
    stays(spec);
    spec = long_spec("saves-slowly");
    spec->grace_us = 10 * USEC_PER_SEC;
    stays(spec);
    spec = long_spec("starts-once");
    spec->restart_max = 0;
    stays(spec);
    spec = long_spec("kept");
    spec->keep_cut_off = true;
    stays(spec);
    spec = long_spec("serves");
    spec->mode = JOB_MODE_SERVICE;
    stays(spec);
    spec = long_spec("before-all");
    spec->priority = 1;
    stays(spec);
    spec = long_spec("must-be-over");
    spec->deadline_us = 86400 * USEC_PER_SEC;
    stays(spec);
}

/* Any failure ends it. So its document has to say that it may be parked. */
TEST(test_who_bears_no_failure_is_asked)
{
    for (int says = 0; says < 2; says++) {
        struct job_spec *spec = long_spec("rigid");
        struct world *w = begin();
        struct job *job;

        spec->fault_tolerant = false;
        spec->restart_max = 0;
        spec->parking = says ? JOB_PARKING_ALLOWED : JOB_PARKING_UNSAID;
        job = run_long(w, spec);
        (void)submit_short(w, "short");
        pass(w, 8);
        assert_int_equal(job->n_parked, says);
        end(w);
    }
}

/* It cannot be sent back, so its loan would have no end, whatever is told or known of its length.
 */
TEST(test_nobody_lends_to_a_job_that_stays)
{
    struct job_spec *spec = world_command(world_spec("keeps", 1, 1, 4000, 0, 0), "program");
    struct world *w = begin();
    struct job *lends = run_long(w, long_spec("long"));
    struct job *brief;

    spec->expected_us = 10 * USEC_PER_SEC;
    brief = world_submit(w, spec);
    pass(w, TURN_S);
    assert_int_equal(lends->n_parked, 0);
    assert_int_equal(brief->state, JOB_QUEUED);
    end(w);
}

/* It asks for more than others gave way for, or gave way itself for. */
TEST(test_place_is_lost_with_another_request)
{
    const struct job_change more = { .scale = true, .min = 2, .max = 2 };
    const struct job_change same = { .scale = true, .min = 1, .max = 1 };
    struct world *w = begin();
    struct job *lends = run_long(w, long_spec("long"));
    struct job *brief = submit_short(w, "short");

    pass(w, 8);
    assert_int_equal(lends->parked_for, brief->id);
    assert_int_equal(cluster_change_job(w->cluster, lends, &same, w->now, NULL), 0);
    assert_int_equal(lends->parked_for, brief->id);
    lends->spec->roles[0].max = 2;
    assert_int_equal(cluster_change_job(w->cluster, lends, &more, w->now, NULL), 0);
    assert_int_equal(lends->parked_for, 0);
    end(w);
}

/* A borrower of a higher priority would take the room again at once. */
TEST(test_a_loan_to_a_higher_priority_stays)
{
    struct job_spec *spec = world_command(saved_spec("urgent", 4000), "urgent");
    struct world *w = begin();
    struct job *lends = run_long(w, long_spec("long"));
    struct job *urgent;

    pass(w, 1000);
    spec->expected_us = 10 * USEC_PER_SEC;
    spec->priority = 1;
    urgent = world_submit(w, spec);
    pass(w, 8);
    assert_int_equal(lends->parked_for, urgent->id);
    pass(w, 3 * TURN_S);
    assert_int_equal(urgent->state, JOB_RUNNING);
    assert_int_equal(urgent->n_parked, 0);
    assert_false(lends->goes_first);
    end(w);
}

/* It runs for longer than was told, and the one that lent it its room has run for longer still: by
 * their lengths it would wait for the end. */
TEST(test_a_loan_ends)
{
    struct world *w = begin();
    struct job *lends = run_long(w, long_spec("long"));
    struct job *brief;

    pass(w, 1000);
    brief = submit_short(w, "short");
    pass(w, 8);
    assert_int_equal(brief->state, JOB_RUNNING);
    pass(w, TURN_S - 15);
    assert_int_equal(brief->state, JOB_RUNNING);
    pass(w, 20);
    assert_int_equal(lends->state, JOB_RUNNING);
    assert_int_equal(brief->state, JOB_QUEUED);
    assert_int_equal(brief->n_parked, 1);
    end(w);
}

/* Whatever the order of those that wait: it was before them. */
TEST(test_goes_on_before_others_that_came_first)
{
    struct world *w = begin();
    struct job *lends, *brief[3];

    w->cluster->config.first_come = true;
    world_restart(w); /* as with that option */
    lends = run_long(w, long_spec("long"));
    for (size_t i = 0; i < ELEMENTS(brief); i++)
        brief[i] = submit_short(w, i == 0 ? "a" : i == 1 ? "b" : "c");
    pass(w, 8);
    assert_int_equal(lends->parked_for, brief[0]->id);
    world_exit(w, world_live(brief[0], "trainer", 0), 0, 0);
    pass(w, 8);
    assert_int_equal(lends->state, JOB_RUNNING);
    end(w);
}

TEST(test_never_its_last_start)
{
    struct world *w = begin();
    struct job *job = run_long(w, long_spec("long"));

    slot_set_failures(w->cluster, job, 0, 0, job->spec->restart_max);
    (void)submit_short(w, "short");
    pass(w, TURN_S / 2);
    assert_int_equal(job->n_parked, 0);
    slot_set_failures(w->cluster, job, 0, 0, 0);
    pass(w, TURN_S / 2);
    assert_int_equal(job->n_parked, 1);
    end(w);
}

static struct job_spec *tasks_spec(void)
{
    struct job_spec *spec = world_spec("tasks", 1, 1, 4000, 0, 0);

    spec->parking = JOB_PARKING_ALLOWED;
    return spec;
}

static struct job *submit_tasks(struct world *w)
{
    struct job *job = world_submit(w, tasks_spec());

    assert_int_equal(cluster_set_dataset(w->cluster, job, world_queue(4, 1), "aa", w->now, NULL),
                     0);
    pass(w, 1);
    return job;
}

/* It takes n tasks and finishes all but the last. */
static void work(struct world *w, struct job *job, int n)
{
    struct process *process = world_live(job, "trainer", 0);
    enum task_lease_result result;
    struct task *task;
    bool saves;

    for (int i = 0; i < n; i++) {
        assert_int_equal(cluster_lease_task(w->cluster, process, NULL, 0, w->now, &result, &task,
                                            &saves, NULL),
                         0);
        assert_int_equal(result, TASK_LEASE_GIVEN);
        if (i < n - 1)
            assert_int_equal(cluster_finish_task(w->cluster, process, task->id, 0, task->lease,
                                                 w->now, NULL),
                             0);
    }
}

TEST(test_tasks_are_what_it_is)
{
    struct world *w = begin();
    struct job *job = world_submit(w, tasks_spec());
    struct job *brief;
    enum job_mode mode;

    assert_false(job_can_resume(job));
    assert_int_equal(cluster_set_dataset(w->cluster, job, world_queue(4, 1), "aa", w->now, NULL),
                     0);
    assert_true(job_can_resume(job));
    mode = job->spec->mode;
    job->spec->fault_tolerant = false;
    assert_false(job_can_resume(job));
    job->spec->fault_tolerant = true;
    job->spec->mode = JOB_MODE_MPI;
    assert_false(job_can_resume(job));
    job->spec->mode = mode;
    job->spec->parking = JOB_PARKING_UNSAID; /* it may have learnt something from them */
    assert_false(job_can_resume(job));
    job->spec->parking = JOB_PARKING_ALLOWED;
    pass(w, BEARS_S + 20); /* the task that it holds is to be done again as well */
    work(w, job, 2);
    brief = submit_short(w, "short");
    pass(w, 8);
    assert_int_equal(job->state, JOB_QUEUED);
    assert_int_equal(task_queue_counts(job->queue).done, 1);
    assert_int_equal(task_queue_counts(job->queue).todo, 3);
    assert_int_equal(brief->state, JOB_RUNNING);
    end(w);
}

/* All of the task in hand is to be done again. Or it is nearly done. */
TEST(test_tasks_tell_loss_and_length)
{
    static const int n_taken[] = { 1, 4 };

    for (size_t i = 0; i < ELEMENTS(n_taken); i++) {
        struct world *w = begin();
        struct job *job = submit_tasks(w);

        if (i == 1)
            pass(w, BEARS_S + 10);
        work(w, job, n_taken[i]);
        (void)submit_short(w, "short");
        pass(w, i == 0 ? TURN_S : 1);
        assert_int_equal(job->state, JOB_RUNNING);
        end(w);
    }
}

/* The one that gives way has the older turn, and would take its room again. */
TEST(test_room_is_lent_over_a_restart)
{
    struct world *w = begin();
    struct job *lends = run_long(w, long_spec("long"));
    struct job *brief = submit_short(w, "short");
    const uint64_t lends_id = lends->id, brief_id = brief->id;

    world_hang(w, world_live(lends, "trainer", 0), true);
    pass(w, 4);
    assert_int_equal(lends->state, JOB_STOPPING);
    assert_int_equal(lends->intent, INTENT_REQUEUED);
    world_restart(w);
    lends = cluster_job(w->cluster, lends_id);
    brief = cluster_job(w->cluster, brief_id);
    assert_true(brief->goes_first);
    world_hang(w, world_live(lends, "trainer", 0), false);
    pass(w, 8);
    assert_int_equal(brief->state, JOB_RUNNING);
    assert_int_equal(lends->state, JOB_QUEUED);
    end(w);
}

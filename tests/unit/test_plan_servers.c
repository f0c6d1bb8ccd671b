/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_servers.c - with how many parameter servers a job is started */
#include "scheduler/core/core.h"
#include "scheduler/core/learn/job_learned.h"
#include "scheduler/core/learn/outlook.h"
#include "scheduler/core/model/job_names.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/model/job_servers.h"
#include "scheduler/core/model/job_sm.h"
#include "scheduler/core/plan/planned.h"
#include "shared/error.h"
#include "tests/unit/servers_world.h"
#include "tests/unit/test.h"

/* What is told of the start is still to be seen. */
static struct job *submit_and_plan(struct world *w, struct job_spec *spec)
{
    struct job *job = NULL;

    assert_int_equal(cluster_submit(w->cluster, spec, w->user, w->now, &job, NULL), 0);
    cluster_plan(w->cluster, w->now);
    return job;
}

static uint32_t said(const struct world *w, const char *text)
{
    size_t n;
    const struct effect *effects = cluster_effects(w->cluster, &n);
    uint32_t found = 0;

    for (size_t i = 0; i < n; i++)
        found += effects[i].kind == EFFECT_EVENT && streq(effects[i].event, "pservers-chosen") &&
                 strstr(effects[i].text, text) != NULL;
    return found;
}

/* --- who chooses, and what --- */

TEST(test_unknown_family_has_the_minimum)
{
    struct world *w = world_of(&policy_goodput, 16);
    struct job *job = submit_and_plan(w, spec_of("job"));

    assert_int_equal(job_servers(job), 1);
    assert_int_equal(said(w, "nothing was measured"), 1);
    world_run(w, 4);
    assert_int_equal(job->state, JOB_RUNNING);
    assert_int_equal(job_count_running(job, 0), 1);
    end(w);
}

TEST(test_known_family_has_what_is_best)
{
    struct world *w = world_of(&policy_goodput, 6);
    struct job_spec *spec = spec_of("job");
    struct job *job;
    char text[120];

    teach(w, spec, SERVERS_MAX);
    job = submit_and_plan(w, spec);
    assert_int_equal(job_servers(job), 6);
    assert_int_equal(said(w, "with 6 of trainer, 6 are 4.99 times as fast as 1"), 1);
    world_run(w, 20);
    assert_int_equal(job->state, JOB_RUNNING);
    assert_int_equal(job_count_running(job, 0), 6);
    assert_int_equal(job->target[0], 6);
    assert_true(job_count_running(job, 1) > 1); /* there is room for both */
    assert_string_equal(job_describe_servers(job, text, sizeof text),
                        "6 parameter servers of 1 to 6, chosen when it was started");
    end(w);
}

TEST(test_the_next_number_is_tried_and_counted)
{
    struct world *w = world_of(&policy_goodput, 6);
    struct job_spec *spec = spec_of("job");
    struct job *job;

    teach(w, spec, 2);
    job = submit_and_plan(w, spec);
    assert_int_equal(job_servers(job), 4);
    assert_int_equal(said(w, "no job of its program was measured with 4 yet"), 1);
    assert_int_equal(prior_of(w, job, 4)->tries, 1);
    end(w);
}

TEST(test_another_program_of_the_family_tries_nothing)
{
    struct world *w = world_of(&policy_goodput, 6);
    struct job_spec *spec = world_command(spec_of("job"), "train --rate 1");
    struct job_spec *other = world_command(spec_of("other"), "train --rate 2");
    struct job *job;

    teach(w, spec, 2);
    (void)job_spec_free(spec);
    job = submit_and_plan(w, other);
    assert_int_equal(job_servers(job), 2);
    end(w);
}

TEST(test_policy_that_does_not_learn_has_the_minimum)
{
    struct world *w = world_of(&policy_fulfilment, 16);
    struct job *job = world_submit(w, spec_of("job"));

    world_run(w, 4);
    assert_int_equal(job_count_running(job, 0), 1);
    assert_int_equal(job->spec->roles[0].max, 1); /* and that stays so */
    world_policy = &policy_goodput;
    world_restart(w);
    world_run(w, 4);
    job = cluster_find_job(w->cluster, "job");
    assert_int_equal(job->state, JOB_RUNNING);
    assert_false(job_chooses_servers(job));
    end(w);
}

TEST(test_other_policy_keeps_the_number)
{
    struct world *w = world_of(&policy_goodput, 8);
    struct job *job = start_taught(w);

    assert_int_equal(job_servers(job), 6);
    world_policy = &policy_fulfilment;
    world_restart(w);
    world_run(w, 4);
    job = cluster_find_job(w->cluster, "job");
    assert_int_equal(job_count_running(job, 0), 6);
    end(w);
}

/* --- while it waits, and when it starts --- */

TEST(test_counts_with_the_minimum_while_it_waits)
{
    struct world *w = world_of(&policy_goodput, 6);
    struct job_spec *spec = spec_of("job");
    struct job *job;

    close_nodes(w, NODE_CORDONED);
    teach(w, spec, SERVERS_MAX);
    job = world_submit(w, spec);
    assert_int_equal(job->state, JOB_QUEUED);
    assert_int_equal(job->n_slots[0], 1);
    assert_int_equal(job->held_instances, 1 + 8);
    assert_int_equal(job->target[0], 1);
    close_nodes(w, NODE_READY);
    world_run(w, 6);
    assert_int_equal(job->state, JOB_RUNNING);
    assert_int_equal(job->held_instances, 6 + 8);
    end(w);
}

/* Two share twelve cores: hers is as many as leave room for trainers in six. */
TEST(test_others_are_thought_of)
{
    struct world *w = world_of(&policy_goodput, 6);
    struct job *other = world_submit(w, world_spec("other", 4, 4, CORE, 0, 0));
    struct job *job = start_taught(w);

    assert_int_equal(other->state, JOB_RUNNING);
    assert_int_equal(job_servers(job), 4);
    end(w);
}

/* Of twelve cores others hold so many for good; it is started at once. */
static uint32_t chosen_beside(uint32_t rigid)
{
    struct world *w = world_of(&policy_goodput, 6);
    struct job *other = world_submit(w, world_spec("other", rigid, rigid, CORE, 0, 0));
    struct job_spec *spec = spec_of("job");
    struct job *job;
    uint32_t servers;

    world_run(w, 4);
    assert_int_equal(other->state, JOB_RUNNING);
    teach(w, spec, SERVERS_MAX);
    job = submit_and_plan(w, spec);
    assert_int_equal(job->state, JOB_STARTING);
    servers = job_servers(job);
    end(w);
    return servers;
}

/* With all of the cluster there would be six. */
TEST(test_fewer_where_others_hold_most_of_it)
{
    assert_int_equal(chosen_beside(8), 2);
    assert_int_equal(chosen_beside(10), 1);
}

/* Its share has room for another one, but no node has: it does not wait. */
TEST(test_fewest_where_no_node_has_room_for_one_more)
{
    struct world *w = world_of(&policy_goodput, 6);
    struct job_spec *spec = world_spec("job", 1, 8, CORE, 1, 2 * CORE);
    struct job *job;

    (void)world_submit(w, world_spec("large", 1, 1, 5100, 0, 0));
    (void)world_submit(w, world_spec("small", 1, 1, 1100, 0, 0));
    world_run(w, 4);
    spec->roles[0].max = SERVERS_MAX;
    teach(w, spec, SERVERS_MAX);
    job = submit_and_plan(w, spec);
    assert_int_equal(job->state, JOB_STARTING);
    assert_int_equal(job_servers(job), 1);
    assert_int_equal(said(w, "2 are"), 1);
    assert_int_equal(said(w, "; 1 find room now"), 1);
    end(w);
}

/* Where its gang alone would go there is no room for another server, elsewhere there is: it has it
 * at once. */
TEST(test_gang_goes_where_more_servers_fit)
{
    struct world *w = world_of(&policy_goodput, 6);
    struct job_spec *spec = world_spec("job", 1, 8, CORE, 1, 2 * CORE);
    struct job *job;

    (void)world_submit(w, world_spec("large", 1, 1, 4100, 0, 0));
    (void)world_submit(w, world_spec("small", 1, 1, 2000, 0, 0));
    world_run(w, 4);
    spec->roles[0].max = SERVERS_MAX;
    teach(w, spec, SERVERS_MAX);
    job = submit_and_plan(w, spec);
    assert_int_equal(job->state, JOB_STARTING);
    assert_int_equal(job_servers(job), 2);
    end(w);
}

/* Servers are not given back, so they are not taken from what others wait for. */
TEST(test_minima_of_those_behind_come_first)
{
    struct world *w = world_of(&policy_goodput, 12);
    struct job_spec *spec = spec_of("one");
    struct job *one = NULL;
    struct job *two = NULL;

    (void)world_submit(w, world_spec("rigid", 18, 18, CORE, 0, 0));
    world_run(w, 4);
    teach(w, spec, SERVERS_MAX);
    assert_int_equal(cluster_submit(w->cluster, spec, w->user, w->now, &one, NULL), 0);
    assert_int_equal(cluster_submit(w->cluster, world_spec("two", 3, 3, CORE, 0, 0), w->user,
                                    w->now, &two, NULL),
                     0);
    world_run(w, 4);
    assert_int_equal(one->state, JOB_RUNNING);
    assert_int_equal(two->state, JOB_RUNNING);
    end(w);
}

/* What is lent to a group has to come back, and servers do not. */
TEST(test_a_group_has_servers_within_its_guarantee)
{
    static const struct group_spec specs[] = {
        { .name = "a", .guaranteed_permille = 500, .weight = 1 },
        { .name = "b", .guaranteed_permille = 500, .weight = 1 },
    };
    struct world *w = world_of(&policy_goodput, 8);
    const struct group_member members[] = { { w->user, "a" } };
    struct group_table *table = group_table_new(specs, ELEMENTS(specs), members, ELEMENTS(members));
    struct job_spec *spec = world_spec("job", 1, 8, CORE, 1, 2 * CORE);
    struct job *job;

    cluster_set_groups(w->cluster, table);
    spec->roles[0].max = SERVERS_MAX;
    teach(w, spec, SERVERS_MAX);
    job = world_submit(w, spec);
    world_run(w, 6);
    assert_int_equal(job->state, JOB_RUNNING);
    assert_int_equal(job_servers(job), 2); /* of 8 cores; of 16 there would be four */
    end(w);
    (void)group_table_free(table);
}

/* Nor by what it is promised: others give way for its minimum alone. */
TEST(test_a_group_is_promised_no_servers)
{
    static const struct group_spec specs[] = {
        { .name = "a", .guaranteed_permille = 320, .weight = 1 },
        { .name = "b", .guaranteed_permille = 300, .weight = 1 },
    };
    const struct group_member members[] = { { "alice", "a" }, { "bob", "b" } };
    struct group_table *table = group_table_new(specs, ELEMENTS(specs), members, ELEMENTS(members));
    struct world *w = world_of(&policy_goodput, 8);
    struct job_spec *spec = spec_of("one");
    struct job *fill;
    struct job *one = NULL;
    struct job *two = NULL;

    cluster_set_groups(w->cluster, table);
    w->user = "bob";
    fill = world_submit(w, world_spec("fill", 2, 16, CORE, 0, 0));
    world_fall_silent(w);
    assert_int_equal(job_count_running(fill, 0), 16);
    w->user = "alice";
    teach(w, spec, SERVERS_MAX);
    assert_int_equal(cluster_submit(w->cluster, spec, w->user, w->now, &one, NULL), 0);
    assert_int_equal(cluster_submit(w->cluster, spec_of("two"), w->user, w->now, &two, NULL), 0);
    for (int i = 0; i < 120; i++) {
        world_advance(w, USEC_PER_SEC);
        world_run(w, 1);
    }
    assert_int_equal(one->state, JOB_RUNNING);
    assert_int_equal(two->state, JOB_RUNNING);
    assert_true(job_servers(one) + job_servers(two) + 2 <= 5); /* cores that are guaranteed */
    end(w);
    (void)group_table_free(table);
}

/* A node goes before it has run: it has to do with what is left, and can. */
TEST(test_gang_that_lost_its_room_gives_up_servers)
{
    struct world *w = world_of(&policy_goodput, 4);
    struct job *job;

    job = submit_taught(w);
    assert_int_equal(job->state, JOB_STARTING);
    assert_int_equal(job_servers(job), 4);
    w->agents[0].silent = true;
    for (int i = 0; i < 200 && job->state != JOB_RUNNING; i++) {
        world_advance(w, USEC_PER_SEC);
        world_run(w, 1);
    }
    assert_int_equal(job->state, JOB_RUNNING);
    assert_true(job_servers(job) < 4);
    end(w);
}

static struct job *start_elastic(struct world *w)
{
    struct job *other = world_submit(w, world_spec("other", 1, 12, CORE, 0, 0));

    world_fall_silent(w);
    assert_int_equal(job_count_running(other, 0), 12);
    return other;
}

/* Others give way for servers as for the gang. */
TEST(test_others_give_way)
{
    struct world *w = world_of(&policy_goodput, 6);
    struct job *other = start_elastic(w);
    struct job *job = submit_taught(w);

    world_run(w, 12);
    assert_int_equal(job->state, JOB_RUNNING);
    assert_int_equal(job_servers(job), 4);
    assert_true(job_count_running(other, 0) <= 7);
    end(w);
}

/* Its gang fits at once, for more somebody is asked to give way; then a gang that goes before takes
 * all of that. It does not wait for it once more. */
TEST(test_who_goes_first_does_not_wait_for_servers_of_a_queued_job)
{
    struct world *w = world_of(&policy_goodput, 6);
    struct job *other = start_elastic(w);
    struct job_spec *first = world_spec("first", 9, 9, CORE, 0, 0);
    struct job *job, *before;

    job = submit_taught(w);
    assert_int_equal(job->state, JOB_QUEUED);
    first->priority = 5;
    before = world_submit(w, first);
    for (int i = 0; i < 20 && before->state != JOB_RUNNING; i++) {
        assert_int_equal(job_count_live(job) > 2, false);
        world_second(w);
    }
    assert_int_equal(before->state, JOB_RUNNING);
    world_run(w, 6);
    assert_int_equal(job->state, JOB_RUNNING);
    assert_int_equal(job_servers(job), 1);
    assert_int_equal(job_count_running(other, 0), 1);
    end(w);
}

/* One that gives way does not end: the job goes without, after half a minute. */
TEST(test_nobody_waits_long_for_servers)
{
    struct world *w = world_of(&policy_goodput, 6);
    struct job *other = world_submit(w, world_spec("other", 1, 10, CORE, 0, 0));
    struct job *job;
    int seconds;

    world_fall_silent(w);
    assert_int_equal(job_count_running(other, 0), 10);
    job = submit_taught(w);
    assert_int_equal(job->state, JOB_QUEUED); /* one and one would find room */
    assert_true(planned_promised(job));
    w->seed = 1;
    w->max_linger = 100000;
    for (seconds = 0; seconds < 60 && job->state == JOB_QUEUED; seconds++) {
        world_second(w);
    }
    assert_in_range(seconds, 29, 31);
    assert_int_equal(job_servers(job), 1);
    end(w);
}

/* --- the number is kept --- */

TEST(test_lost_server_comes_back)
{
    struct world *w = world_of(&policy_goodput, 8);
    struct job *job = start_taught(w);

    world_run(w, 20);
    job->learned->of.instances = job_count_running(job, 1); /* a window is open */
    world_exit(w, world_live(job, "pserver", 5), 1, 0);
    world_run(w, 1);
    assert_false(job_servers_run(job));
    assert_int_equal(job->learned->of.instances, 0); /* that window is no measurement */
    for (int i = 0; i < 10; i++)
        world_second(w);
    assert_int_equal(job->state, JOB_RUNNING);
    assert_true(job_servers_run(job));
    assert_int_equal(job_count_running(job, 0), 6);
    end(w);
}

TEST(test_number_is_kept_over_a_restart_and_by_copies)
{
    struct world *w = world_of(&policy_goodput, 8);
    struct job *job = start_taught(w);
    struct edl_error error = { 0 };
    struct cluster *copy;

    copy = cluster_clone(w->cluster, w->now);
    assert_int_equal(cluster_compare(w->cluster, copy, &error), 0);
    cluster_job(copy, job->id)->servers_max++;
    assert_true(cluster_compare(w->cluster, copy, &error) < 0);
    (void)cluster_free(copy);
    world_restart(w);
    world_run(w, 4);
    job = cluster_find_job(w->cluster, "job");
    assert_int_equal(job_servers(job), 6);
    assert_int_equal(job->servers_min, 1);
    assert_int_equal(job->servers_max, SERVERS_MAX);
    assert_int_equal(job_count_running(job, 0), 6);
    end(w);
}

/* Trainers scaled to one size, and back: it is as it was. */
TEST(test_number_is_kept_when_trainers_are_fixed)
{
    struct world *w = world_of(&policy_goodput, 8);
    struct job *job = start_taught(w);

    assert_int_equal(cluster_scale_job(w->cluster, job, "trainer", 2, 2, w->now, NULL), 0);
    world_run(w, 6);
    assert_int_equal(job_count_running(job, 0), 6);
    close_nodes(w, NODE_CORDONED);
    job_stop(w->cluster, job, w->now, INTENT_REQUEUED, CAUSE_HALF_GANG, "for a test");
    world_run(w, 6);
    assert_int_equal(job->state, JOB_QUEUED);
    assert_int_equal(cluster_scale_job(w->cluster, job, "trainer", 1, 8, w->now, NULL), 0);
    close_nodes(w, NODE_READY);
    world_run(w, 6);
    assert_int_equal(job_count_running(job, 0), 6);
    end(w);
}

TEST(test_queued_again_it_has_as_many)
{
    struct world *w = world_of(&policy_goodput, 8);
    struct job *job = start_taught(w);

    close_nodes(w, NODE_CORDONED);
    job_stop(w->cluster, job, w->now, INTENT_REQUEUED, CAUSE_HALF_GANG, "for a test");
    world_run(w, 6);
    assert_int_equal(job->state, JOB_QUEUED);
    assert_int_equal(job->spec->roles[0].min, 6);
    assert_int_equal(job->spec->roles[0].max, 6);
    world_restart(w); /* that is on record */
    job = cluster_find_job(w->cluster, "job");
    assert_int_equal(job->target[0], 6);
    close_nodes(w, NODE_READY);
    world_run(w, 6);
    assert_int_equal(job->state, JOB_RUNNING);
    assert_int_equal(job_count_running(job, 0), 6);
    end(w);
}

/* Where the gang never ran, nothing was saved. */
TEST(test_gang_that_never_ran_chooses_anew)
{
    struct world *w = world_of(&policy_goodput, 8);
    struct job *job = submit_taught(w);

    assert_int_equal(job->state, JOB_STARTING);
    assert_int_equal(job_servers(job), 6);
    close_nodes(w, NODE_CORDONED);
    job_stop(w->cluster, job, w->now, INTENT_REQUEUED, CAUSE_HALF_GANG, "for a test");
    world_run(w, 6);
    assert_int_equal(job->state, JOB_QUEUED);
    assert_int_equal(job_servers(job), 0);
    assert_int_equal(job->spec->roles[0].min, 1);
    assert_int_equal(job->spec->roles[0].max, SERVERS_MAX);
    assert_int_equal(job->target[0], 1);
    end(w);
}

TEST(test_its_owner_decides)
{
    struct world *w = world_of(&policy_goodput, 8);
    struct job *job = start_taught(w);

    assert_int_equal(cluster_scale_job(w->cluster, job, "pserver", 6, 6, w->now, NULL), 0);
    world_run(w, 6);
    assert_int_equal(job_count_running(job, 0), 6);
    assert_int_equal(job_servers(job), 0);
    assert_string_equal(job->learned->curve, job->learned->family);
    assert_string_equal(job->learned->program, "");
    end(w);
}

/* What it shows is noted with its number: it has a curve of its own. */
TEST(test_measurements_are_of_the_number)
{
    struct world *w = world_of(&policy_goodput, 8);
    struct job *job = start_taught(w);
    char name[JOB_FAMILY_SIZE];

    job_curve_name(job, 6, name);
    assert_string_equal(job->learned->curve, name);
    job_program_name(job, 6, name);
    assert_string_equal(job->learned->program, name);
    job_family_name(job, name);
    assert_string_equal(job->learned->family, name);
    assert_string_not_equal(job->learned->curve, name);
    end(w);
}

TEST(test_job_without_a_range_learns_as_ever)
{
    struct world *w = world_of(&policy_goodput, 8);
    struct job *job = world_submit(w, world_spec("job", 1, 8, CORE, 2, CORE));

    world_run(w, 4);
    assert_string_equal(job->learned->curve, job->learned->family);
    assert_string_equal(job->learned->program, "");
    assert_int_equal(job_servers(job), 0);
    end(w);
}

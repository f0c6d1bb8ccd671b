/* SPDX-License-Identifier: Apache-2.0 */
/* test_admission.c - what is told of a deadline when its job is submitted, and that it comes true
 *
 * Jobs are of one program of which it is known that an instance works off a second of work in a
 * second, and that they are as fast together as they are many. */
#include "scheduler/core/core.h"
#include "scheduler/core/learn/job_learned.h"
#include "scheduler/core/model/job_names.h"
#include "tests/unit/admission_world.h"
#include "tests/unit/test.h"

TEST(test_nobody_knows_and_why)
{
    struct world *w = begin();
    struct admission answer = ask(w, spec_due("a", 1, 8, 100));
    struct job_spec *spec;

    assert_answer(answer, ADMISSION_UNKNOWN, "family-unknown");
    teach_speed(w, 8); /* how fast, but not how long */
    answer = ask(w, spec_due("a", 1, 8, 100));
    assert_answer(answer, ADMISSION_UNKNOWN, "family-unknown");
    teach_length(w, 400);
    answer = ask(w, spec_due("a", 4, 4, 100));
    assert_answer(answer, ADMISSION_UNKNOWN, "fixed-size");
    spec = spec_due("a", 1, 8, 100);
    spec->roles[0].cpu_millicores = 2 * CORES * CORE;
    answer = ask(w, spec); /* another request is another family */
    assert_answer(answer, ADMISSION_UNKNOWN, "family-unknown");
    spec = spec_due("a", 1, 8, 100);
    spec->array.n = ADMISSION_DUE_MAX + 1;
    answer = ask(w, spec);
    assert_answer(answer, ADMISSION_UNKNOWN, "too-many");
    w->agents[0].silent = true;
    world_advance(w, 3600 * USEC_PER_SEC);
    answer = ask(w, spec_due("a", 1, 8, 100));
    assert_answer(answer, ADMISSION_UNKNOWN, "no-room");
    end(w);
    w = world_new(1, CORES * CORE, GIB, 1000); /* fulfilment */
    answer = ask(w, spec_due("a", 1, 8, 100));
    assert_answer(answer, ADMISSION_UNKNOWN, "policy-does-not-learn");
    world_free(w);
}

TEST(test_length_without_a_deadline)
{
    struct world *w = begin();
    struct admission answer;

    teach_speed(w, 8);
    teach_length(w, 400);
    answer = ask(w, spec_due("a", 2, 8, 0));
    assert_answer(answer, ADMISSION_NO_DEADLINE, "no-deadline");
    assert_near(answer.least_s, 50, 1);
    assert_near(answer.most_s, 200, 2);
    assert_int_equal(answer.deadline_wall_us, 0);
    end(w);
}

TEST(test_in_time_with_the_least_that_is_enough)
{
    struct world *w = begin();
    struct admission answer;

    teach_speed(w, 8);
    teach_length(w, 380);
    answer = ask(w, spec_due("a", 1, 8, 101)); /* 380 / (0.95 x 101) = 3.96 */
    assert_answer(answer, ADMISSION_IN_TIME, "fits");
    assert_int_equal(answer.instances, 4);
    assert_near(answer.most_s, 95, 2);
    assert_near(answer.least_s, 380 / 8.0, 1); /* with all that it may have */
    assert_int_equal(answer.n_late, 0);
    assert_int_equal(answer.max_wanted, 0);
    assert_int_equal(answer.deadline_wall_us, w->now.wall_us + 101 * USEC_PER_SEC);
    end(w);
}

/* What is not sure: that it is as short as the median, that sizes are fast that nobody tried. */
TEST(test_in_time_is_said_only_when_sure)
{
    struct world *w = begin();
    struct admission answer;

    teach_speed(w, 4);
    teach_length(w, 200);
    answer = ask(w, spec_due("a", 1, 8, 60));
    assert_answer(answer, ADMISSION_IN_TIME, "fits");
    answer = ask(w, spec_due("a", 1, 8, 40)); /* needs more than 4, which were never tried */
    assert_answer(answer, ADMISSION_UNKNOWN, "depends");
    assert_int_equal(answer.max_wanted, 0); /* but no more than it may have */
    teach_length(w, 300);                   /* one in two takes longer */
    answer = ask(w, spec_due("a", 1, 8, 60));
    assert_answer(answer, ADMISSION_UNKNOWN, "depends");
    assert_true(answer.least_s < 60 && answer.most_s > 60);
    answer = ask(w, spec_due("a", 1, 8, 20)); /* nor would the short one be */
    assert_answer(answer, ADMISSION_TOO_LATE, "too-slow");
    end(w);
}

TEST(test_too_late_says_by_how_much_and_what_would_help)
{
    struct world *w = begin();
    struct admission answer;
    double deadline_in_s;

    teach_speed(w, 10);
    teach_length(w, 400);
    answer = ask(w, spec_due("a", 1, 4, 90));
    assert_answer(answer, ADMISSION_TOO_LATE, "too-slow");
    assert_near(answer.late_s, 10, 1);
    assert_int_equal(answer.max_wanted, 5); /* 400 / (0.95 x 90) = 4.7 */
    deadline_in_s = (double)(answer.deadline_wanted_wall_us - w->now.wall_us) / USEC_PER_SEC;
    assert_near(deadline_in_s, 100 / 0.95, 2);
    answer = ask(w, spec_due("a", 1, 4, (uint64_t)deadline_in_s + 1)); /* it is as was said */
    assert_answer(answer, ADMISSION_IN_TIME, "fits");
    answer = ask(w, spec_due("a", 1, 5, 90));
    assert_answer(answer, ADMISSION_IN_TIME, "fits");
    answer = ask(w, spec_due("a", 1, 4, 30)); /* no node has room for so many */
    assert_answer(answer, ADMISSION_TOO_LATE, "too-slow");
    assert_int_equal(answer.max_wanted, 0);
    end(w);
}

TEST(test_others_minima_are_not_its_own)
{
    struct world *w = begin();
    struct admission answer;

    teach_speed(w, 10);
    teach_length(w, 700);
    answer = ask(w, spec_due("b", 1, 10, 100)); /* needs 8 of the 10 */
    assert_answer(answer, ADMISSION_IN_TIME, "fits");
    assert_int_equal(answer.instances, 8);
    (void)run_job(w, "a", 1, 10, 0); /* has all of them, and would give all but one */
    answer = ask(w, spec_due("b", 1, 10, 100));
    assert_answer(answer, ADMISSION_IN_TIME, "fits");
    (void)run_job(w, "c", 2, 10, 0);
    answer = ask(w, spec_due("b", 1, 10, 100)); /* only if one of them ends soon */
    assert_answer(answer, ADMISSION_UNKNOWN, "depends");
    assert_true(answer.least_s < 100 && answer.most_s > 95);
    end(w);
}

TEST(test_foreign_load_is_not_its_own)
{
    struct world *w = begin();
    struct admission answer;

    teach_speed(w, 10);
    teach_length(w, 700);
    w->agents[0].foreign_cpu_millicores = 3 * CORE;
    world_run(w, 1);
    answer = ask(w, spec_due("b", 1, 10, 100));
    assert_answer(answer, ADMISSION_UNKNOWN, "depends");
    end(w);
}

TEST(test_deadlines_before_it_come_first)
{
    struct world *w = begin();
    struct admission answer;

    teach_speed(w, 10);
    teach_length(w, 500);
    (void)run_job(w, "a", 1, 10, 70); /* needs 8 until then, and what of it is done is known */
    answer = ask(w, spec_due("b", 1, 10, 80));
    assert_answer(answer, ADMISSION_TOO_LATE, "too-little-left");
    assert_true(answer.late_s > 1 && answer.late_s < 40);
    answer = ask(w, spec_due("b", 1, 10, 200));
    assert_answer(answer, ADMISSION_IN_TIME, "fits");
    assert_int_equal(answer.n_late, 0);
    end(w);
}

TEST(test_others_that_would_be_late_are_named)
{
    struct world *w = begin();
    struct admission answer;
    struct job *a;

    teach_speed(w, 10);
    teach_length(w, 500);
    a = run_job(w, "a", 1, 10, 70);
    answer = ask(w, spec_due("b", 1, 10, 60));
    assert_int_equal(answer.n_late, 1);
    assert_int_equal(answer.late[0].id, a->id);
    assert_string_equal(answer.late[0].job, "a");
    assert_non_null(strstr(answer.text, "too late because of it: a"));
    end(w);
}

/* The first of many; the others are counted. */
TEST(test_more_are_late_than_are_named)
{
    struct world *w = begin();
    struct admission answer;
    char name[16];

    teach_speed(w, 10);
    teach_length(w, 90);
    for (unsigned i = 0; i < CORES; i++) {
        (void)snprintf(name, sizeof name, "j%u", i);
        (void)run_job(w, name, 1, 2, 200 + i);
    }
    answer = ask(w, spec_due("b", CORES, CORES, 0));
    assert_int_equal(answer.n_late, CORES);
    assert_string_equal(answer.late[ADMISSION_LATE_NAMED - 1].job, "j7");
    assert_non_null(strstr(answer.text, "j7 and 2 others"));
    end(w);
}

/* One that takes nothing but GPUs is in nobody's way who takes nothing but cores. */
TEST(test_each_resource_is_looked_at_alone_before_it_is_too_late)
{
    struct world *w;
    struct job_spec *spec = spec_due("g", 1, 8, 100);
    struct admission answer;
    struct job *g, *b;
    char name[JOB_FAMILY_SIZE];
    double done_s = 0;

    world_policy = &policy_goodput;
    w = world_new(1, CORES * CORE, 64 * GIB, 1000);
    w->agents[0].offer.gpus = 8;
    world_run(w, 1);
    teach_speed(w, 9);
    teach_length(w, 500);
    spec->roles[0].cpu_millicores = CORE / 10;
    spec->roles[0].gpus = 1;
    spec_family_name(spec, w->user != NULL ? w->user : "", name);
    *goodput_family_prior(w->cluster->families, name) = prior_of(w);
    goodput_family_begun(w->cluster->families, name);
    goodput_family_ended(w->cluster->families, name, 700);
    g = world_submit(w, spec); /* needs all GPUs */
    world_run(w, 4);
    answer = ask(w, spec_due("b", 1, 9, 102)); /* needs 6 of 10 cores, of which those have 0.8 */
    assert_true(answer.verdict != ADMISSION_TOO_LATE);
    assert_int_equal(answer.n_late, 0);
    b = world_submit(w, spec_due("b", 1, 9, 102));
    for (int s = 0; s < 96; s++) {
        world_second(w);
        done_s += job_count_running(b, 0);
    }
    assert_true(done_s >= 500);
    assert_int_equal(job_count_running(g, 0), 8);
    end(w);
}

/* One that is due later and runs keeps its minimum. */
TEST(test_minimum_of_who_is_due_later_is_not_its_own)
{
    struct world *w = begin();
    struct admission answer;

    teach_speed(w, 10);
    teach_length(w, 700);
    (void)run_job(w, "a", 4, 4, 100000);
    answer = ask(w, spec_due("b", 1, 10, 100)); /* needs 8 */
    assert_answer(answer, ADMISSION_UNKNOWN, "depends");
    answer = ask(w, spec_due("b", 1, 10, 200));
    assert_answer(answer, ADMISSION_IN_TIME, "fits");
    end(w);
}

/* Whoever comes has his minimum before a deadline gets anything: with a later deadline, without
 * any, and also when nobody knows how long it takes. */
TEST(test_minimum_of_the_new_one_may_be_too_much_for_others)
{
    struct world *w = begin();
    struct admission answer;

    teach_speed(w, 10);
    teach_length(w, 700);
    answer = ask(w, spec_due("b", 4, 10, 0));
    assert_int_equal(answer.n_late, 0);
    (void)run_job(w, "a", 1, 10, 100); /* needs 8 */
    answer = ask(w, spec_due("b", 2, 10, 0));
    assert_int_equal(answer.n_late, 0);
    answer = ask(w, spec_due("b", 4, 10, 0));
    assert_answer(answer, ADMISSION_NO_DEADLINE, "no-deadline");
    assert_int_equal(answer.n_late, 1);
    assert_non_null(strstr(answer.text, "too late because of it: a"));
    answer = ask(w, spec_due("b", 4, 10, 1000));
    assert_answer(answer, ADMISSION_IN_TIME, "fits");
    assert_int_equal(answer.n_late, 1);
    answer = ask(w, spec_due("b", 4, 4, 0));
    assert_answer(answer, ADMISSION_NO_DEADLINE, "fixed-size");
    assert_int_equal(answer.n_late, 1);
    answer = ask(w, spec_due("b", 2, 2, 0));
    assert_int_equal(answer.n_late, 0);
    end(w);
}

/* One that cannot be kept anyhow: it is not the new one's fault, and it needs no more than what it
 * has for certain. */
TEST(test_lost_deadline_is_nobodys_concern)
{
    struct world *w = begin();
    struct admission answer;

    teach_speed(w, 10);
    teach_length(w, 500);
    (void)run_job(w, "a", 2, 10, 40);
    answer = ask(w, spec_due("b", 1, 10, 30));
    assert_int_equal(answer.n_late, 0);
    answer = ask(w, spec_due("b", 1, 10, 70)); /* 8 in the first 36 s, then all */
    assert_answer(answer, ADMISSION_IN_TIME, "fits");
    answer = ask(w, spec_due("b", 1, 10, 55));
    assert_answer(answer, ADMISSION_UNKNOWN, "depends");
    end(w);
}

/* An array takes as much as all of its jobs. */
TEST(test_array_is_all_of_its_jobs)
{
    struct world *w = begin();
    struct job_spec *spec = spec_due("a", 1, 10, 100);
    struct admission answer;

    teach_speed(w, 10);
    teach_length(w, 300);
    spec->array.n = 3; /* 900 of work in 95 s: ten are enough */
    answer = ask(w, spec);
    assert_answer(answer, ADMISSION_IN_TIME, "fits");
    spec = spec_due("a", 1, 10, 100);
    spec->array.n = 4;
    answer = ask(w, spec);
    assert_answer(answer, ADMISSION_TOO_LATE, "too-little-left");
    end(w);
}

TEST(test_who_waits_for_others_cannot_be_sure)
{
    struct world *w = begin();
    struct job_spec *spec = spec_due("b", 1, 10, 200);
    struct admission answer;

    teach_speed(w, 10);
    teach_length(w, 500);
    (void)run_job(w, "a", 1, 2, 0);
    spec->after = xcalloc(2, sizeof *spec->after);
    spec->after[0] = xstrdup("a");
    answer = ask(w, spec);
    assert_answer(answer, ADMISSION_UNKNOWN, "waits-for-jobs");
    end(w);
}

/* One that says nothing of itself is taken to be as long as others were that have ended, not as
 * long as one that has not. */
TEST(test_running_job_is_as_long_as_those_like_it)
{
    struct world *w = begin();
    struct job_outlook outlook;
    struct job *job;

    teach_speed(w, 10);
    job = run_job(w, "a", 1, 2, 0);
    for (int s = 0; s < 200; s++)
        world_second(w);
    assert_false(job_outlook(job, w->now, &outlook));
    job = run_job(w, "b", 1, 2, 0);
    assert_true(job->learned->told.family_s > 0); /* a guess, by how long the first one runs */
    assert_false(job_outlook(job, w->now, &outlook));
    teach_length(w, 500);
    job = run_job(w, "c", 1, 5, 900);
    assert_true(job_outlook(job, w->now, &outlook));
    assert_true(outlook.by_family && outlook.in_time);
    assert_int_equal(outlook.needed, 1);
    assert_near(outlook.left_s * outlook.instances, 500, 30);
    end(w);
}

/* --- the promise comes true ---------------------------------------------------------------------
 */

/* That nobody is named late must not be taken for an answer about those. */
TEST(test_tells_of_whom_it_did_not_look_at)
{
    struct world *w = begin();
    struct admission answer;
    char name[16];

    teach_speed(w, 8);
    teach_length(w, 90);
    for (unsigned i = 0; i < ADMISSION_DUE_MAX; i++) {
        (void)snprintf(name, sizeof name, "j%u", i);
        (void)world_submit(w, spec_due(name, 1, 2, 20000 + i));
    }
    answer = ask(w, spec_due("a", 1, 8, 0)); /* all are due before it: none is looked at */
    assert_answer(answer, ADMISSION_NO_DEADLINE, "no-deadline");
    assert_int_equal(answer.n_late, 0);
    assert_int_equal(answer.n_not_looked_at, ADMISSION_DUE_MAX);
    assert_non_null(strstr(answer.text, "of 256 jobs with deadlines it was not looked at"));
    answer = ask(w, spec_due("a", 1, 8, 100)); /* all but the last */
    assert_int_equal(answer.n_not_looked_at, 1);
    assert_non_null(strstr(answer.text, "of 1 job with"));
    assert_int_equal(cluster_kill_job(w->cluster, cluster_find_job(w->cluster, "j7"), NULL, w->now,
                                      NULL),
                     0);
    world_run(w, 2);
    answer = ask(w, spec_due("a", 1, 8, 100));
    assert_int_equal(answer.n_not_looked_at, 0);
    assert_null(strstr(answer.text, "not looked at"));
    end(w);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_admission.c - what is told of a deadline when its job is submitted, and that it comes true
 *
 * Jobs are of one program of which it is known that an instance works off a second of work in a
 * second, and that they are as fast together as they are many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "scheduler/core/admission.h"
#include "scheduler/core/core_internal.h"
#include "scheduler/core/goodput_family.h"
#include "scheduler/core/outlook.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/goodput_curves.h"

#define CORE UINT64_C(1000) /* millicores, of one instance */
#define CORES 10

static struct world *begin(void)
{
    struct world *w;

    world_policy = &policy_goodput;
    w = world_new(1, CORES * CORE, 64 * GIB, 1000);
    world_run(w, 1);
    return w;
}

static void end(struct world *w)
{
    world_free(w);
    world_policy = &policy_fulfilment;
}

static struct job_spec *spec_due(const char *name, uint32_t min, uint32_t max, uint64_t due_in_s)
{
    struct job_spec *spec = world_spec(name, min, max, CORE, 0, 0);

    spec->deadline_us = due_in_s * USEC_PER_SEC;
    return spec;
}

static void family_of(const struct world *w, char name[JOB_FAMILY_SIZE])
{
    struct job_spec *spec = spec_due("any", 1, 2, 0);

    spec_family_name(spec, w->user != NULL ? w->user : "", name);
    (void)job_spec_free(spec);
}

/* Of sizes up to `largest` it was measured how fast they are: all of them in proportion. */
static void teach_speed(const struct world *w, uint32_t largest)
{
    struct goodput_learned learned;
    char name[JOB_FAMILY_SIZE];

    family_of(w, name);
    goodput_learn_init(&learned);
    for (uint32_t k = 1; k <= largest; k++) {
        (void)goodput_pserver_add(&learned.fit, &(struct goodput_pserver_report){ k, 1, 1.0 / k });
        learned.windows++;
        learned.largest = learned.instances = k;
        learned.measured_s = 1.0 / k;
        learned.resize_s = 1;
        goodput_prior_note(goodput_family_prior(w->cluster->families, name), &learned);
    }
}

static void teach_length(const struct world *w, double work_s)
{
    char name[JOB_FAMILY_SIZE];

    family_of(w, name);
    goodput_family_begun(w->cluster->families, name);
    goodput_family_ended(w->cluster->families, name, work_s);
}

static struct admission ask(const struct world *w, struct job_spec *take_spec)
{
    struct admission ret;

    cluster_admission(w->cluster, take_spec, w->user != NULL ? w->user : "", w->now, &ret);
    (void)job_spec_free(take_spec);
    return ret;
}

#define assert_answer(answer, wanted_verdict, wanted_code)                                         \
    do {                                                                                           \
        const struct admission *answer_ = &(answer);                                               \
                                                                                                   \
        if (answer_->verdict != (wanted_verdict) || !streq(answer_->code, wanted_code))            \
            fail_msg("%s [%s]: %s", admission_verdict_to_string(answer_->verdict), answer_->code,  \
                     answer_->text);                                                               \
    } while (0)

static void test_nobody_knows_and_why(void **state)
{
    struct world *w = begin();
    struct admission answer = ask(w, spec_due("a", 1, 8, 100));
    struct job_spec *spec;

    (void)state;
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

static void test_length_without_a_deadline(void **state)
{
    struct world *w = begin();
    struct admission answer;

    (void)state;
    teach_speed(w, 8);
    teach_length(w, 400);
    answer = ask(w, spec_due("a", 2, 8, 0));
    assert_answer(answer, ADMISSION_NO_DEADLINE, "no-deadline");
    assert_near(answer.least_s, 50, 1);
    assert_near(answer.most_s, 200, 2);
    assert_int_equal(answer.deadline_wall_us, 0);
    end(w);
}

static void test_in_time_with_the_least_that_is_enough(void **state)
{
    struct world *w = begin();
    struct admission answer;

    (void)state;
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
static void test_in_time_is_said_only_when_sure(void **state)
{
    struct world *w = begin();
    struct admission answer;

    (void)state;
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

static void test_too_late_says_by_how_much_and_what_would_help(void **state)
{
    struct world *w = begin();
    struct admission answer;
    double deadline_in_s;

    (void)state;
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

static struct job *run_job(struct world *w, const char *name, uint32_t min, uint32_t max,
                           uint64_t due_in_s)
{
    struct job *job = world_submit(w, spec_due(name, min, max, due_in_s));

    world_run(w, 4);
    assert_int_equal(job->state, JOB_RUNNING);
    return job;
}

static void test_others_minima_are_not_its_own(void **state)
{
    struct world *w = begin();
    struct admission answer;

    (void)state;
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

static void test_foreign_load_is_not_its_own(void **state)
{
    struct world *w = begin();
    struct admission answer;

    (void)state;
    teach_speed(w, 10);
    teach_length(w, 700);
    w->agents[0].foreign_cpu_millicores = 3 * CORE;
    world_run(w, 1);
    answer = ask(w, spec_due("b", 1, 10, 100));
    assert_answer(answer, ADMISSION_UNKNOWN, "depends");
    end(w);
}

static void test_deadlines_before_it_come_first(void **state)
{
    struct world *w = begin();
    struct admission answer;

    (void)state;
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

static void test_others_that_would_be_late_are_named(void **state)
{
    struct world *w = begin();
    struct admission answer;
    struct job *a;

    (void)state;
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

/* One that is due later and runs keeps its minimum. */
static void test_minimum_of_who_is_due_later_is_not_its_own(void **state)
{
    struct world *w = begin();
    struct admission answer;

    (void)state;
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
static void test_minimum_of_the_new_one_may_be_too_much_for_others(void **state)
{
    struct world *w = begin();
    struct admission answer;

    (void)state;
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
static void test_lost_deadline_is_nobodys_concern(void **state)
{
    struct world *w = begin();
    struct admission answer;

    (void)state;
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
static void test_array_is_all_of_its_jobs(void **state)
{
    struct world *w = begin();
    struct job_spec *spec = spec_due("a", 1, 10, 100);
    struct admission answer;

    (void)state;
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

static void test_who_waits_for_others_cannot_be_sure(void **state)
{
    struct world *w = begin();
    struct job_spec *spec = spec_due("b", 1, 10, 200);
    struct admission answer;

    (void)state;
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
static void test_running_job_is_as_long_as_those_like_it(void **state)
{
    struct world *w = begin();
    struct job_outlook outlook;
    struct job *job;

    (void)state;
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

/* What it was promised it gets beside jobs that have no deadline, though it says nothing of itself:
 * its family's length is enough. */
static void test_promise_is_kept(void **state)
{
    struct world *w = begin();
    struct admission answer;
    struct job *job;
    double done_s = 0;

    (void)state;
    teach_speed(w, 10);
    teach_length(w, 500);
    (void)run_job(w, "a", 1, 10, 0);
    (void)run_job(w, "b", 1, 10, 0);
    answer = ask(w, spec_due("c", 1, 10, 120));
    assert_answer(answer, ADMISSION_IN_TIME, "fits");
    job = world_submit(w, spec_due("c", 1, 10, 120));
    for (int s = 0; s < 115; s++) {
        world_second(w);
        done_s += job_count_running(job, 0);
    }
    if (done_s < 500)
        fail_msg("promised with %u instances, and did %.0f s of work", answer.instances, done_s);
    end(w);
}

/* A job of the play below, which ends when its instances have worked for so long together. */
struct played {
    struct job *job;
    double left_s, due_s;
    bool promised;
};

static void work(struct world *w, struct played *played)
{
    if (job_state_is_final(played->job->state))
        return;
    played->left_s -= job_count_running(played->job, 0);
    for (uint32_t i = 0; played->left_s <= 0 && i < played->job->n_slots[0]; i++) {
        const struct process *process = played->job->slots[0][i].live;

        if (process != NULL && process->state == PROCESS_RUNNING)
            world_exit(w, process, 0, 0);
    }
}

static void submit_one(struct world *w, struct played *played, unsigned serial, double work_s)
{
    uint32_t min = 1 + (uint32_t)world_random(w, 2);
    uint32_t max = min + 1 + (uint32_t)world_random(w, CORES);
    uint64_t due_in_s = world_random(w, 4) == 0 ? 0 : 60 + world_random(w, 400);
    struct admission answer;
    char name[16];

    (void)snprintf(name, sizeof name, "j%u", serial);
    answer = ask(w, spec_due(name, min, max, due_in_s));
    if (answer.n_late > 0 || (due_in_s > 0 && answer.verdict != ADMISSION_IN_TIME))
        return;
    *played = (struct played){ .job = world_submit(w, spec_due(name, min, max, due_in_s)),
                               .left_s = work_s,
                               .promised = due_in_s > 0 };
}

/* At the beginning jobs come, with deadlines that can be kept and without any, and none of which it
 * is told that others would be late because of it; then nobody does, and all deadlines are kept. */
static void play_promises(uint64_t seed, unsigned *promised)
{
    struct world *w = begin();
    struct played played[8] = { 0 };
    const double work_s = 300;

    w->seed = seed;
    teach_speed(w, CORES);
    teach_length(w, work_s);
    for (unsigned i = 0; i < ELEMENTS(played); i++)
        submit_one(w, &played[i], i, work_s);
    w->seed = 0;
    for (int s = 0; s < 480; s++) {
        world_second(w);
        for (size_t i = 0; i < ELEMENTS(played); i++)
            if (played[i].job != NULL)
                work(w, &played[i]);
    }
    for (size_t i = 0; i < ELEMENTS(played); i++) {
        *promised += played[i].promised;
        if (played[i].promised && played[i].job->state != JOB_SUCCEEDED)
            fail_msg("seed %d: %s was promised and is %s with %.0f s left: %s", (int)seed,
                     played[i].job->spec->name, job_state_to_string(played[i].job->state),
                     played[i].left_s, played[i].job->reason);
    }
    end(w);
}

static void test_promises_are_kept_beside_each_other(void **state)
{
    unsigned promised = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++)
        play_promises(seed, &promised);
    assert_in_range(promised, 120, 480);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody_knows_and_why),
        cmocka_unit_test(test_length_without_a_deadline),
        cmocka_unit_test(test_in_time_with_the_least_that_is_enough),
        cmocka_unit_test(test_in_time_is_said_only_when_sure),
        cmocka_unit_test(test_too_late_says_by_how_much_and_what_would_help),
        cmocka_unit_test(test_others_minima_are_not_its_own),
        cmocka_unit_test(test_foreign_load_is_not_its_own),
        cmocka_unit_test(test_deadlines_before_it_come_first),
        cmocka_unit_test(test_others_that_would_be_late_are_named),
        cmocka_unit_test(test_minimum_of_who_is_due_later_is_not_its_own),
        cmocka_unit_test(test_minimum_of_the_new_one_may_be_too_much_for_others),
        cmocka_unit_test(test_lost_deadline_is_nobodys_concern),
        cmocka_unit_test(test_running_job_is_as_long_as_those_like_it),
        cmocka_unit_test(test_array_is_all_of_its_jobs),
        cmocka_unit_test(test_who_waits_for_others_cannot_be_sure),
        cmocka_unit_test(test_promise_is_kept),
        cmocka_unit_test(test_promises_are_kept_beside_each_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_admission_promises.c - a job with the word "in time" is in time, with any other jobs */
#include "scheduler/core/core.h"
#include "tests/unit/admission_world.h"
#include "tests/unit/test.h"

/* What it was promised it gets beside jobs that have no deadline, though it says nothing of itself:
 * its family's length is enough. */
TEST(test_promise_is_kept)
{
    struct world *w = begin();
    struct admission answer;
    struct job *job;
    double done_s = 0;

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

/* It was promised for what nine in ten jobs like it took, so it gets what such a one needs, from
 * the beginning: when half of them would be over it would be too late. */
TEST(test_promise_is_kept_to_a_long_one)
{
    struct world *w = begin();
    struct admission answer;
    struct job *job;
    double done_s = 0;

    teach_speed(w, 10);
    for (int i = 0; i < 20; i++)
        teach_length(w, i < 14 ? 100 : 600);
    (void)run_job(w, "a", 1, 10, 0);
    answer = ask(w, spec_due("b", 1, 10, 100));
    assert_answer(answer, ADMISSION_IN_TIME, "fits");
    job = world_submit(w, spec_due("b", 1, 10, 100));
    for (int s = 0; s < 98; s++) {
        world_second(w);
        done_s += job_count_running(job, 0);
    }
    if (done_s < 600)
        fail_msg("promised with %u instances, and did %.0f s of work", answer.instances, done_s);
    end(w);
}

/* Promised is what one needs, also while it has not begun. */
TEST(test_who_waits_is_as_long_as_those_like_it)
{
    struct world *w = begin();
    struct job *a = NULL;
    struct admission answer;

    teach_speed(w, 10);
    teach_length(w, 500);
    assert_int_equal(cluster_submit(w->cluster, spec_due("a", 1, 10, 70), w->user, w->now, &a,
                                    NULL),
                     0);
    assert_int_equal(a->state, JOB_QUEUED);
    answer = ask(w, spec_due("b", 1, 10, 75));
    assert_answer(answer, ADMISSION_TOO_LATE, "too-little-left");
    end(w);
}

/* Whoever waits gets his minimum before a deadline gets more than its own, when he can start. */
TEST(test_minima_of_those_behind_it_are_not_its_own)
{
    struct world *w = begin();
    struct job_spec *spec;
    struct admission answer;

    teach_speed(w, 10);
    teach_length(w, 500);
    (void)run_job(w, "x", 6, 10, 60);
    answer = ask(w, spec_due("b", 1, 10, 120));
    assert_answer(answer, ADMISSION_IN_TIME, "fits");
    spec = spec_due("l", 8, 9, 0);
    spec->priority = -1;
    (void)world_submit(w, spec);
    answer = ask(w, spec_due("b", 1, 10, 120));
    assert_answer(answer, ADMISSION_UNKNOWN, "depends");
    answer = ask(w, spec_due("b", 1, 10, 600)); /* its minimum it has before that one */
    assert_answer(answer, ADMISSION_IN_TIME, "fits");
    assert_int_equal(answer.instances, 1);
    end(w);
}

/* The same of one that is to run after another one. */
TEST(test_minimum_of_who_waits_for_jobs_is_not_its_own)
{
    struct world *w = begin();
    struct job_spec *spec = spec_due("y", 8, 9, 0);
    struct admission answer;

    teach_speed(w, 10);
    teach_length(w, 700);
    (void)run_job(w, "x", 1, 2, 0);
    answer = ask(w, spec_due("b", 1, 10, 100));
    assert_answer(answer, ADMISSION_IN_TIME, "fits");
    spec->after = xcalloc(2, sizeof *spec->after);
    spec->after[0] = xstrdup("x");
    (void)world_submit(w, spec);
    answer = ask(w, spec_due("b", 1, 10, 100));
    assert_answer(answer, ADMISSION_UNKNOWN, "depends");
    end(w);
}

/* What is beyond minima groups have by turns, and not by deadlines. */
TEST(test_groups_share_what_is_beyond_minima)
{
    static const struct group_member members[] = { { "alice", "a" }, { "bob", "b" } };
    const struct group_spec specs[] = { { .name = "a", .guaranteed_permille = 500, .weight = 1 },
                                        { .name = "b", .guaranteed_permille = 500, .weight = 1 } };
    struct group_table *table = group_table_new(specs, 2, members, 2);
    struct world *w = begin();
    struct admission answer;

    cluster_set_groups(w->cluster, table);
    world_plan(w);
    w->user = "alice";
    (void)run_job(w, "a", 1, 10, 0);
    w->user = "bob";
    teach_speed(w, 10);
    teach_length(w, 700);
    answer = ask(w, spec_due("b", 1, 10, 100));
    assert_answer(answer, ADMISSION_UNKNOWN, "depends");
    answer = ask(w, spec_due("b", 1, 10, 800));
    assert_answer(answer, ADMISSION_IN_TIME, "fits");
    end(w);
    assert_null(group_table_free(table));
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

TEST(test_promises_are_kept_beside_each_other)
{
    unsigned promised = 0;

    for (uint64_t seed = 1; seed <= 60; seed++)
        play_promises(seed, &promised);
    assert_in_range(promised, 120, 480);
}

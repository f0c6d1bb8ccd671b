/* SPDX-License-Identifier: Apache-2.0 */
/* test_worker.c - calls that block, beside the loop: in order, told to the loop, ended or left */
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>

#include "scheduler/worker.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

enum { JOBS = 3 };

struct step {
    struct worker_job job; /* first */
    sem_t *wait;           /* NULL: it does not */
    pthread_t ran_by;
};

static sem_t held, release;
static unsigned n_done;
static struct step *ended[JOBS];

static void run(struct worker_job *job)
{
    struct step *step = (struct step *)job;

    step->ran_by = pthread_self();
    if (step->wait == NULL)
        return;
    (void)sem_post(&held);
    while (sem_wait(step->wait) == -1)
        continue;
}

static void done(struct worker_job *job)
{
    ended[n_done++] = (struct step *)job;
}

static int setup(void **state)
{
    sd_event *event = NULL;

    assert_int_equal(sem_init(&held, 0, 0), 0);
    assert_int_equal(sem_init(&release, 0, 0), 0);
    n_done = 0;
    assert_true(sd_event_new(&event) >= 0);
    *state = event;
    return 0;
}

static int teardown(void **state)
{
    (void)sd_event_unref(*state);
    return 0;
}

TEST_EACH(setup, teardown);

static struct worker *new_worker(sd_event *event)
{
    struct worker *worker = NULL;

    assert_int_equal(worker_new(event, "edl-test", &worker, NULL), 0);
    return worker;
}

TEST(jobs_are_done_in_order_beside_the_loop)
{
    sd_event *event = *state;
    struct worker *worker = new_worker(event);
    struct step steps[JOBS] = { { .wait = &release } };

    for (size_t i = 0; i < JOBS; i++) {
        steps[i].job = (struct worker_job){ .run = run, .done = done };
        worker_start(worker, &steps[i].job);
    }
    assert_int_equal(sem_wait(&held), 0);
    assert_true(sd_event_run(event, 0) >= 0); /* which waits for nothing */
    assert_int_equal(n_done, 0);
    (void)sem_post(&release);
    while (n_done < JOBS)
        assert_true(sd_event_run(event, 120 * USEC_PER_SEC) > 0);
    for (size_t i = 0; i < JOBS; i++) {
        assert_ptr_equal(ended[i], &steps[i]);
        assert_false(pthread_equal(steps[i].ran_by, pthread_self()));
    }
    assert_null(worker_free(worker));
}

TEST(what_was_started_is_done_at_the_end)
{
    struct worker *worker = new_worker(*state);
    struct step steps[JOBS] = { { .wait = NULL } };

    for (size_t i = 0; i < JOBS; i++) {
        steps[i].job = (struct worker_job){ .run = run, .done = done };
        worker_start(worker, &steps[i].job);
    }
    assert_null(worker_free(worker));
    assert_int_equal(n_done, JOBS);
    assert_null(worker_free(new_worker(*state)));
    assert_null(worker_free(NULL));
}

static struct worker *starter;

static void start_another(struct worker_job *job)
{
    struct step *step = (struct step *)job;

    done(job);
    step[1].job = (struct worker_job){ .run = run, .done = done };
    worker_start(starter, &step[1].job);
}

TEST(what_is_started_at_the_end_is_done_too)
{
    struct step steps[2] = { { .wait = NULL } };

    starter = new_worker(*state);
    steps[0].job = (struct worker_job){ .run = run, .done = start_another };
    worker_start(starter, &steps[0].job);
    assert_null(worker_free(starter));
    assert_int_equal(n_done, 2);
}

TEST(what_hangs_is_left_alone)
{
    struct worker *worker = new_worker(*state);

    for (size_t i = 0; i < JOBS; i++) {
        struct step *step = xcalloc(1, sizeof *step);

        *step = (struct step){ { .run = run, .done = done }, .wait = &release };
        worker_start(worker, &step->job);
    }
    assert_int_equal(sem_wait(&held), 0);
    assert_null(worker_abandon(worker)); /* comes back, and drops the other two */
    assert_int_equal(n_done, 0);
    (void)sem_post(&release);
    assert_null(worker_abandon(new_worker(*state)));
    assert_null(worker_abandon(NULL));
}

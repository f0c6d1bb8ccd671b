/* SPDX-License-Identifier: Apache-2.0 */
/* far_turn.c - a turn on its way: recorded in the loop, stored by the writing thread
 *
 *   idle --store_commit: recorded, given to the thread--> in flight --stored, or lost--> idle
 *
 * One is in flight at a time, and the caller changes nothing of the core meanwhile. The thread sees
 * its own turn and the near store, and nothing else. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "scheduler/store/far/far_internal.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"

struct far_turn {
    struct worker_job job; /* first */
    struct far *far;
    struct store *store; /* the far one; of the loop alone */
    struct image image;
    struct turn_rest rest;
    struct store_history history;
    bool sweeping; /* there is something to delete */
    uint64_t sent_us;
    /* the thread's answer */
    int r;
    uint64_t took_us;
    struct edl_error error;
    struct far_sums sums;
};

struct far *far_of(const struct store *store)
{
    return store != NULL && store->engine->calls == &far_calls ? far_of_engine(store->engine) : NULL;
}

/* --- in the thread --- */

/* Tests alone ask for it. */
static void delay(uint64_t us)
{
    struct timespec rest = { .tv_sec = (time_t)(us / USEC_PER_SEC),
                             .tv_nsec = (long)(us % USEC_PER_SEC * 1000) };

    while (us > 0 && clock_nanosleep(CLOCK_MONOTONIC, 0, &rest, &rest) == EINTR)
        continue;
}

static int play(struct far_turn *turn, struct store *near)
{
    const struct engine_calls *calls = near->engine->calls;
    int r;

    near->history = turn->history;
    near->sweeping |= turn->sweeping;
    if (calls->begin(near->engine) < 0)
        return store_error(near, "writing", &turn->error);
    r = image_play(&turn->image, near, &turn->error);
    if (r == 0)
        r = store_write_rest(near, &turn->rest, &turn->error);
    if (r == 0 && calls->commit(near->engine) < 0)
        r = store_error(near, "writing", &turn->error);
    if (r < 0)
        calls->rollback(near->engine);
    return r;
}

static int read_sums(struct store *near, struct far_sums *ret, struct edl_error *error)
{
    near->engine->calls->figures(near->engine, &ret->figures);
    ret->log_bytes = store_log_bytes(near);
    ret->archived_bytes = store_archived_bytes(near);
    ret->rest = near->rest;
    ret->behind = near->behind;
    return store_archived_counts(near, ret->archived, error);
}

static void run(struct worker_job *job)
{
    struct far_turn *turn = (struct far_turn *)job;
    uint64_t start_us = clock_read_us(CLOCK_MONOTONIC);

    turn->r = play(turn, turn->far->near);
    if (turn->r == 0 && read_sums(turn->far->near, &turn->sums, NULL) < 0)
        turn->sums = turn->far->sums; /* they are for people: the turn is stored for all that */
    delay(turn->far->config.delay_us);
    turn->took_us = clock_read_us(CLOCK_MONOTONIC) - start_us;
}

/* --- in the loop --- */

static void turn_free(struct far_turn *turn)
{
    image_done(&turn->image);
    turn_rest_done(&turn->rest);
    free(turn);
}

static void note(struct far_turn *turn)
{
    struct store *store = turn->store;

    store->last_commit = turn->r;
    if (turn->r < 0) {
        store->commit_failures++;
        return;
    }
    histogram_observe(&store->commits, turn->took_us);
    turn->far->sums = turn->sums;
    store->rest = turn->sums.rest;
    store->behind = turn->sums.behind;
}

static void on_stored(struct worker_job *job)
{
    struct far_turn *turn = (struct far_turn *)job;
    struct far *far = turn->far;
    const struct edl_error error = turn->error;
    uint64_t sent_us = turn->sent_us;
    int r = turn->r;

    note(turn);
    turn_free(turn);
    far->in_flight = false;
    if (far->stored != NULL)
        far->stored(far->userdata, r, sent_us, &error);
}

int far_commit(struct store *store, const struct turn_records *records, struct edl_error *error)
{
    struct far *far = far_of(store);
    struct far_turn *turn;
    int r;

    if (far->in_flight)
        return edl_error_set(error, -EBUSY, "a turn is in flight");
    turn = xcalloc(1, sizeof *turn);
    *turn = (struct far_turn){ .job = { .run = run, .done = on_stored },
                               .far = far,
                               .store = store,
                               .history = store->history,
                               .sent_us = clock_read_us(CLOCK_BOOTTIME) };
    far->image = &turn->image;
    store->sweeping = false;
    r = store_write_records(store, records, error);
    far->image = NULL;
    if (r < 0) {
        turn_free(turn);
        return r;
    }
    turn->sweeping = store->sweeping;
    turn_rest_of(records, &turn->rest);
    far->in_flight = true;
    worker_start(far->writing, &turn->job);
    return 1;
}

/* --- signs of life --- */

struct far_probe {
    struct worker_job job; /* first */
    struct far *far;
    far_alive_fn fn;
    void *userdata;
    uint64_t sent_us;
    int r;
    struct edl_error error;
};

static void probe(struct worker_job *job)
{
    struct far_probe *probe = (struct far_probe *)job;

    probe->r = store_probe(probe->far->near, &probe->error);
    delay(probe->far->config.delay_us);
}

static void on_probed(struct worker_job *job)
{
    struct far_probe *probe = (struct far_probe *)job;

    probe->far->probing = false;
    probe->fn(probe->userdata, probe->r, probe->sent_us, &probe->error);
    free(probe);
}

void store_live_probe(struct store *store, far_alive_fn fn, void *userdata)
{
    struct far *far = far_of(store);
    struct far_probe *one;

    if (far == NULL || far->probing)
        return;
    one = xcalloc(1, sizeof *one);
    *one = (struct far_probe){ .job = { .run = probe, .done = on_probed },
                               .far = far,
                               .fn = fn,
                               .userdata = userdata,
                               .sent_us = clock_read_us(CLOCK_BOOTTIME) };
    far->probing = true;
    worker_start(far->writing, &one->job);
}

/* --- life --- */

int store_far_new(sd_event *event, const struct far_config *config, struct store **ret,
                  struct edl_error *error)
{
    struct far *far = xcalloc(1, sizeof *far);
    struct store *store = store_new();
    int r;

    far->engine.calls = &far_calls;
    far->config = *config;
    store->engine = &far->engine;
    store->sweeping = false;
    store->schema_version = config->writer->schema_version;
    store->history = config->writer->history;
    store->readers = config->writer->readers;
    r = worker_new(event, "edl-writing", &far->writing, error);
    if (r == 0)
        r = far_reads_new(event, far, &far->reads, error);
    if (r == 0)
        r = store_prepare_all(store, error);
    if (r == 0)
        r = read_sums(config->writer, &far->sums, error);
    if (r < 0) {
        far->config.release = NULL;
        (void)store_free(store);
        return r;
    }
    store->rest = store->behind = false;
    far->near = config->writer;
    *ret = store;
    return 0;
}

void store_on_stored(struct store *store, far_stored_fn fn, void *userdata)
{
    struct far *far = far_of(store);

    if (far == NULL)
        return;
    far->stored = fn;
    far->userdata = userdata;
}

void store_wait(struct store *store)
{
    struct far *far = far_of(store);

    if (far != NULL)
        worker_wait(far->writing);
}

struct store *store_near(struct store *store)
{
    struct far *far = far_of(store);

    return far != NULL ? far->near : store;
}

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
#include <string.h>
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
    uint64_t sent_us;
    /* the thread's answer */
    int r;
    uint64_t took_us;
    struct edl_error error;
    struct far_sums sums;
};

struct far *far_of(const struct store *store)
{
    return store != NULL && store->engine->calls == &far_calls ? far_of_engine(store->engine)
                                                               : NULL;
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
    r = store_need_sums(near, &turn->error);
    if (r < 0)
        return r;
    if (calls->begin(near->engine) < 0)
        return store_error(near, "writing", &turn->error);
    r = image_play(&turn->image, near, &turn->error);
    if (r == 0)
        r = store_write_rest(near, &turn->rest, &turn->error);
    if (r == 0 && calls->commit(near->engine) < 0)
        r = store_error(near, "writing", &turn->error);
    if (r == 0)
        return 0;
    calls->rollback(near->engine);
    store_forget_sums(near);
    return r;
}

static void read_sums(const struct store *near, struct far_sums *ret)
{
    near->engine->calls->figures(near->engine, &ret->figures);
    ret->log_bytes = store_log_bytes(near);
    ret->archived_bytes = store_archived_bytes(near);
    ret->rest = near->rest;
    ret->behind = near->behind;
    store_archived_counts(near, ret->archived);
}

static void run(struct worker_job *job)
{
    struct far_turn *turn = (struct far_turn *)job;
    uint64_t start_us = clock_read_us(CLOCK_MONOTONIC);

    turn->r = play(turn, turn->far->near);
    if (turn->r == 0)
        read_sums(turn->far->near, &turn->sums);
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

/* The sums of the near store are told for this one as well. */
static void show_sums(struct store *store, const struct far_sums *sums)
{
    store->sums.log_bytes = sums->log_bytes;
    store->sums.archive.bytes = sums->archived_bytes;
    memcpy(store->sums.archived, sums->archived, sizeof store->sums.archived);
}

static void drop_turn(struct worker_job *job)
{
    turn_free((struct far_turn *)job);
}

static void note(struct far_turn *turn)
{
    struct store *store = turn->store;

    store->last_commit = turn->r;
    if (turn->r < 0) {
        store->commit_failures++;
        store_forget_sums(store);
        return;
    }
    histogram_observe(&store->commits, turn->took_us);
    turn->far->sums = turn->sums;
    show_sums(store, &turn->sums);
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

/* The rows of a turn are numbered in the loop. After one that was lost nobody knows which there
 * are: then there is nothing in flight, and they are read. */
static int take_numbers(struct store *store, struct store *near, struct edl_error *error)
{
    int r = store->sums.known ? 0 : store_need_sums(near, error);

    if (r < 0 || store->sums.known)
        return r;
    store->numbers = near->numbers;
    store->sums.epoch = near->sums.epoch;
    store->sums.first_job = near->sums.first_job;
    store->sums.known = true;
    return 0;
}

int far_commit(struct store *store, const struct turn_records *records, struct edl_error *error)
{
    struct far *far = far_of(store);
    struct far_turn *turn;
    int r;

    if (far->in_flight)
        return edl_error_set(error, -EBUSY, "a turn is in flight");
    r = take_numbers(store, far->near, error);
    if (r < 0)
        return r;
    turn = xcalloc(1, sizeof *turn);
    *turn = (struct far_turn){ .job = { .run = run, .done = on_stored, .drop = drop_turn },
                               .far = far,
                               .store = store,
                               .history = store->history,
                               .sent_us = clock_read_us(CLOCK_BOOTTIME) };
    far->image = &turn->image;
    r = store_write_records(store, records, error);
    far->image = NULL;
    if (r < 0) {
        store_forget_sums(store);
        turn_free(turn);
        return r;
    }
    turn_rest_of(records, &turn->rest);
    far->in_flight = true;
    worker_start(far->writing, &turn->job);
    return 1;
}

/* --- signs of life --- */

struct far_probe {
    struct worker_job job; /* first */
    struct far *far;
    struct store *store; /* the far one; of the loop alone */
    far_alive_fn fn;
    void *userdata;
    uint64_t sent_us, room_bytes; /* 0: none is looked for */
    int r;
    struct edl_error error;
};

static void probe(struct worker_job *job)
{
    struct far_probe *probe = (struct far_probe *)job;

    if (probe->room_bytes > 0)
        probe->r = store_room(probe->far->near, probe->room_bytes, &probe->error);
    else
        probe->r = store_probe(probe->far->near, &probe->error);
    delay(probe->far->config.delay_us);
}

static void on_probed(struct worker_job *job)
{
    struct far_probe *probe = (struct far_probe *)job;

    probe->far->probing = false;
    if (probe->room_bytes > 0 && probe->r == 0)
        probe->store->last_commit = 0;
    probe->fn(probe->userdata, probe->r, probe->sent_us, &probe->error);
    free(probe);
}

static bool start_probe(struct store *store, uint64_t room_bytes, far_alive_fn fn, void *userdata)
{
    struct far *far = far_of(store);
    struct far_probe *one;

    if (far == NULL || far->probing)
        return false;
    one = xcalloc(1, sizeof *one);
    *one = (struct far_probe){ .job = { .run = probe, .done = on_probed },
                               .far = far,
                               .store = store,
                               .fn = fn,
                               .userdata = userdata,
                               .room_bytes = room_bytes,
                               .sent_us = clock_read_us(CLOCK_BOOTTIME) };
    far->probing = true;
    worker_start(far->writing, &one->job);
    return true;
}

void store_live_probe(struct store *store, far_alive_fn fn, void *userdata)
{
    (void)start_probe(store, 0, fn, userdata);
}

bool store_room_probe(struct store *store, uint64_t bytes, far_alive_fn fn, void *userdata)
{
    return start_probe(store, bytes, fn, userdata);
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
    store->schema_version = config->writer->schema_version;
    store->history = config->writer->history;
    store->readers = config->writer->readers;
    r = worker_new(event, "edl-writing", &far->writing, error);
    if (r == 0)
        r = far_reads_new(event, far, &far->reads, error);
    if (r == 0)
        r = store_prepare_all(store, error);
    if (r == 0)
        r = take_numbers(store, config->writer, error);
    if (r < 0) {
        (void)store_free(store);
        return r;
    }
    read_sums(config->writer, &far->sums);
    show_sums(store, &far->sums);
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

/* SPDX-License-Identifier: Apache-2.0 */
/* far.h - a store whose database is far: a thread writes it, another one reads it
 *
 * The loop asks a far store what it asks of any other; no call waits for the database. A turn is
 * recorded (image.h) and given to the writing thread, which has a near store of its own: the one
 * that waits for the database. Rows come from the reading thread (store_asked.h).
 *
 * Used by: state.c, leadership. Tests: tests/unit/test_store_far.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "scheduler/store/store.h"

struct edl_error;
struct engine;

/* far_stored_fn - in the loop: the turn in flight is stored (r 0), or lost or refused (r negative,
 * as store_commit). sent_us: CLOCK_BOOTTIME when it was given to the thread */
typedef void (*far_stored_fn)(void *userdata, int r, uint64_t sent_us,
                              const struct edl_error *error);

struct far_config {
    /* near; the far store's from now on, and its readers (reader_source.h) the reading thread's */
    struct store *writer;
    uint64_t delay_us; /* of each answer, for tests */
};

/* store_far_new - after a failure the writer is the caller's still */
int store_far_new(sd_event *event, const struct far_config *config, struct store **ret,
                  struct edl_error *error);

/* store_on_stored - who hears of turns in flight. Of a near store: nothing is ever in flight */
void store_on_stored(struct store *store, far_stored_fn fn, void *userdata);

/* store_wait - until nothing is in flight; store_on_stored's fn has heard of it. At the end of a
 * process: it blocks for as long as a commit may take */
void store_wait(struct store *store);

/* store_near - the store that waits for the database: for loads. Only while nothing is in flight.
 * Of a near store: itself */
struct store *store_near(struct store *store);

/* store_live_probe - the thread stores a turn that changes nothing, and fn hears how that went: a
 * sign of life between two turns. One at a time: nothing is done while one is on its way */
typedef void (*far_alive_fn)(void *userdata, int r, uint64_t sent_us,
                             const struct edl_error *error);
void store_live_probe(struct store *store, far_alive_fn fn, void *userdata);

/* store_room_probe - in its place: whether the disk of the database has room for so many bytes,
 * which are written and undone (-ENOSPC). store_near may be used in fn. false: one is on its way,
 * and fn hears nothing */
bool store_room_probe(struct store *store, uint64_t bytes, far_alive_fn fn, void *userdata);

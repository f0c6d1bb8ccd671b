/* SPDX-License-Identifier: Apache-2.0 */
/* candidate.h - a thread that waits to lead
 *
 * It opens the database, waits for its lock, takes the next term and stores one empty transaction
 * of it. A failure is told, and tried again after a pause. Used by: leadership. Tests:
 * tests/integration/402-standby.sh. */
#pragma once

#include <stdint.h>
#include <systemd/sd-event.h>

#include "scheduler/leadership/shared_database.h"

struct candidate;
struct edl_error;

/* The result of a candidacy; store is the callee's. */
struct lead {
    struct store *store;
    uint64_t term;
    uint64_t sent_us;       /* CLOCK_BOOTTIME of the transaction that proves it */
    int64_t clock_ahead_us; /* of this machine, before that of the database */
};

struct candidate_config {
    const struct shared_database *database;
    const char *url;         /* borrowed, as those of self are */
    struct shared_self self; /* as it is when a try begins */
    /* in the loop */
    void (*waits)(void *userdata); /* the database is open */
    void (*failed)(const struct edl_error *why, void *userdata);
    void (*leads)(const struct lead *lead, void *userdata);
    void *userdata;
};

int candidate_new(sd_event *event, const struct candidate_config *config, struct candidate **ret,
                  struct edl_error *error);

/* candidate_climb - the term of the next try is this number at least */
void candidate_climb(struct candidate *candidate, uint64_t least_term);

/* candidate_know - the database had this term: a server of an earlier one is a former one */
void candidate_know(struct candidate *candidate, uint64_t term);

/* candidate_start - from now on, until it leads; nothing while it tries */
void candidate_start(struct candidate *candidate);

/* candidate_free - waits for nothing: a thread that hangs ends by itself. Accepts NULL; returns
 * NULL */
struct candidate *candidate_free(struct candidate *candidate);

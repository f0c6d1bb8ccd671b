/* SPDX-License-Identifier: Apache-2.0 */
/* turn_rest.h - what a turn's transaction does behind its rows: it reads them, sums up, and lets
 * old ones go
 *
 * Numbers and names alone: it borrows nothing from the core, so a thread may do it while the loop
 * goes on. Used by: store. Tests: tests/unit/test_store_held.c, test_store_archive.c,
 * test_store_schema.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/account_name.h"

struct stored_answer;
struct turn_records;

/* The processes of a role of a job now, and all that they hold. */
struct role_held {
    uint64_t job_id;
    uint32_t role;
    char user[ACCOUNT_NAME_MAX + 1];
    uint64_t processes, cpu_millicores, gpus;
};

/* Rows that were added for a user; there may be several of one. */
struct rest_share {
    char *user; /* owned */
    uint64_t n_answers, answer_bytes, n_audited;
};

struct turn_rest {
    uint64_t wall_us;   /* as turn_records has it */
    uint64_t n_ended;   /* the same */
    uint64_t *archived; /* owned: numbers of jobs that the core has let go of */
    size_t n_archived;
    struct role_held *held; /* owned: it may be other than before */
    size_t n_held;
    struct rest_share *shares; /* owned */
    size_t n_shares;
    size_t n_events; /* that were added; the last one then: */
    uint64_t event_wall_us;
    size_t n_tails, n_answers, n_audited; /* the same */
    uint64_t answered_wall_us, audited_wall_us;
    size_t n_families;  /* that were written */
    bool forgets_tails; /* of superseded processes */
    bool forgets_tasks; /* of queues that are closed: some may be left */
};

/* store_answer_bytes - of one: with 512 for itself */
uint64_t store_answer_bytes(const struct stored_answer *answer);

/* turn_rest_of - of these records; turn_rest_done frees what it owns */
void turn_rest_of(const struct turn_records *records, struct turn_rest *ret);
void turn_rest_done(struct turn_rest *rest);

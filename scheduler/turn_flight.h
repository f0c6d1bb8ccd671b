/* SPDX-License-Identifier: Apache-2.0 */
/* turn_flight.h - a turn between its plan and its last answer: its records, and the lines and
 * topics that are told once it is stored
 *
 * Used by: turn.c. Tests: tests/unit/test_turn.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/calls/waiters.h"
#include "scheduler/store/store.h"
#include "shared/job_spec.h"
#include "shared/log.h"
#include "shared/node_name.h"

/* A topic whose waiters are woken once the turn is stored. It is kept apart from the effects: those
 * die with the core's next event. */
struct notice {
    char topic[TOPIC_MAX];
};

/* An event's line of the log; the subject borrows the names beside it. */
struct event_line {
    struct log_subject subject;
    char node[NODE_NAME_MAX + 1], role[ROLE_NAME_MAX + 1];
    char *text; /* owned */
};

/* A turn, from its plan until its last answer. */
struct turn_flight {
    struct turn_records records;
    struct stored_answer *answers; /* owned; so are the next two */
    struct stored_token *tokens;
    struct stored_notice *stored_notices;
    struct notice *notices; /* owned, n_notices */
    size_t n_notices;
    struct event_line *lines; /* owned, n_lines */
    size_t n_lines;
    uint64_t since_us; /* it is in flight, CLOCK_BOOTTIME */
    bool late;         /* reports do not wait for it any more */
    bool hangs;        /* nor do those who watch the scheduler */
};

/* flight_patience_us - so long reports wait for a turn in flight, from when it was given to the
 * store: 50 ms, or twice as long as each of the last two took, but a tenth of the lease at most. */
uint64_t flight_patience_us(const uint64_t took_us[2], uint64_t lease_us);

/* turn_flight_note - what is told of its effects, while they are there; once */
void turn_flight_note(struct turn_flight *flight);

/* turn_flight_sent - the store has its own copy of what was made for it */
void turn_flight_sent(struct turn_flight *flight);

/* turn_flight_log - its events, to the log */
void turn_flight_log(const struct turn_flight *flight);

/* turn_flight_free - accepts NULL; returns NULL */
struct turn_flight *turn_flight_free(struct turn_flight *flight);

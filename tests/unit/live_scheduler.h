/* SPDX-License-Identifier: Apache-2.0 */
/* live_scheduler.h - for tests: a whole scheduler and its clients on one event loop
 *
 * A test can hold the turn back and so look at the answers between a change and its commit. It can
 * let the commit fail, and start the scheduler again on the stored state. Waiting is for events,
 * with a deadline. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scheduler/scheduler.h"
#include "shared/error.h"
#include "shared/http_client.h"

#define LIVE_LEASE_US (600 * USEC_PER_SEC) /* a slow machine ends none */

struct live {
    char folder[64];
    struct scheduler *scheduler;
    struct http_async *async;
    const char *token; /* borrowed; NULL: the admin's */
    bool local;        /* it listens on the Unix socket `socket` of the folder as well */
};

/* What came back; n is 0 until it did. */
struct reply {
    unsigned n, status, retry_after_s;
    char *body; /* owned */
    size_t size;
    json_t *json;
    struct edl_error error;
};

/* live_setup, live_teardown - a scheduler on an empty state directory; cmocka's */
int live_setup(void **state);
int live_teardown(void **state);
/* live_setup_local - with a Unix socket, whose accounts are users */
int live_setup_local(void **state);

/* live_stop, live_start - ends the scheduler as it is; starts one on what is stored */
void live_stop(struct live *live);
void live_start(struct live *live);

/* live_restart - ends the scheduler as it is and starts one on what is stored */
void live_restart(struct live *live);

/* live_send - sends a call with live->token; reply must stay where it is until it came */
void live_send(struct live *live, const char *method, const char *path, const char *key,
               const char *body, struct reply *reply);

/* live_send_as - the same with another bearer */
void live_send_as(struct live *live, const char *token, const char *method, const char *path,
                  const char *key, const char *body, struct reply *reply);

/* live_send_with - the same with any header; NULL: none */
void live_send_with(struct live *live, const char *token, const char *header, const char *method,
                    const char *path, const char *body, struct reply *reply);

/* live_send_for - a call for a process, with live->token or as an admin */
void live_send_for(struct live *live, const struct process *process, const char *method,
                   const char *path, const char *body, struct reply *reply);

/* live_ask - live_send and live_wait; returns the status */
unsigned live_ask(struct live *live, const char *method, const char *path, const char *key,
                  const char *body, struct reply *reply);
void live_wait(struct live *live, const struct reply *reply);

/* live_hold - runs the loop until a turn is due, and keeps it from coming; live_release lets it */
void live_hold(struct live *live);
void live_release(struct live *live);

/* live_stop_writing - of a store that is far: its writing thread stands still, as a database does
 * that answers nothing; live_go_on_writing lets it go on. Once a test */
void live_stop_writing(struct live *live);
void live_go_on_writing(void);

/* live_readers - runs the loop until so many reads wait for the commit */
void live_readers(struct live *live, size_t wanted);

/* live_disk_full - from here on nothing can be written to a file; false: it can again */
void live_disk_full(bool full);

void reply_clear(struct reply *reply);

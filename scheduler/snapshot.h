/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot.h - a copy of this process, as it is at that moment, that computes beside the loop
 *
 * A child does work that has to look at the whole core for longer than the loop may stand still:
 * fork(2) copies the table of pages (about 1 ms for 60 MB, 60 ms for 1 GB). A copy of the core by
 * hand takes a hundred times as long. And its computation can be ended at any time. The child has
 * no descriptor but its answer's, and gives way to the scheduler on the processors where it may. It
 * is the first to go when memory is short, and dies with the scheduler.
 *
 * Used by: api/forecast.c. Tests: tests/unit/test_snapshot.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <systemd/sd-event.h>

struct edl_error;
struct snapshot;

/* In the child, which has a memory of its own: its changes end with it. It may compute and
 * allocate; no log, no descriptor but out. */
typedef void (*snapshot_compute_fn)(FILE *out, void *question);

/* In the loop, once; the snapshot is gone then. answer: the written text, borrowed; NULL: there is
 * none, and error says why. */
typedef void (*snapshot_done_fn)(const char *answer, size_t size, const struct edl_error *error,
                                 void *userdata);

/* snapshot_start - takes it now, so the arguments of compute need not outlive the call; after
 * limit_us it is ended. -EAGAIN with error: the system gives no process, and done is not called */
int snapshot_start(sd_event *event, uint64_t limit_us, snapshot_compute_fn compute, void *question,
                   snapshot_done_fn done, void *userdata, struct snapshot **ret,
                   struct edl_error *error);

/* snapshot_end - nobody wants its answer any more: done is told soon that there is none */
void snapshot_end(struct snapshot *snapshot);

/* snapshot_free - ends it and waits for that; done is not called. Accepts NULL, returns NULL. */
struct snapshot *snapshot_free(struct snapshot *snapshot);

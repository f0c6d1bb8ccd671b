/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.h - what operators watch: the scheduler's own measurements, and all figures as text
 *
 * Counting is spread to where things happen: the core (core/figures.h), the store
 * (store/store.h), the HTTP server (shared/http_server.h), and here what the loop and the turn
 * measure of themselves. */
#pragma once

#include <stdint.h>
#include <systemd/sd-event.h>

#include "scheduler/core/base/histogram.h"

struct edl_error;
struct scheduler;

struct metrics {
    struct histogram plans;     /* how long planning took, where there was something to plan */
    struct histogram loop_busy; /* how long each pass of the loop kept everybody else waiting */
    uint64_t started_wall_us;
    uint64_t over_limit;    /* refusals because of options.limits */
    sd_event_source *probe; /* owned; measures the loop */
};

/* metrics_init - begins to count; the loop must be there */
int metrics_init(struct scheduler *scheduler, struct edl_error *error);
void metrics_done(struct metrics *metrics);

/* metrics_text - everything in the exposition format; the caller frees it. Those of the scheduler
 * itself alone where the state may not be told: it does not lead, or a turn is in flight for long.
 * Linear in the nodes; jobs, processes and history are not looked at. */
char *metrics_text(const struct scheduler *scheduler);

/* metrics_cluster_text - likewise the figures of each node, GPU, group and user, up to a bound.
 * Linear in the nodes, their processes and the jobs that are not over */
char *metrics_cluster_text(const struct scheduler *scheduler);

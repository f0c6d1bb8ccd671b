/* SPDX-License-Identifier: Apache-2.0 */
/* log_bound.h - looks how far the logs of this node's processes have come, and has them shortened
 *
 * Every LOG_BOUND_US while there are processes. Every LOG_BOUND_FAST_US while one of them writes so
 * fast that it could be far beyond its bound by the next look. Output beyond a bound is cut by
 * edl-workspace (log_trim.h). */
#pragma once

#include <stdint.h>
#include <systemd/sd-event.h>

#include "agent/logs/log_trim.h"

#define LOG_BOUND_US (UINT64_C(2) * 1000000)
#define LOG_BOUND_FAST_US (UINT64_C(250) * 1000)

struct layout;
struct log_bound;
struct process;
struct process_table;

struct log_bound_config {
    sd_event *event;
    const struct layout *layout;           /* borrowed */
    const struct process_table *processes; /* borrowed */
    struct log_bounds bounds;
};

/* log_bound_new - also has what an earlier agent left cut to its bounds */
struct log_bound *log_bound_new(const struct log_bound_config *config);
struct log_bound *log_bound_free(struct log_bound *bound);

/* log_bound_set - other bounds from now on: what is beyond them is cut at once */
void log_bound_set(struct log_bound *bound, struct log_bounds bounds);

/* log_bound_kick - a process may have come to be: it is looked at from now on */
void log_bound_kick(struct log_bound *bound);

/* log_bound_forget - a process goes; its log is one of the old ones */
void log_bound_forget(struct log_bound *bound, const struct process *process);

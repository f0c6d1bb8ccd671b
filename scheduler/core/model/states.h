/* SPDX-License-Identifier: Apache-2.0 */
/* states.h - the states of jobs, processes and nodes, and their words
 *
 * Used by: job.h, node.h, process.h, archive.h. */
#pragma once

#include <stdbool.h>

enum job_state {
    JOB_QUEUED,
    JOB_STARTING,
    JOB_RUNNING,
    JOB_RESIZING,
    JOB_STOPPING,
    JOB_SUCCEEDED,
    JOB_FAILED,
    JOB_KILLED
};
enum process_state {
    PROCESS_ASSIGNED,
    PROCESS_PREPARING,
    PROCESS_RUNNING,
    PROCESS_STOPPING,
    PROCESS_EXITED,
    PROCESS_LOST
};
enum node_state { NODE_READY, NODE_CORDONED, NODE_DRAINING, NODE_LOST, NODE_QUARANTINED };

const char *job_state_to_string(enum job_state state);
const char *process_state_to_string(enum process_state state);
const char *node_state_to_string(enum node_state state);
int job_state_from_string(const char *text);
int process_state_from_string(const char *text);
int node_state_from_string(const char *text);
static inline bool job_state_is_final(enum job_state s)
{
    return s >= JOB_SUCCEEDED;
}
static inline bool process_state_is_final(enum process_state s)
{
    return s >= PROCESS_EXITED;
}

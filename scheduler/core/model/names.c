/* SPDX-License-Identifier: Apache-2.0 */
/* names.c - the words of the states, as they stand in the API, the store and the log */
#include <errno.h>

#include "scheduler/core/model/states.h"
#include "shared/macro.h"

static const char *const job_states[] = {
    [JOB_QUEUED] = "queued",     [JOB_STARTING] = "starting", [JOB_RUNNING] = "running",
    [JOB_RESIZING] = "resizing", [JOB_STOPPING] = "stopping", [JOB_SUCCEEDED] = "succeeded",
    [JOB_FAILED] = "failed",     [JOB_KILLED] = "killed",
};

static const char *const process_states[] = {
    [PROCESS_ASSIGNED] = "assigned", [PROCESS_PREPARING] = "preparing",
    [PROCESS_RUNNING] = "running",   [PROCESS_STOPPING] = "stopping",
    [PROCESS_EXITED] = "exited",     [PROCESS_LOST] = "lost",
};

static const char *const node_states[] = {
    [NODE_READY] = "ready", [NODE_CORDONED] = "cordoned",       [NODE_DRAINING] = "draining",
    [NODE_LOST] = "lost",   [NODE_QUARANTINED] = "quarantined",
};

static const char *name_of(const char *const *names, size_t n, unsigned value)
{
    return value < n ? names[value] : "?";
}

static int value_of(const char *const *names, size_t n, const char *text)
{
    for (size_t i = 0; text != NULL && i < n; i++)
        if (streq(names[i], text))
            return (int)i;
    return -EINVAL;
}

/* job_state_to_string - "queued"; "?" for a number that is no state */
const char *job_state_to_string(enum job_state state)
{
    return name_of(job_states, ELEMENTS(job_states), (unsigned)state);
}

/* process_state_to_string - "assigned"; "?" for a number that is no state */
const char *process_state_to_string(enum process_state state)
{
    return name_of(process_states, ELEMENTS(process_states), (unsigned)state);
}

/* node_state_to_string - "ready"; "?" for a number that is no state */
const char *node_state_to_string(enum node_state state)
{
    return name_of(node_states, ELEMENTS(node_states), (unsigned)state);
}

/* job_state_from_string - the state, or -EINVAL */
int job_state_from_string(const char *text)
{
    return value_of(job_states, ELEMENTS(job_states), text);
}

/* process_state_from_string - the state, or -EINVAL */
int process_state_from_string(const char *text)
{
    return value_of(process_states, ELEMENTS(process_states), text);
}

/* node_state_from_string - the state, or -EINVAL */
int node_state_from_string(const char *text)
{
    return value_of(node_states, ELEMENTS(node_states), text);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* unit_sm.c - life cycle of one process, as a table (see the diagram in unit_sm.h) */
#include "agent/core/unit_sm.h"

#include "shared/error.h"

#define IMPOSSIBLE _UNIT_STATE_MAX

/* rows: state, columns: started, stop, gone */
static const enum unit_state transitions[_UNIT_STATE_MAX][_UNIT_EVENT_MAX] = {
    [UNIT_PREPARING] = { UNIT_RUNNING, UNIT_STOPPING, UNIT_EXITED },
    [UNIT_RUNNING] = { UNIT_RUNNING, UNIT_STOPPING, UNIT_EXITED },
    [UNIT_STOPPING] = { UNIT_STOPPING, UNIT_STOPPING, UNIT_EXITED },
    [UNIT_EXITED] = { IMPOSSIBLE, UNIT_EXITED, UNIT_EXITED },
};

static const char *const state_names[_UNIT_STATE_MAX] = {
    [UNIT_PREPARING] = "preparing",
    [UNIT_RUNNING] = "running",
    [UNIT_STOPPING] = "stopping",
    [UNIT_EXITED] = "exited",
};

static const char *const event_names[_UNIT_EVENT_MAX] = {
    [UNIT_EVENT_STARTED] = "started",
    [UNIT_EVENT_STOP] = "stop",
    [UNIT_EVENT_GONE] = "gone",
};

int unit_sm_step(enum unit_state from, enum unit_event event, enum unit_state *ret,
                 struct edl_error *error)
{
    enum unit_state next;

    if ((unsigned)from >= _UNIT_STATE_MAX || (unsigned)event >= _UNIT_EVENT_MAX)
        return edl_error_set(error, EDL_EBADTRANSITION, "no such process state or event");
    next = transitions[from][event];
    if (next == IMPOSSIBLE)
        return edl_error_set(error, EDL_EBADTRANSITION, "a process that is %s cannot take '%s'",
                             state_names[from], event_names[event]);
    *ret = next;
    return 0;
}

const char *unit_state_name(enum unit_state state)
{
    return (unsigned)state < _UNIT_STATE_MAX ? state_names[state] : "?";
}

/* SPDX-License-Identifier: Apache-2.0 */
/* unit_sm.h - life cycle of one process, as a table
 *
 * Pure: no I/O, no clock, no allocation.
 *
 *     preparing --started--> running --stop--> stopping --gone--> exited
 *         |                     |                                    ^
 *         +------- stop --------|--> stopping                        |
 *         +------- gone --------+------------------------------------+
 *
 * Nothing leaves `exited`, and a process that is being stopped is never taken back. */
#pragma once

struct edl_error;

enum unit_state {
    UNIT_PREPARING,
    UNIT_RUNNING,
    UNIT_STOPPING,
    UNIT_EXITED,
    _UNIT_STATE_MAX,
};

enum unit_event {
    UNIT_EVENT_STARTED, /* the program runs */
    UNIT_EVENT_STOP,    /* somebody wants it to end */
    UNIT_EVENT_GONE,    /* seen gone, or never came to be */
    _UNIT_EVENT_MAX,
};

/* unit_sm_step - next state; EDL_EBADTRANSITION (nothing written) when the event cannot happen */
int unit_sm_step(enum unit_state from, enum unit_event event, enum unit_state *ret,
                 struct edl_error *error);

/* unit_state_name - static text as used in the API */
const char *unit_state_name(enum unit_state state);

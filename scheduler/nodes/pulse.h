/* SPDX-License-Identifier: Apache-2.0 */
/* pulse.h - notices that the scheduler itself stood still
 *
 * A timer of the loop that is late by as much as the loop could not look: the process was stopped
 * or swapped out, a commit waited for its disk, a turn took long, the machine slept. The core is
 * told (core/lease.h) before it judges who was silent. */
#pragma once

#include <stdint.h>
#include <systemd/sd-event.h>

struct edl_error;
struct scheduler;

struct pulse {
    sd_event_source *timer; /* owned */
    uint64_t due_us;        /* boot time; later than that: by so much it stood still */
};

int pulse_init(struct scheduler *scheduler, struct edl_error *error);
void pulse_done(struct pulse *pulse);

/* pulse_look - tells the core of a standstill that nobody has told it of; before cluster_tick, as
 * any timer may be the first to run after it */
void pulse_look(struct scheduler *scheduler);

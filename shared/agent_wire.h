/* SPDX-License-Identifier: Apache-2.0 */
/* agent_wire.h - which version of their calls agent and scheduler speak
 *
 * A field that is new needs no new version: a reader that does not know it passes over it, and one
 * that misses it does without. A version is for a change that would be misunderstood otherwise.
 * Each side names the newest and the oldest that it speaks ("wire", "wire_oldest" in joins, reports
 * and their answers; absent: 1), and talks to those whose versions meet its own. A release speaks
 * its own version and the one before, so that agents and schedulers are upgraded in any order.
 * scheduler/README.md, "versions of the calls"; tests/wire has exchanges of each. */
#pragma once

#include <jansson.h>

#define AGENT_WIRE_NEWEST 1
#define AGENT_WIRE_OLDEST 1

#define AGENT_PORTS_FOREIGN_MAX 256 /* told in a report; the lowest ones, if there are more */

struct edl_error;

enum agent_wire_peer { WIRE_PEER_AGENT, WIRE_PEER_SCHEDULER };

struct agent_wire {
    json_int_t newest, oldest;
};

/* agent_wire_own - of this program */
struct agent_wire agent_wire_own(void);

/* agent_wire_add - what this program speaks, to a body or an answer; returns object */
json_t *agent_wire_add(json_t *object);

/* agent_wire_check - whether own and the peer that sent object have a version in common
 * EDL_EWIRE: they have not, with which of the two is to be upgraded; -EINVAL with pointer */
int agent_wire_check(const json_t *object, const struct agent_wire *own, enum agent_wire_peer peer,
                     struct edl_error *error);

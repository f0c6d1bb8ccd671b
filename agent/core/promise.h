/* SPDX-License-Identifier: Apache-2.0 */
/* promise.h - a process promised to say again within some time that it is alive; pure
 *
 * Time counts as far as somebody could listen. Each wait is planned for a second at most, and
 * spends as much as was planned at most: an agent that was late, stood still or slept did not
 * listen. After such a wait there is another short one, in which the agent reads the words that
 * came meanwhile. While the process is frozen its promise is whole. Tests:
 * tests/unit/test_promise.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PROMISE_LOOK_US (UINT64_C(1) * 1000000) /* the longest wait */
#define PROMISE_LATE_US (UINT64_C(250) * 1000)  /* a wait that took longer by so much was late */

struct promise {                   /* zeroed: none was made */
    uint64_t within_us;            /* 0: none */
    uint64_t left_us;              /* of it */
    uint64_t began_us, planned_us; /* the wait under way */
};

/* promise_make - it is alive now, and will say so again within that time; 0: it promises nothing */
void promise_make(struct promise *promise, uint64_t within_us, uint64_t now_us);

/* promise_look - the wait is over, or something else happened: is it broken? Says so again after
 * each further wait. counts: false while it is frozen, and all that was spent is given back */
bool promise_look(struct promise *promise, bool counts, uint64_t now_us);

/* promise_next_us - when to look again; NEVER_US without a promise */
uint64_t promise_next_us(const struct promise *promise);

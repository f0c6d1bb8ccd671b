/* SPDX-License-Identifier: Apache-2.0 */
/* visits.h - the jobs that are on this node, each from its prolog to its epilog
 *
 * Pure but for memory. A visit begins when the first process of a job may start here, and ends when
 * the last one is gone. Drop-ins of the node's owner run at both ends:
 *
 *     none --enter--> prolog --it ended well--> open --the last is gone--> epilog --> none
 *       |               |  ^                     ^                           ^
 *       |      it failed|  |enter                |adopted                    |
 *       |               v  |                     |                           |
 *       |              failed -------- the last is gone --------------------+
 *       +--enter, where there are no drop-ins--> bare --the last is gone--> none
 *
 * A unit that enters during prolog or epilog waits for its end, and enters once more. A job that
 * was here before the drop-ins were is bare: it gets neither.
 *
 * Used by: agent_core.c. Tests: tests/unit/test_visits.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uthash.h>

enum visit_state {
    VISIT_NONE,
    VISIT_BARE,
    VISIT_PROLOG,
    VISIT_FAILED, /* its prolog did not come to a good end: nothing has started */
    VISIT_OPEN,
    VISIT_EPILOG
};

enum visit_entry {
    VISIT_GO,
    VISIT_WAIT,  /* for the end of what runs, then enter again */
    VISIT_BEGIN, /* likewise, and the prolog is to be run for it */
};

struct visit {
    uint64_t job_id;
    enum visit_state state;
    size_t n_units; /* of the job that are here, or on their way */
    UT_hash_handle hh;
};

struct visits {          /* zeroed: empty */
    struct visit *table; /* owned; uthash by job_id */
    bool adopted;        /* some may have nobody */
};

void visits_free(struct visits *visits);

/* visits_unit_came - one of the job is to start, or was adopted. visits_unit_gone - true: it was
 * the last one, and the epilog is to be run */
void visits_unit_came(struct visits *visits, uint64_t job_id);
bool visits_unit_gone(struct visits *visits, uint64_t job_id);

/* visits_enter - whether a unit that has come may go on; drop_ins: there are any */
enum visit_entry visits_enter(struct visits *visits, uint64_t job_id, bool drop_ins);

/* visits_has - drop-ins have begun for the job, so that enter does not look whether there are any
 */
bool visits_has(const struct visits *visits, uint64_t job_id);

/* visits_prolog_ended - true: nobody is left, and the epilog is to be run */
bool visits_prolog_ended(struct visits *visits, uint64_t job_id, bool well);

/* visits_epilog_ended - the visit is over; waiting processes enter again */
void visits_epilog_ended(struct visits *visits, uint64_t job_id);

/* visits_adopt - an earlier agent ran its prolog; well: to a good end. After its units */
void visits_adopt(struct visits *visits, uint64_t job_id, bool well);

/* visits_is_deserted - nobody is of it */
bool visits_is_deserted(const struct visits *visits, uint64_t job_id);

/* visits_take_deserted - one that was adopted, and that nobody is of: its epilog is to be run;
 * false: there is none */
bool visits_take_deserted(struct visits *visits, uint64_t *ret_job_id);

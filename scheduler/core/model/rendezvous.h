/* SPDX-License-Identifier: Apache-2.0 */
/* rendezvous.h - the processes of a role agree on a generation
 *
 * Each process of the role arrives. When all awaited processes have, the next generation is those
 * that arrived: all of them get the same members, ranked by their index from 0 without a gap. Its
 * number is above every one before, also after a restart or a restore.
 *
 * Each may bring a note: a text for the others, which the core does not read. All members get the
 * notes of all. The notes of a generation are part of it: they never change, and are remembered as
 * long as its members. A process may ask for a generation that is there already: the text that it
 * brings comes too late for it, and counts for none.
 *
 * A generation is over when a member of it is gone or asked to stop, when a process arrives that is
 * no member, or when a member arrives that is done with it. Until then every member that asks again
 * gets it: a lost answer is asked for once more.
 *
 * Waited for are, of those that live, are not being stopped and whose node is not cut off:
 *   - all of them, when no member of the generation before is left (the first time: the whole
 * gang);
 *   - else its members, and once somebody new has come, the other new ones that run already. A new
 *     process that is still being prepared stops nobody: when it arrives, it opens the next one.
 * One that comes too late leaves: in a collective job without tasks all members of the newest
 * generation have ended with success, and nobody that lives ever was a member. The work is done,
 * and a generation of newcomers would begin it again.
 * There are never fewer than the job's minimum (without those that finished). Nothing here waits
 * for time to pass. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/clock.h"

struct cluster;
struct edl_error;
struct job;
struct process;

#define RENDEZVOUS_NOTE_MAX 1024 /* bytes of UTF-8 */

struct rendezvous_member {
    uint32_t index;
    uint64_t incarnation;
    char *note; /* its note for the others to read; NULL: nothing; owned */
};

/* rendezvous_members_copy, rendezvous_members_free - with their notes; NULL for none */
struct rendezvous_member *rendezvous_members_copy(const struct rendezvous_member *members,
                                                  uint32_t n);
void rendezvous_members_free(struct rendezvous_member *members, uint32_t n);

/* Of one role of a job. Only the newest generation is remembered; later arrivals are not: after a
 * restart they call again. */
struct rendezvous {
    uint64_t generation;               /* the newest; 0: none yet */
    struct rendezvous_member *members; /* n_members, by rank; owned */
    uint32_t n_members;
    /* the core's own */
    bool over;            /* members are to come back */
    uint32_t n_standing;  /* members that are still there */
    uint32_t n_arrived;   /* for the next one */
    uint32_t n_newcomers; /* of them, that are no members */
    uint32_t missing;     /* a hint: the slot that was waited for last */
};

enum rendezvous_result {
    RENDEZVOUS_WAIT,   /* others have not arrived yet */
    RENDEZVOUS_AGREED, /* it is a member of the newest generation, which is not over */
    RENDEZVOUS_LEAVING /* it is being stopped, or comes too late: no generation will have it */
};

/* cluster_arrive - the process wants to be a member of a generation above `after` (0: of any), and
 * brings a note (NULL: none; copied). To arrive again is how those that wait look; of several notes
 * the last counts. EDL_ESTALE when it has ended, -EINVAL when there never was such a generation,
 * -E2BIG when the note is too long. O(1) until the generation is complete, then
 * linear in the role; each one that arrives may be looked at once more for whom is waited for. */
int cluster_arrive(struct cluster *cluster, struct process *process, uint64_t after,
                   const char *note, struct instant now, enum rendezvous_result *ret,
                   struct edl_error *error);

/* rendezvous_is_over - whether the generation is not that of the process's role (any more).
 * EDL_ESTALE when the process has ended. O(1) */
int rendezvous_is_over(const struct process *process, uint64_t generation, bool *ret,
                       struct edl_error *error);

/* rendezvous_of - of that role; NULL when nobody called yet */
const struct rendezvous *rendezvous_of(const struct job *job, uint32_t role);

/* rendezvous_missing - who is waited for, the first `most` of them by index; how many in *ret.
 * Linear in the role */
size_t rendezvous_missing(const struct job *job, uint32_t role, const struct process **ret,
                          size_t most);

/* rendezvous_get - of that role, made when there is none */
struct rendezvous *rendezvous_get(struct job *job, uint32_t role);

/* rendezvous_free - those of all roles */
void rendezvous_free(struct job *job);

/* rendezvous_moved - the state of the process changed */
void rendezvous_moved(struct cluster *cluster, struct process *process);

/* rendezvous_restored - the job's processes are tied together: who of the members is still there.
 * Linear in the members */
void rendezvous_restored(struct job *job);

/* rendezvous_begin_epoch - numbers of generations go on above first_number, and what was agreed is
 * over. Linear in the job's processes */
void rendezvous_begin_epoch(struct cluster *cluster, struct job *job, uint64_t first_number);

/* SPDX-License-Identifier: Apache-2.0 */
/* owner_limits.h - how much the jobs of one user, or of one group, may hold and be
 *
 * Hard limits, beside the shares of groups (groups.h). A submission is checked against all of
 * them. A plan checks cores and GPUs again when it starts jobs or lets them grow
 * (plan/owner_room.h). A limit below the present sum stops nobody.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/base/resources.h"
#include "scheduler/core/model/groups.h"

struct cluster;
struct edl_error;
struct job;
struct job_spec;

/* The owners of a job that have limits: its user, its group, both or none. */
struct job_owners {
    uint32_t index[2]; /* in the table's list of owners */
    uint32_t n;
};

struct job_owners job_owners(const struct cluster *cluster, const struct job *job);

/* owner_part - the part of a job in the sums of its owners: its instances, those to be replaced,
 * and once it started those that its minimum lacks. stopping: with those that stop, too. O(roles)
 */
struct resources owner_part(const struct job *job, bool stopping);

/* owner_sums - of each owner all parts, those that stop included: new array of *ret_n; NULL where
 * nobody has a limit. Linear in the jobs not over */
struct resources *owner_sums(const struct cluster *cluster, size_t *ret_n);

/* owner_is_over - the sum is over the limit of that owner. ret_over: 1 where it is */
bool owner_is_over(const struct owner *owner, const struct resources *sum,
                   struct resources *ret_over);

/* owner_exceeded - the first of the job's owners who would hold more than it may with so much more;
 * NULL: none would
 * owner_excess - the same in words: "its owner ann may hold 8 cores at once"; "" none would.
 * Returns buffer */
const struct owner *owner_exceeded(const struct cluster *cluster, const struct job *job,
                                   const struct resources *sums, const struct resources *more);
char *owner_excess(const struct cluster *cluster, const struct job *job,
                   const struct resources *sums, const struct resources *more, char *buffer,
                   size_t size);

/* owner_room - how often a need fits below the limits of its owners, beside their sums */
uint32_t owner_room(const struct cluster *cluster, const struct job *job,
                    const struct resources *sums, const struct resources *need);

/* owners_check_submit - whether the user may have all jobs of the document. One that has no time
 * limit gets that of its owners. -EDQUOT with the limit and whom to ask */
int owners_check_submit(const struct cluster *cluster, struct job_spec *spec, const char *user,
                        struct edl_error *error);

/* owners_check_min - whether a role may have that minimum from now on. Of a job that waits as of a
 * submission; of a started one beside what all jobs of its owners hold, as it is filled at once */
int owners_check_min(const struct cluster *cluster, const struct job *job, uint32_t role,
                     uint32_t min, struct edl_error *error);

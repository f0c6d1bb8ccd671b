/* SPDX-License-Identifier: Apache-2.0 */
/* after_resolve.h - what `after` names, as numbers of jobs */
#pragma once

#include <stddef.h>

struct archived_jobs;
struct array_place;
struct cluster;
struct edl_error;
struct job_spec;

/* after_resolve - names in spec->after become numbers; EDL_EBADSPEC (pointer set) when one is not
 * there, is of several other users, or has ended without success: all or nothing. Linear in all
 * jobs of the core for each array that is named */
int after_resolve(const struct cluster *cluster, const char *user,
                  const struct archived_jobs *archived, struct job_spec *spec,
                  struct edl_error *error);

/* cluster_find_arrays - of each of n names, ARRAY of that user, else of others, or USER/ARRAY, the
 * newest array of which the core has a job, n 0: none; n <= JOB_AFTER_MAX; linear in all jobs, once
 * for all */
void cluster_find_arrays(const struct cluster *cluster, const char *user, char *const *names,
                         size_t n, struct array_place *ret);

/* SPDX-License-Identifier: Apache-2.0 */
/* submission.h - a submission: the events make its jobs, and learning gives each its turn */
#pragma once

struct archived_jobs;
struct cluster;
struct edl_error;
struct instant;
struct job;
struct job_spec;

/* submit_resolved - cluster_submit_array of what was prepared so: of a copy, which does not have
 * those that are over */
int submit_resolved(struct cluster *cluster, struct job_spec *take_spec, const char *user,
                    struct instant now, struct job **ret_first, struct edl_error *error);

/* cluster_submit - names in take_spec->after become numbers and its deadline an instant. take_spec
 * is consumed on success only. -EEXIST when a job of that name is not final; EDL_EBADSPEC also when
 * a job in `after` is not there or has ended without success, or the deadline has passed; when the
 * gang can never fit a cluster of these nodes is NOT an error: it queues with a reason. */
int cluster_submit(struct cluster *cluster, struct job_spec *take_spec, const char *user,
                   struct instant now, struct job **ret_job, struct edl_error *error);

/* cluster_submit_array - the jobs of take_spec->array, all or none, with consecutive ids; without
 * an array the one job. archived: of those in take_spec->after that are not in the core; NULL:
 * there are none. Errors as cluster_submit's. Linear in them */
int cluster_submit_array(struct cluster *cluster, struct job_spec *take_spec, const char *user,
                         const struct archived_jobs *archived, struct instant now,
                         struct job **ret_first, struct edl_error *error);

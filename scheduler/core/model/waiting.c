/* SPDX-License-Identifier: Apache-2.0 */
/* waiting.c - the jobs that wait to be started
 *
 * A mark on each such job and their number, and no order: a plan files them (plan/filing.c). */
#include "scheduler/core/model/waiting.h"

#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/job.h"

void job_file(struct cluster *cluster, struct job *job)
{
    job->filed = true;
    job->filing++;
    cluster->n_filed++;
    cluster->files_changed = true;
    if (cluster->first_queued == NULL || job->id < cluster->first_queued->id)
        cluster->first_queued = job;
}

void job_unfile(struct cluster *cluster, struct job *job)
{
    if (!job->filed)
        return;
    job->filed = false;
    job->filing++;
    job->was_told = false;
    cluster->n_filed--;
    cluster->files_changed = true;
    job_changed(cluster, job);
}

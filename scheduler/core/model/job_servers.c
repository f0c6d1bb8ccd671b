/* SPDX-License-Identifier: Apache-2.0 */
/* job_servers.c - the number of parameter servers of a job: open, chosen, kept
 *
 * A document may leave it open, from a minimum to a maximum. While the job waits it counts with the
 * minimum. The plan that starts it says how many, and from then on that is both bounds of the role,
 * as if its owner had written it: floors, replacements, quotas and the gang of one that is queued
 * again need to know nothing of it. It stays for good once the job has run, since what the servers
 * have saved is divided among so many: until that can be divided anew, every other number is
 * refused. A database of an earlier scheduler may hold a job that was given one. Its trainers are
 * refused by its servers for ever, but scaled back to its first number it goes on. */
#include "scheduler/core/model/job_servers.h"

#include <stdio.h>
#include <string.h>
#include <utlist.h>

#include "scheduler/core/model/cluster.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/effects.h"
#include "scheduler/core/model/facts.h"
#include "scheduler/core/model/holdings.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/model/states.h"
#include "shared/error.h"
#include "shared/job_spec.h"
#include "shared/macro.h"

bool job_chooses_servers(const struct job *job)
{
    int role = spec_servers(job->spec);

    return role >= 0 && job->started_wall_us == 0 &&
           job->spec->roles[role].min < job->spec->roles[role].max;
}

uint32_t job_servers(const struct job *job)
{
    int role = job->servers_max > 0 ? spec_servers(job->spec) : -1;

    return role >= 0 ? job->spec->roles[role].min : 0;
}

bool job_servers_run(const struct job *job)
{
    uint32_t wanted = job_servers(job);
    uint32_t role = wanted > 0 ? (uint32_t)spec_servers(job->spec) : 0;

    return wanted == 0 ||
           (job_count_running(job, role) == wanted && job_count(job, role, true) == wanted);
}

void job_fix_servers(struct cluster *cluster, struct job *job, uint32_t pservers)
{
    struct role_spec *role;
    uint32_t at;

    if (!job_chooses_servers(job))
        return;
    at = (uint32_t)spec_servers(job->spec);
    role = &job->spec->roles[at];
    job->servers_min = role->min;
    job->servers_max = role->max;
    role->min = role->max = pservers;
    if (pservers > job->n_slots[at])
        holdings_grow(&cluster->holdings, job, pservers - job->n_slots[at]);
    job_grow_slots(job, at, pservers);
    fact_servers_fixed(cluster, job, pservers);
    effect_save_spec(cluster, job);
}

void job_free_servers(struct cluster *cluster, struct job *job)
{
    int role = job->servers_max > 0 ? spec_servers(job->spec) : -1;

    if (role < 0)
        return;
    job->spec->roles[role].min = job->servers_min;
    job->spec->roles[role].max = job->servers_max;
    job->servers_min = job->servers_max = 0;
    effect_save_spec(cluster, job);
}

void job_forget_servers(struct cluster *cluster, struct job *job)
{
    job->servers_min = job->servers_max = 0;
    fact_servers_fixed(cluster, job, 0);
}

/* A job that waits and has never run has no parameters anywhere, and no checkpoint of them: one
 * that is queued again without having run gives its number back, too. */
static bool has_parameters(const struct job *job)
{
    return job->state != JOB_QUEUED || job->started_wall_us != 0;
}

uint32_t job_servers_laid(const struct job *job)
{
    int role = spec_servers(job->spec);
    const struct process *process;
    uint32_t n = 0;

    if (role < 0 || !has_parameters(job))
        return 0;
    /* It began with a whole gang, so every server of then was assigned before it ran. Nobody could
     * tell once history is cut. */
    DL_FOREACH2(job->processes, process, job_next)
    {
        if (process->role == (uint32_t)role && job->started_wall_us != 0 &&
            process->assigned_wall_us <= job->started_wall_us)
            n = MAX_OF(n, process->index + 1);
    }
    return n > 0 && job->n_past < JOB_HISTORY_MAX ? n : job->spec->roles[role].min;
}

int job_check_servers(const struct job *job, uint32_t role, uint32_t min, uint32_t max,
                      struct edl_error *error)
{
    uint32_t laid = (int)role == spec_servers(job->spec) ? job_servers_laid(job) : 0;
    uint32_t wanted = min != laid ? min : max;
    const char *name = job->spec->name;

    if (laid == 0 || wanted == laid)
        return 0;
    (void)edl_error_at(error, EDL_EBADTRANSITION, min != laid ? "/min" : "/max",
                       "the parameters of job %s lie on %u parameter server%s, and it cannot go on "
                       "with %u: they would have to be divided anew",
                       name, laid, laid == 1 ? "" : "s", wanted);
    if (job->spec->roles[role].min != laid)
        return edl_error_remedy(error, "edl scale %s %u --role %s makes it whole again", name, laid,
                                job->spec->roles[role].name);
    return edl_error_remedy(
        error,
        "edl scale %s MIN:MAX changes its trainers; for %u server%s kill it and "
        "submit it anew, with min-instance and max-instance %u of %s",
        name, wanted, wanted == 1 ? "" : "s", wanted, job->spec->roles[role].name);
}

void job_mend_servers(struct cluster *cluster, struct job *job)
{
    for (uint32_t r = 0; r < job->spec->n_roles; r++)
        for (uint32_t i = 0; i < job->n_slots[r]; i++) {
            slot_set_failures(cluster, job, r, i, 0);
            job->slots[r][i].not_before_us = 0;
        }
}

char *job_describe_servers(const struct job *job, char *buffer, size_t size)
{
    buffer[0] = '\0';
    if (job_servers(job) > 0)
        (void)snprintf(buffer, size,
                       "%u parameter server%s of %u to %u, chosen when it was started",
                       job_servers(job), PLURAL(job_servers(job)), job->servers_min,
                       job->servers_max);
    return buffer;
}

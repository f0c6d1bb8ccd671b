/* SPDX-License-Identifier: Apache-2.0 */
/* job_roles.c - pure questions about a job: which role is elastic, how many it lacks, whether its
 * data is done */
#include "scheduler/core/model/job_roles.h"

#include <string.h>

#include "scheduler/core/base/task_queue.h"
#include "scheduler/core/model/cluster.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/model/states.h"
#include "shared/job_spec.h"
#include "shared/macro.h"

static bool role_works(const struct job_spec *spec, uint32_t role)
{
    return spec->n_roles == 1 || !streq(spec->roles[role].name, "pserver");
}

bool job_role_grows(const struct job *job, uint32_t role)
{
    return role_works(job->spec, role);
}

/* The teachers of a training serve it as its parameter servers do. */
static bool role_serves(const struct job_spec *spec, uint32_t role)
{
    return streq(spec->roles[role].name, "pserver") ||
           (streq(spec->roles[role].name, "teacher") && spec->mode != JOB_MODE_SERVICE);
}

bool job_role_works(const struct job *job, uint32_t role)
{
    if (!role_serves(job->spec, role))
        return true;
    for (uint32_t r = 0; r < job->spec->n_roles; r++)
        if (!role_serves(job->spec, r))
            return false;
    return role_works(job->spec, role);
}

int spec_elastic_role(const struct job_spec *spec)
{
    /* min < max without fault tolerance is held at min: nothing in such a job survives a resize */
    if (!spec->fault_tolerant)
        return -1;
    for (uint32_t r = 0; r < spec->n_roles; r++)
        if (spec->roles[r].min < spec->roles[r].max && role_works(spec, r))
            return (int)r;
    return -1;
}

int job_elastic_role(const struct job *job)
{
    return spec_elastic_role(job->spec);
}

int spec_servers(const struct job_spec *spec)
{
    for (uint32_t r = 0; r < spec->n_roles; r++)
        if (!role_works(spec, r))
            return (int)r;
    return -1;
}

bool job_can_resume(const struct job *job)
{
    const struct job_spec *spec = job->spec;

    bool is_asked_for = spec->parking == JOB_PARKING_ALLOWED;

    if (spec->parking == JOB_PARKING_NEVER || spec->keep_cut_off ||
        spec->mode == JOB_MODE_SERVICE || job->finishing ||
        (job->queue != NULL && task_queue_is_finished(job->queue)))
        return false;
    if (spec->checkpoint_path != NULL)
        return spec->checkpoint_period_us != 0 && (spec->fault_tolerant || is_asked_for);
    return is_asked_for && job->queue != NULL && spec->fault_tolerant &&
           spec->mode != JOB_MODE_MPI && spec_servers(spec) < 0 && job->rendezvous == NULL;
}

bool job_is_started(const struct job *job)
{
    return job->state == JOB_STARTING || job->state == JOB_RUNNING || job->state == JOB_RESIZING;
}

bool job_data_complete(const struct job *job)
{
    return job->queue == NULL ||
           (task_queue_is_finished(job->queue) && task_queue_is_model_saved(job->queue));
}

bool job_owes_nothing(const struct job *job)
{
    return job_data_complete(job) ||
           (task_queue_is_finished(job->queue) && !task_queue_save_asked(job->queue));
}

uint32_t job_count_live(const struct job *job)
{
    uint32_t n = 0;

    for (uint32_t r = 0; r < job->spec->n_roles; r++)
        n += job_count(job, r, true);
    return n;
}

uint32_t job_count_due(const struct job *job, uint32_t role)
{
    return job->counts[role].due;
}

uint32_t job_count_finished(const struct job *job, uint32_t role)
{
    return job->counts[role].finished;
}

uint32_t job_surplus(const struct job *job)
{
    int elastic = job_is_started(job) ? job_elastic_role(job) : -1;
    uint32_t counted;
    uint32_t kept;

    /* without a task queue nobody else does the share of an instance of a finishing job */
    if (elastic < 0 || (job->finishing && job->queue == NULL))
        return 0;
    counted = job_count(job, (uint32_t)elastic, false) - job->counts[elastic].leaving;
    kept = job->spec->roles[elastic].min;
    return counted > kept ? counted - kept : 0;
}

uint32_t job_role_floor(const struct job *job, uint32_t role)
{
    uint32_t finished;

    /* once somebody finished, nobody new comes: those that work go on, those that broke down are
     * repaired */
    if (job->finishing && job_role_works(job, role))
        return job_count(job, role, false) + job_count_due(job, role);
    finished = job_count_finished(job, role);
    return job->spec->roles[role].min - MIN_OF(finished, job->spec->roles[role].min);
}

struct slot *job_exchange_slot(const struct job *job)
{
    const struct exchange *exchange = &job->exchange;
    struct slot *slot;

    if (exchange->with == 0 || exchange->index >= job->n_slots[exchange->role])
        return NULL;
    slot = &job->slots[exchange->role][exchange->index];
    return slot->due && (slot->live == NULL || slot->live->state == PROCESS_STOPPING) ? slot : NULL;
}

uint32_t job_exchanges(const struct job *job, uint32_t role)
{
    const struct slot *slot = job_exchange_slot(job);

    return slot != NULL && slot->live != NULL && job->exchange.role == role;
}

uint32_t job_staying(const struct job *job, uint32_t role)
{
    return job_count(job, role, false) - job->counts[role].leaving;
}

/* The lacking instances of a started job's fixed roles, and the size to which its elastic one must
 * come back, are wanted already. */
uint32_t held_of_role(const struct job *job, uint32_t role)
{
    uint32_t held = job_staying(job, role) + job_count_due(job, role) + job_exchanges(job, role);

    return MAX_OF(held, job_role_floor(job, role));
}

void job_want_nothing(struct job *job)
{
    memset(job->target, 0, job->spec->n_roles * sizeof *job->target);
}

void job_grow_slots(struct job *job, uint32_t role, uint32_t n)
{
    uint32_t old = job->n_slots[role];

    if (n <= old)
        return;
    job->slots[role] = xreallocarray(job->slots[role], n, sizeof *job->slots[role]);
    memset(&job->slots[role][old], 0, (n - old) * sizeof *job->slots[role]);
    job->n_slots[role] = n;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* submit.c - what people do to jobs: submit, kill, change */
#include "scheduler/core/events/submit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <utlist.h>
#include <errno.h>

#include "scheduler/core/events/after_resolve.h"
#include "scheduler/core/model/after.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/effects.h"
#include "scheduler/core/model/groups.h"
#include "scheduler/core/model/holdings.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/job_names.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/model/job_servers.h"
#include "scheduler/core/model/job_sm.h"
#include "scheduler/core/model/owner_limits.h"
#include "scheduler/core/model/spec_size.h"
#include "scheduler/core/model/states.h"
#include "scheduler/core/model/time_limit.h"
#include "scheduler/core/model/waiting.h"
#include "shared/macro.h"
#include "shared/rfc3339.h"

/* make_roles - see struct job; the largest come first, so that all are aligned */
static void make_roles(struct job *job, size_t n)
{
    job->slots = xcalloc(n, sizeof *job->slots + sizeof *job->counts + sizeof *job->n_slots +
                                sizeof *job->target);
    job->counts = (struct role_counts *)(job->slots + n);
    job->n_slots = (uint32_t *)(job->counts + n);
    job->target = job->n_slots + n;
}

struct job *job_new(struct cluster *cluster, uint64_t id, struct job_spec *take_spec,
                    const char *user)
{
    struct job *job = xcalloc(1, sizeof *job);

    job->id = id;
    job->spec = take_spec;
    (void)snprintf(job->user, sizeof job->user, "%s", user != NULL ? user : "");
    job->next_incarnation = cluster->first_incarnation;
    job->reason = xstrdup("");
    make_roles(job, take_spec->n_roles);
    for (uint32_t r = 0; r < take_spec->n_roles; r++) {
        job_grow_slots(job, r, job_spec_role_most(take_spec, r));
        job->target[r] = take_spec->roles[r].min;
    }
    job_recount(job);
    HASH_ADD(hh, cluster->jobs, id, sizeof job->id, job);
    job_name_enter(cluster, job);
    cluster->next_job_id = MAX_OF(cluster->next_job_id, id + 1);
    return job;
}

/* A document that says so is refused before, at the key; the core takes nobody's word for it. */
static int check_spec(const struct job_spec *spec, struct edl_error *error)
{
    if (spec->n_roles < 1 || spec->n_roles > JOB_ROLES_MAX)
        return edl_error_set(error, EDL_EBADSPEC, "a job has 1 to %d roles", JOB_ROLES_MAX);
    for (size_t i = 0; i < spec->n_roles; i++) {
        const struct role_spec *role = &spec->roles[i];

        if (role->min < 1 || role->max < role->min || role->max > ROLE_INSTANCES_MAX)
            return edl_error_set(error, EDL_EBADSPEC, "%s: instances must be 1 <= min <= max <= %d",
                                 role->name, ROLE_INSTANCES_MAX);
        if (role->n_ports > ROLE_PORTS_MAX || role->gpus > ROLE_GPUS_MAX ||
            role->cpu_millicores > ROLE_CPU_MILLICORES_MAX ||
            role->memory_bytes > ROLE_MEMORY_BYTES_MAX)
            return edl_error_set(error, EDL_EBADSPEC,
                                 "%s: one instance has at most %d ports, at most %d GPUs, "
                                 "at most %" PRId64 " cores and %" PRId64 " TiB of memory",
                                 role->name, ROLE_PORTS_MAX, ROLE_GPUS_MAX,
                                 ROLE_CPU_MILLICORES_MAX / 1000, ROLE_MEMORY_BYTES_MAX >> 40);
    }
    return 0;
}

static int check_deadline(const struct job_spec *spec, struct instant now, struct edl_error *error)
{
    char text[RFC3339_MAX];

    if (spec->deadline_wall_us == 0 || spec->deadline_wall_us > now.wall_us)
        return 0;
    (void)edl_error_at(error, EDL_EBADSPEC, "/spec/deadline", "the deadline %s has passed",
                       rfc3339_format(instant_shown_us(now, spec->deadline_wall_us), text));
    (void)edl_error_remedy(error, "give a later one, or a time from now on like 8h");
    return EDL_EBADSPEC;
}

static void fix_deadline(struct job_spec *spec, struct instant now)
{
    if (spec->deadline_us != 0)
        spec->deadline_wall_us = now.wall_us + spec->deadline_us;
    spec->deadline_us = 0;
}

static int check_name(const struct cluster *cluster, const char *user, const char *name,
                      struct edl_error *error)
{
    const struct job *job = cluster_own_job(cluster, user, name);

    if (job == NULL || job_state_is_final(job->state))
        return 0;
    return edl_error_at(error, -EEXIST, "/metadata/name", "a job named %s (%llu) is %s",
                        job->spec->name, (unsigned long long)job->id,
                        job_state_to_string(job->state));
}

static int check_array_names(const struct cluster *cluster, const char *user,
                             const struct job_spec *spec, struct edl_error *error)
{
    for (uint32_t i = 0; i < spec->array.n; i++) {
        char name[JOB_NAME_MAX + 16];
        int r;

        (void)snprintf(name, sizeof name, "%s-%u", spec->name, spec->array.first + i);
        r = check_name(cluster, user, name, error);
        if (r < 0)
            return r;
    }
    return 0;
}

/* The conditions for all jobs of a document; then its times and names are made absolute. */
int submission_prepare(const struct cluster *cluster, struct job_spec *spec,
                       const struct submit_terms *terms, struct edl_error *error)
{
    const char *user = terms->user != NULL ? terms->user : "";
    int r = check_spec(spec, error);

    if (r == 0)
        r = spec_check_size(spec, error);
    if (r == 0)
        r = check_deadline(spec, terms->now, error);
    if (r == 0)
        r = spec_makes_array(spec) ? check_array_names(cluster, user, spec, error)
                                   : check_name(cluster, user, spec->name, error);
    if (r == 0)
        r = owners_check_submit(cluster, spec, user, error);
    if (r == 0 && !terms->resolved)
        r = after_resolve(cluster, user, terms->archived, spec, error);
    if (r == 0)
        fix_deadline(spec, terms->now);
    return r;
}

struct job *submission_add(struct cluster *cluster, struct job_spec *take_spec, const char *user,
                           struct instant now)
{
    struct job *job = job_new(cluster, cluster->next_job_id, take_spec, user);

    job->state = JOB_QUEUED;
    cluster->figures.jobs[JOB_QUEUED]++;
    cluster->figures.jobs_submitted++;
    job->submitted_us = now.now_us;
    job->submitted_wall_us = now.wall_us;
    job->group = group_table_index(cluster->config.groups, job->user);
    DL_APPEND2(cluster->active, job, active_prev, active_next);
    holdings_enter(&cluster->holdings, job);
    effect_save_spec(cluster, job);
    effect_event(cluster, now, job, "", "job-queued", "%s was submitted", job->spec->name);
    return job;
}

void submission_enter(struct cluster *cluster, struct job *job, struct instant now)
{
    after_link(cluster, job, true, now);
    job_watch_deadline(cluster, job, now);
    cluster->plan_wanted = true;
}

int submit_prepare(const struct cluster *cluster, struct job_spec *spec, const char *user,
                   const struct archived_jobs *archived, struct instant now,
                   struct edl_error *error)
{
    const struct submit_terms terms = { .user = user, .archived = archived, .now = now };

    return submission_prepare(cluster, spec, &terms, error);
}

void cluster_give_secret(struct cluster *cluster, struct job *job,
                         const uint8_t secret[JOB_SECRET_BYTES])
{
    if (job_secret_is_set(job->secret) || job_state_is_final(job->state))
        return;
    memcpy(job->secret, secret, JOB_SECRET_BYTES);
    effect_save_job(cluster, job);
}

/* cluster_kill_array - see submit.h */
int cluster_kill_array(struct cluster *cluster, const char *name, const char *owner, bool archived,
                       const char *reason, struct instant now, uint32_t *ret_n,
                       struct edl_error *error)
{
    const struct job *any = cluster->jobs;
    struct job *job;
    struct job *next;
    uint32_t n = 0;

    while (any != NULL &&
           (!streq(job_spec_array(any->spec), name) || (owner != NULL && !streq(any->user, owner))))
        any = any->hh.next;
    if ((any == NULL && !archived) || *name == '\0')
        return edl_error_set(error, -ENOENT, "there is no array \"%.80s\"", name);
    DL_FOREACH_SAFE2(cluster->active, job, next, active_next)
    {
        if (streq(job_spec_array(job->spec), name) && (owner == NULL || streq(job->user, owner)) &&
            cluster_kill_job(cluster, job, reason, now, NULL) == 0)
            n++;
    }
    *ret_n = n;
    return n > 0 ? 0
                 : edl_error_set(error, EDL_EBADTRANSITION, "every job of the array %s is over",
                                 name);
}

/* cluster_kill_job - see submit.h; a stopping job goes on ending the way it was to end
 */
int cluster_kill_job(struct cluster *cluster, struct job *job, const char *reason,
                     struct instant now, struct edl_error *error)
{
    const char *text = reason != NULL && *reason != '\0' ? reason : "killed on request";

    if (job_state_is_final(job->state))
        return edl_error_set(error, EDL_EBADTRANSITION, "job %s is %s already", job->spec->name,
                             job_state_to_string(job->state));
    job_kill(cluster, job, now, CAUSE_KILLED, "%s", text);
    return 0;
}

static int check_bounds(const struct job *job, uint32_t role, uint32_t min, uint32_t max,
                        struct edl_error *error)
{
    int elastic = job_elastic_role(job);
    int r;

    if (min < 1)
        return edl_error_at(error, -EINVAL, "/min", "min is %u but a role needs one instance", min);
    if (max < min)
        return edl_error_at(error, -EINVAL, "/max", "max is %u but min is %u", max, min);
    if (max > ROLE_INSTANCES_MAX)
        return edl_error_at(error, -EINVAL, "/max", "max is %u but a role has at most %d instances",
                            max, ROLE_INSTANCES_MAX);
    if (job->spec->roles[role].nodes != NULL && max > job->spec->roles[role].n_nodes) {
        (void)edl_error_at(error, -EINVAL, "/max",
                           "max is %u but %s names %u node%s, one for each instance", max,
                           job->spec->roles[role].name, job->spec->roles[role].n_nodes,
                           PLURAL(job->spec->roles[role].n_nodes));
        return edl_error_remedy(error, "at most %u, or submit a job that names more nodes",
                                job->spec->roles[role].n_nodes);
    }
    if (job->spec->mode == JOB_MODE_MPI && job_is_started(job) &&
        min != job->spec->roles[role].min) {
        (void)edl_error_at(error, EDL_EBADTRANSITION, "/min",
                           "mode mpi cannot lose or gain processes: MPI ends all of a program when "
                           "one is lost");
        return edl_error_remedy(error, "kill the job, and submit it with --min %u", min);
    }
    r = job_check_servers(job, role, min, max, error);
    if (r < 0 || min == max)
        return r;
    if (!job->spec->fault_tolerant)
        return edl_error_at(error, -EINVAL, "/max",
                            "max should equal min when fault_tolerant is disabled");
    if (!job_role_grows(job, role) || (elastic >= 0 && elastic != (int)role))
        return edl_error_at(error, -EINVAL, "/max", "role %s is not elastic: give min equal to max",
                            job->spec->roles[role].name);
    return 0;
}

static void scale(struct cluster *cluster, struct job *job, uint32_t role, uint32_t min,
                  uint32_t max, struct instant now)
{
    struct role_spec *spec = &job->spec->roles[role];

    if (max > job->n_slots[role])
        holdings_grow(&cluster->holdings, job, max - job->n_slots[role]);
    effect_event(cluster, now, job, "", "job-scaled", "%s: %u..%u -> %u..%u", spec->name, spec->min,
                 spec->max, min, max);
    job_retry_given_up(cluster, job, role);
    if ((int)role == spec_servers(job->spec)) { /* its owner says how many */
        job_forget_servers(cluster, job);
        if (spec->min != min && job_is_started(job))
            job_mend_servers(cluster, job);
    }
    spec->min = min;
    spec->max = max;
    job_grow_slots(job, role, max);
    effect_membership(cluster, job); /* fewer may be enough */
    job_decided(job, RESIZE_BOUNDS, "its bounds are now %u..%u", min, max);
    if (job->state == JOB_QUEUED)
        job->target[role] = min;
}

static void prioritise(struct cluster *cluster, struct job *job, int32_t priority,
                       struct instant now)
{
    effect_event(cluster, now, job, "", "job-prioritised", "priority %d -> %d", job->spec->priority,
                 priority);
    if (job->spec->priority != priority) {
        job->served = 0; /* at that priority it counts afresh: shares.c */
        effect_save_job(cluster, job);
    }
    job->spec->priority = priority;
}

/* Others gave way for what it asked for then, or it for them. */
static void lose_place(struct cluster *cluster, struct job *job)
{
    if (job->state != JOB_QUEUED || (!job->goes_first && job->parked_for == 0))
        return;
    job->goes_first = false;
    job->parked_for = 0;
    job->turn_wall_us = MAX_OF(cluster->newest_wall_us, job->submitted_wall_us);
    effect_save_job(cluster, job);
}

/* Its jobs have numbers in a row, as those of the next part of a sweep have, which comes later. */
static bool is_of_array(const struct job *job, const struct job *other)
{
    const struct job_array *a = &job->spec->array, *b = &other->spec->array;

    return b->name != NULL && streq(a->name, b->name) && streq(job->user, other->user) &&
           job->id - a->first == other->id - b->first &&
           job->submitted_wall_us == other->submitted_wall_us;
}

/* Of the whole array, those that wait: linear in the jobs not over. */
static void bound_array(struct cluster *cluster, struct job *of, uint32_t at_once,
                        struct instant now)
{
    struct job *job;

    effect_event(cluster, now, of, "", "array-bounded", "%s, jobs at once: %u -> %u",
                 of->spec->array.name, of->spec->array.most, at_once);
    DL_FOREACH2(cluster->active, job, active_next)
    {
        if (!is_of_array(of, job))
            continue;
        if (job->filed && job != of) {
            job_unfile(cluster, job);
            job_file(cluster, job);
        }
        job->spec->array.most = at_once < job->spec->array.n ? at_once : 0;
        job_touch(cluster, job);
        effect_save_spec(cluster, job);
    }
}

static int check_change(const struct job *job, const struct job_change *change, int role,
                        struct instant now, struct edl_error *error)
{
    if (change->scale && role < 0)
        return edl_error_at(error, -EINVAL, "/role", "job %s has no role %s", job->spec->name,
                            change->role != NULL ? change->role : "trainer");
    if (job_state_is_final(job->state) || job->state == JOB_STOPPING)
        return edl_error_set(error, EDL_EBADTRANSITION, "job %s is %s", job->spec->name,
                             job_state_to_string(job->state));
    if (change->prioritise &&
        (change->priority < -JOB_PRIORITY_MAX || change->priority > JOB_PRIORITY_MAX))
        return edl_error_at(error, -EINVAL, "/priority", "priority %d is not from -%d to %d",
                            change->priority, JOB_PRIORITY_MAX, JOB_PRIORITY_MAX);
    if (change->bound && job->spec->array.name == NULL)
        return edl_error_at(error, -EINVAL, "/at_once", "job %s is of no array", job->spec->name);
    if (change->limit && change->time_limit_us != 0 &&
        change->time_limit_us <= job_run_us(job, now)) {
        (void)edl_error_at(error, -EINVAL, "/time_limit",
                           "job %s has run for %" PRIu64 " s already", job->spec->name,
                           job_run_us(job, now) / USEC_PER_SEC);
        return edl_error_remedy(error, "more than that, or edl kill %s", job->spec->name);
    }
    return change->scale ? check_bounds(job, (uint32_t)role, change->min, change->max, error) : 0;
}

/* cluster_change_job - see submit.h; the plan makes it true */
int cluster_change_job(struct cluster *cluster, struct job *job, const struct job_change *change,
                       struct instant now, struct edl_error *error)
{
    int role = job_spec_role(job->spec, change->role != NULL ? change->role : "trainer");
    int r = check_change(job, change, role, now, error);
    bool asks_for_more;

    if (r == 0 && change->scale)
        r = owners_check_min(cluster, job, (uint32_t)role, change->min, error);
    if (r < 0)
        return r;
    asks_for_more = change->scale && change->min > job->spec->roles[role].min;
    if (job->state == JOB_QUEUED)
        job_unfile(cluster, job); /* it asks for something else from now on */
    if (change->scale)
        scale(cluster, job, (uint32_t)role, change->min, change->max, now);
    if (change->prioritise)
        prioritise(cluster, job, change->priority, now);
    if (change->bound)
        bound_array(cluster, job, change->at_once, now);
    if (change->limit)
        job_set_limit(cluster, job, change->time_limit_us, now);
    if (change->prioritise || asks_for_more)
        lose_place(cluster, job);
    if (job->state == JOB_QUEUED && job->n_waits == 0)
        job_file(cluster, job);
    job_touch(cluster, job);
    effect_save_spec(cluster, job);
    cluster->plan_wanted = true;
    return 0;
}

int cluster_scale_job(struct cluster *cluster, struct job *job, const char *role, uint32_t min,
                      uint32_t max, struct instant now, struct edl_error *error)
{
    const struct job_change change = { .scale = true, .role = role, .min = min, .max = max };

    return cluster_change_job(cluster, job, &change, now, error);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* rendezvous.c - the processes of a role agree on a generation
 *
 * The states of the processes say which of them are there; here are only the arrivals and the
 * members. Every move of a process comes by (rendezvous_moved), so that a frequent question is a
 * counter. */
#include "scheduler/core/model/rendezvous.h"

#include <errno.h>
#include <string.h>
#include <utlist.h>

#include "scheduler/core/model/at_work.h"
#include "scheduler/core/model/effects.h"
#include "scheduler/core/model/facts.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/model/process_sm.h"
#include "scheduler/core/model/states.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/job_spec.h"
#include "shared/macro.h"

#define ULL(value) ((unsigned long long)(value))

static struct rendezvous *of(const struct job *job, uint32_t role)
{
    return job->rendezvous != NULL ? &job->rendezvous[role] : NULL;
}

const struct rendezvous *rendezvous_of(const struct job *job, uint32_t role)
{
    return of(job, role);
}

struct rendezvous *rendezvous_get(struct job *job, uint32_t role)
{
    if (job->rendezvous == NULL)
        job->rendezvous = xcalloc(job->spec->n_roles, sizeof *job->rendezvous);
    return &job->rendezvous[role];
}

struct rendezvous_member *rendezvous_members_copy(const struct rendezvous_member *members,
                                                  uint32_t n)
{
    struct rendezvous_member *copy = n > 0 ? xcalloc(n, sizeof *copy) : NULL;

    for (uint32_t i = 0; i < n; i++) {
        copy[i] = members[i];
        if (members[i].note != NULL)
            copy[i].note = xstrdup(members[i].note);
    }
    return copy;
}

void rendezvous_members_free(struct rendezvous_member *members, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        free(members[i].note);
    free(members);
}

void rendezvous_free(struct job *job)
{
    for (uint32_t r = 0; job->rendezvous != NULL && r < job->spec->n_roles; r++)
        rendezvous_members_free(job->rendezvous[r].members, job->rendezvous[r].n_members);
    free(job->rendezvous);
    job->rendezvous = NULL;
}

/* A process is marked as a member only while it is there. */
static bool is_member(const struct rendezvous *rendezvous, const struct process *process)
{
    return process->generation != 0 && process->generation == rendezvous->generation;
}

/* A process that is cut off cannot call. It stays a member: its peers may reach it all the same. */
static bool can_call(const struct process *process)
{
    return process->state < PROCESS_STOPPING && process->node != NULL &&
           process->node->state != NODE_LOST;
}

static bool is_waited_for(const struct rendezvous *rendezvous, const struct process *process)
{
    if (process == NULL || process->arrived || !can_call(process))
        return false;
    if (rendezvous->n_standing == 0 || is_member(rendezvous, process))
        return true;
    return rendezvous->n_newcomers > 0 && process->state == PROCESS_RUNNING;
}

/* The least that the job may run with, without those that have done their part. */
static uint32_t least(const struct job *job, uint32_t role)
{
    uint32_t min = job->spec->roles[role].min;

    return min - MIN_OF(job_count_finished(job, role), min);
}

/* The process that was waited for last is looked at first: while that one is missing no other is
 * looked at, and one that is passed by has arrived. */
static bool is_complete(const struct job *job, uint32_t role, struct rendezvous *rendezvous)
{
    uint32_t n = job->n_slots[role];

    if (rendezvous->n_arrived == 0 || rendezvous->n_arrived < least(job, role))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = (rendezvous->missing + i) % n;

        if (!is_waited_for(rendezvous, job->slots[role][at].live))
            continue;
        rendezvous->missing = at;
        return false;
    }
    return true;
}

/* is_done - the members have done the work, and those that live never took part in it */
static bool is_done(const struct job *job, uint32_t role, const struct rendezvous *rendezvous)
{
    if (job->spec->mode != JOB_MODE_COLLECTIVE || job->queue != NULL ||
        rendezvous->n_members == 0 || rendezvous->n_standing > 0)
        return false;
    for (uint32_t i = 0; i < rendezvous->n_members; i++)
        if (!job->slots[role][rendezvous->members[i].index].finished)
            return false;
    for (uint32_t i = 0; i < job->n_slots[role]; i++) {
        const struct process *live = job->slots[role][i].live;

        if (live != NULL && live->generation != 0)
            return false;
    }
    return true;
}

static void agree(struct cluster *cluster, struct job *job, uint32_t role, struct instant now)
{
    struct rendezvous *rendezvous = of(job, role);
    uint32_t n = rendezvous->n_arrived;
    struct rendezvous_member *members = xcalloc(n, sizeof *members);
    uint32_t rank = 0;

    rendezvous->generation++;
    for (uint32_t i = 0; rank < n && i < job->n_slots[role]; i++) {
        struct process *process = job->slots[role][i].live;

        if (process == NULL || !process->arrived)
            continue;
        process->arrived = false;
        process->generation = rendezvous->generation;
        members[rank++] =
            (struct rendezvous_member){ i, process->incarnation, TAKE_PTR(process->note) };
        process_works(cluster, process, now);
    }
    rendezvous_members_free(rendezvous->members, rendezvous->n_members);
    rendezvous->members = members;
    rendezvous->n_members = rendezvous->n_standing = n;
    rendezvous->n_arrived = rendezvous->n_newcomers = 0;
    rendezvous->over = false;
    fact_of_job(cluster, FACT_SIZE, job, now);
    effect_save_rendezvous(cluster, job);
    effect_membership(cluster, job);
    effect_event(cluster, now, job, "", "generation-agreed", "%s: generation %llu has %u member%s",
                 job->spec->roles[role].name, ULL(rendezvous->generation), n, PLURAL(n));
}

static int check_caller(const struct process *process, struct edl_error *error)
{
    char name[ROLE_NAME_MAX + 16];

    if (!process_state_is_final(process->state))
        return 0;
    process_name(process, name, sizeof name);
    return edl_error_set(error, EDL_ESTALE, "%s: incarnation %llu is %s", name,
                         ULL(process->incarnation), process_state_to_string(process->state));
}

static int check_note(const char *note, struct edl_error *error)
{
    size_t size = note != NULL ? strlen(note) : 0;

    if (size <= RENDEZVOUS_NOTE_MAX)
        return 0;
    (void)edl_error_at(error, -E2BIG, "/note", "the note has %zu bytes, %d at most", size,
                       RENDEZVOUS_NOTE_MAX);
    return edl_error_remedy(error, "tell in it where more is to be had");
}

static void bring_note(struct process *process, const char *note)
{
    const char *text = note != NULL ? note : "";

    if (streq(text, process->note != NULL ? process->note : ""))
        return;
    free(process->note);
    process->note = *text != '\0' ? xstrdup(text) : NULL;
}

int cluster_arrive(struct cluster *cluster, struct process *process, uint64_t after,
                   const char *note, struct instant now, enum rendezvous_result *ret,
                   struct edl_error *error)
{
    struct job *job = process->job;
    struct rendezvous *rendezvous;
    bool member;
    int r = check_caller(process, error);

    if (r == 0)
        r = check_note(note, error);
    if (r < 0)
        return r;
    if (process->state == PROCESS_STOPPING) {
        *ret = RENDEZVOUS_LEAVING;
        return 0;
    }
    rendezvous = rendezvous_get(job, process->role);
    if (after > rendezvous->generation)
        return edl_error_at(error, -EINVAL, "/after",
                            "generation %llu never was, the newest is %llu", ULL(after),
                            ULL(rendezvous->generation));
    if (is_done(job, process->role, rendezvous)) {
        *ret = RENDEZVOUS_LEAVING;
        return 0;
    }
    member = is_member(rendezvous, process);
    if (member && !rendezvous->over && after < rendezvous->generation) {
        *ret = RENDEZVOUS_AGREED;
        return 0;
    }
    bring_note(process, note);
    if (!process->arrived) {
        process->arrived = true;
        process_waits(cluster, process, now);
        rendezvous->n_arrived++;
        rendezvous->n_newcomers += !member;
    }
    if (!rendezvous->over) {
        rendezvous->over = true;
        effect_membership(cluster, job); /* members hear of it */
    }
    *ret = RENDEZVOUS_WAIT;
    if (is_complete(job, process->role, rendezvous)) {
        agree(cluster, job, process->role, now);
        *ret = RENDEZVOUS_AGREED;
    }
    return 0;
}

int rendezvous_is_over(const struct process *process, uint64_t generation, bool *ret,
                       struct edl_error *error)
{
    const struct rendezvous *rendezvous = of(process->job, process->role);
    int r = check_caller(process, error);

    if (r < 0)
        return r;
    *ret = rendezvous == NULL || rendezvous->over || rendezvous->generation != generation ||
           process->state == PROCESS_STOPPING;
    return 0;
}

size_t rendezvous_missing(const struct job *job, uint32_t role, const struct process **ret,
                          size_t most)
{
    const struct rendezvous *rendezvous = of(job, role);
    size_t n = 0;

    for (uint32_t i = 0; rendezvous != NULL && n < most && i < job->n_slots[role]; i++)
        if (is_waited_for(rendezvous, job->slots[role][i].live))
            ret[n++] = job->slots[role][i].live;
    return n;
}

void rendezvous_moved(struct cluster *cluster, struct process *process)
{
    struct rendezvous *rendezvous = of(process->job, process->role);
    bool member;

    effect_membership(cluster, process->job);
    if (rendezvous == NULL || process->state < PROCESS_STOPPING)
        return;
    member = is_member(rendezvous, process);
    free(process->note); /* nobody reads it, and ended processes are kept for long */
    process->note = NULL;
    if (process->arrived) {
        process->arrived = false;
        rendezvous->n_arrived--;
        rendezvous->n_newcomers -= !member;
    }
    if (member) {
        process->generation = 0;
        rendezvous->n_standing--;
        rendezvous->over = true;
    }
}

void rendezvous_restored(struct job *job)
{
    for (uint32_t r = 0; job->rendezvous != NULL && r < job->spec->n_roles; r++) {
        struct rendezvous *rendezvous = &job->rendezvous[r];

        for (uint32_t i = 0; i < rendezvous->n_members; i++) {
            const struct rendezvous_member *member = &rendezvous->members[i];
            struct process *process =
                member->index < job->n_slots[r] ? job->slots[r][member->index].live : NULL;

            if (process == NULL || process->incarnation != member->incarnation ||
                process->state >= PROCESS_STOPPING)
                continue;
            process->generation = rendezvous->generation;
            rendezvous->n_standing++;
        }
        rendezvous->over =
            rendezvous->n_members == 0 || rendezvous->n_standing < rendezvous->n_members;
    }
}

/* An agreement since the backup is not known, not even whether there was one. */
void rendezvous_begin_epoch(struct cluster *cluster, struct job *job, uint64_t first_number)
{
    struct process *process;

    if (job_state_is_final(job->state))
        return;
    for (uint32_t r = 0; r < job->spec->n_roles; r++) {
        struct rendezvous *rendezvous = rendezvous_get(job, r);

        rendezvous_members_free(rendezvous->members, rendezvous->n_members);
        *rendezvous = (struct rendezvous){
            .generation = MAX_OF(rendezvous->generation, first_number),
            .over = true,
        };
    }
    DL_FOREACH2(job->processes, process, job_next)
    {
        process->arrived = false;
        process->generation = 0;
    }
    effect_save_rendezvous(cluster, job);
}

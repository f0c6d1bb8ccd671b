/* SPDX-License-Identifier: Apache-2.0 */
/* recovered.c - see recovered.h */
#include "scheduler/core/model/recovered.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/effects.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/model/job_sm.h"
#include "scheduler/core/model/process.h"
#include "scheduler/core/model/process_sm.h"
#include "scheduler/core/model/states.h"
#include "shared/error.h"
#include "shared/macro.h"

/* Its word, and how an event begins. */
static const struct {
    const char *word, *clause;
} sources[RECOVERED_SOURCES] = {
    [RECOVERED_FROM_CHECKPOINT] = { "checkpoint", "is back with its checkpoint" },
    [RECOVERED_FROM_TRAINERS] = { "trainers", "is back without its checkpoint, with the values "
                                              "that trainers had" },
    [RECOVERED_FROM_START] = { "start-values", "is back with start values" },
    [RECOVERED_FROM_NOTHING] = { "nothing", "has no values" },
};

int recovered_source_of(const char *word)
{
    for (int i = 0; i < RECOVERED_SOURCES; i++)
        if (streq(sources[i].word, word))
            return i;
    return -EINVAL;
}

/* grown - by how much it is more than what was counted before; what is counted is kept */
static uint64_t grown(uint64_t *counted, uint64_t told_before, uint64_t told)
{
    const uint64_t before = MAX_OF(*counted, told_before);

    *counted = MAX_OF(before, told);
    return told > before ? told - before : 0;
}

static void add(uint64_t *sum, uint64_t more)
{
    *sum = MIN_OF(*sum + more, RECOVERED_MOST);
}

static void tell(struct cluster *cluster, const struct process *process,
                 const struct recovered *told, struct instant now)
{
    char name[ROLE_NAME_MAX + 16], rows[96] = "";

    process_name(process, name, sizeof name);
    if (told->source == RECOVERED_FROM_TRAINERS && told->rows > 0)
        (void)snprintf(rows, sizeof rows, ", %" PRIu64 " of %" PRIu64 " row%s start values",
                       told->rows_missing, told->rows, told->rows == 1 ? " has" : "s have");
    effect_process_event(cluster, now, process, "server-recovered",
                         "%s %s: %" PRIu64 " of %" PRIu64 " update%s lost%s%s", name,
                         sources[told->source].clause, told->lost, told->of,
                         told->of == 1 ? " is" : "s are", rows,
                         told->source == RECOVERED_FROM_CHECKPOINT
                             ? ""
                             : ", and the optimizer's state begins anew");
}

int cluster_recovered(struct cluster *cluster, struct process *process,
                      const struct recovered *told, struct instant now, struct edl_error *error)
{
    struct job *job = process->job;
    uint64_t more;

    if (process_state_is_final(process->state))
        return edl_error_set(error, EDL_ESTALE, "incarnation %" PRIu64 " is %s",
                             process->incarnation, process_state_to_string(process->state));
    if (told->source == RECOVERED_FROM_NOTHING) {
        if (job_is_started(job))
            job_stop(cluster, job, now, INTENT_FAILED, CAUSE_VALUES_LOST,
                     "a parameter server came back without its checkpoint and no trainer has its "
                     "values: what was trained is lost. Submit the job with checkpoint: {path: "
                     "DIR}, a folder that all nodes see");
        return 0;
    }
    more = grown(&process->updates_lost, told->told, told->lost);
    add(&job->updates_lost, more);
    add(&cluster->figures.updates_lost, more);
    add(&job->updates_lost_of, grown(&process->updates_lost_of, told->told_of, told->of));
    effect_save_job(cluster, job);
    tell(cluster, process, told, now);
    return 0;
}

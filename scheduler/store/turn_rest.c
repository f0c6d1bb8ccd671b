/* SPDX-License-Identifier: Apache-2.0 */
/* turn_rest.c - see turn_rest.h */
#include "scheduler/store/turn_rest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "scheduler/core/core.h"
#include "scheduler/store/store.h"
#include "shared/macro.h"

#define ANSWER_ROW_BYTES 512

static void add_role(struct turn_rest *rest, const struct job *job, uint32_t role)
{
    const struct role_spec *spec = &job->spec->roles[role];
    uint64_t n = job->counts[role].live;
    struct role_held *held;

    rest->held = xreallocarray(rest->held, rest->n_held + 1, sizeof *rest->held);
    held = &rest->held[rest->n_held++];
    *held = (struct role_held){ .job_id = job->id,
                                .role = role,
                                .processes = n,
                                .cpu_millicores = n * spec->cpu_millicores,
                                .gpus = n * spec->gpus };
    (void)snprintf(held->user, sizeof held->user, "%s", job->user);
}

static void add_all_roles(struct turn_rest *rest, const struct cluster *begun)
{
    const struct job *job;

    DL_FOREACH2(cluster_active_jobs(begun), job, active_next)
    {
        for (uint32_t role = 0; role < job->spec->n_roles; role++)
            add_role(rest, job, role);
    }
}

static bool is_last_role(const struct turn_rest *rest, const struct process *process)
{
    const struct role_held *last = rest->n_held > 0 ? &rest->held[rest->n_held - 1] : NULL;

    return last != NULL && last->job_id == process->job->id && last->role == process->role;
}

static struct rest_share *share_of(struct turn_rest *rest, const char *user)
{
    struct rest_share *last = rest->n_shares > 0 ? &rest->shares[rest->n_shares - 1] : NULL;

    if (last != NULL && streq(last->user, user))
        return last;
    rest->shares = xreallocarray(rest->shares, rest->n_shares + 1, sizeof *rest->shares);
    last = &rest->shares[rest->n_shares++];
    *last = (struct rest_share){ .user = xstrdup(user) };
    return last;
}

static void add_effect(struct turn_rest *rest, const struct effect *effect, bool with_held)
{
    switch (effect->kind) {
    case EFFECT_EVENT:
        rest->n_events++;
        rest->event_wall_us = effect->wall_us;
        break;
    case EFFECT_ARCHIVE_JOB:
        rest->archived =
            xreallocarray(rest->archived, rest->n_archived + 1, sizeof *rest->archived);
        rest->archived[rest->n_archived++] = effect->id;
        break;
    case EFFECT_SAVE_PROCESS:
        if (with_held && !is_last_role(rest, effect->process))
            add_role(rest, effect->process->job, effect->process->role);
        break;
    case EFFECT_SAVE_FAMILY:
        rest->n_families++;
        break;
    case EFFECT_FORGET_PROCESS:
        rest->forgets_tails = true;
        break;
    case EFFECT_SAVE_TASKS:
    case EFFECT_SAVE_DATASET:
        rest->forgets_tasks |= task_queue_is_closed(effect->job->queue);
        break;
    default:
        break;
    }
}

static void add_account(struct turn_rest *rest, const struct account_change *change)
{
    if (change->kind != ACCOUNT_AUDIT)
        return;
    rest->n_audited++;
    share_of(rest, change->name)->n_audited++;
    rest->audited_wall_us = MAX_OF(rest->audited_wall_us, change->created_wall_us);
}

uint64_t store_answer_bytes(const struct stored_answer *answer)
{
    return ANSWER_ROW_BYTES + strlen(answer->body);
}

static void add_answer(struct turn_rest *rest, const struct stored_answer *answer)
{
    struct rest_share *share = share_of(rest, answer->user);

    rest->answered_wall_us = MAX_OF(rest->answered_wall_us, answer->wall_us);
    share->n_answers++;
    share->answer_bytes += store_answer_bytes(answer);
}

void turn_rest_of(const struct turn_records *records, struct turn_rest *ret)
{
    *ret = (struct turn_rest){ .wall_us = records->wall_us,
                               .n_ended = records->n_ended,
                               .n_tails = records->n_tails,
                               .n_answers = records->n_answers,
                               .forgets_tasks = records->tasks.dropped };
    if (records->wall_us != 0 && records->begun != NULL) /* 0: nobody says when it is */
        add_all_roles(ret, records->begun);
    for (size_t i = 0; i < records->n_effects; i++)
        add_effect(ret, &records->effects[i], records->wall_us != 0);
    for (size_t i = 0; i < records->n_accounts; i++)
        add_account(ret, &records->accounts[i]);
    for (size_t i = 0; i < records->n_answers; i++)
        add_answer(ret, &records->answers[i]);
}

void turn_rest_done(struct turn_rest *rest)
{
    for (size_t i = 0; i < rest->n_shares; i++)
        free(rest->shares[i].user);
    free(rest->archived);
    free(rest->held);
    free(rest->shares);
    *rest = (struct turn_rest){ .n_held = 0 };
}

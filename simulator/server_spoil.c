/* SPDX-License-Identifier: Apache-2.0 */
/* server_spoil.c - the mutants of the scheduler's shell */
#include <utlist.h>

#include "scheduler/core/check/spoil.h"
#include "scheduler/core/core.h"
#include "scheduler/core/learn/job_learned.h"
#include "scheduler/core/model/waiting.h"
#include "simulator/internal.h"

#define LOSE_ONE_IN 20               /* SIM_MUTANT_STORE_LOSES_RECORD: processes' records */
#define SHORT_US (10 * USEC_PER_SEC) /* SIM_MUTANT_FIRST_LEASE_SHORT */
#define OVERRATED_S 600 /* SIM_MUTANT_COST_OVERRATED: no change here takes longer than 60 s */

void spoil_write(struct sim *sim, const struct effect *effects, size_t n)
{
    struct server *server = sim->server;

    for (size_t i = 0; sim->config.mutant == SIM_MUTANT_NOTICE_LOST && i < n; i++)
        if (effects[i].kind == EFFECT_NOTICE && random_below(&server->random, 2) == 0)
            ((struct effect *)&effects[i])->kind = EFFECT_MEMBERSHIP; /* why: it is spoiled */
    if (sim->config.mutant == SIM_MUTANT_STORE_LOSES_RECORD) {
        struct effect *kept = xcalloc(n, sizeof *kept);
        size_t n_kept = 0;

        for (size_t i = 0; i < n; i++)
            if (effects[i].kind != EFFECT_SAVE_PROCESS ||
                random_below(&server->random, LOSE_ONE_IN) != 0)
                kept[n_kept++] = effects[i];
        memory_store_commit(sim->store, kept, n_kept);
        free(kept);
        return;
    }
    memory_store_commit(sim->store, effects, n);
}

void spoil_after_plan(struct sim *sim)
{
    struct job *job;

    if (sim->config.mutant == SIM_MUTANT_SUM_SPOILED)
        spoil_figures(sim->server->cluster);
    if (sim->config.mutant == SIM_MUTANT_PARKED_FORGOTTEN)
        DL_FOREACH2(cluster_active_jobs(sim->server->cluster), job, active_next)
    if (job->state == JOB_QUEUED && job->parked_for != 0 && job->filed)
        job_unfile(sim->server->cluster, job);
    if (sim->config.mutant != SIM_MUTANT_REASON_EMPTIED)
        return;
    DL_FOREACH2(cluster_active_jobs(sim->server->cluster), job, active_next)
    if (job->state == JOB_QUEUED)
        *job->reason = '\0';
}

/* SIM_MUTANT_RESTART_FORGETS_INCARNATION: right before a plan that uses them */
static void forget_incarnations(struct sim *sim)
{
    struct job *job;

    if (sim->now_us < sim->server->forgets_at_us)
        return;
    sim->server->forgets_at_us = NEVER_US;
    DL_FOREACH2(cluster_active_jobs(sim->server->cluster), job, active_next)
    job->next_incarnation = 1;
}

/* SIM_MUTANT_GANG_FORGOTTEN: right before a plan that may start it again */
static void forget_gangs(struct sim *sim)
{
    struct job *job;

    if (sim->config.mutant != SIM_MUTANT_GANG_FORGOTTEN)
        return;
    DL_FOREACH2(cluster_active_jobs(sim->server->cluster), job, active_next)
    for (uint32_t r = 0; r < job->spec->n_roles; r++)
        if (job->state == JOB_QUEUED && job->next_incarnation > 1 && job->spec->roles[r].min > 1)
            (void)cluster_scale_job(sim->server->cluster, job, job->spec->roles[r].name, 1, 1,
                                    server_instant(sim), NULL);
}

/* SIM_MUTANT_STARTS_FORGOTTEN: right before a plan that looks for other nodes */
static void forget_starts(struct sim *sim)
{
    struct node *node = sim->config.mutant == SIM_MUTANT_STARTS_FORGOTTEN
                            ? cluster_nodes(sim->server->cluster)
                            : NULL;

    for (; node != NULL; node = node->hh.next)
        node->n_start_failures = 0;
}

/* SIM_MUTANT_COST_OVERRATED: as if that were what was measured last */
static void overrate_cost(struct sim *sim)
{
    struct job *job;

    if (sim->config.mutant != SIM_MUTANT_COST_OVERRATED)
        return;
    DL_FOREACH2(cluster_active_jobs(sim->server->cluster), job, active_next)
    if (job->learned != NULL)
        job->learned->of.resize_s = OVERRATED_S;
}

void spoil_before_plan(struct sim *sim)
{
    forget_incarnations(sim);
    forget_gangs(sim);
    forget_starts(sim);
    overrate_cost(sim);
}

/* SIM_MUTANT_STORE_KEEPS_TORN */
void spoil_torn(struct sim *sim)
{
    size_t n;
    const struct effect *effects = cluster_effects(sim->server->cluster, &n);

    memory_store_commit(sim->store, effects, (n + 1) / 2);
}

/* Two mutants: silent nodes get no lease from a start, or one like all others. */
static void spoil_start(struct sim *sim)
{
    uint64_t us = sim->config.mutant == SIM_MUTANT_START_GRANTS
                      ? 0
                      : sim->config.lease_us + sim->config.lease_margin_us;

    spoil_leases(sim->server->cluster, sim->now_us + us);
}

/* SIM_MUTANT_AWAY_FORGOTTEN: nobody is waited for because of it */
void spoil_restore(struct sim *sim)
{
    struct cluster *cluster = sim->server->cluster;

    if (sim->config.mutant == SIM_MUTANT_AWAY_FORGOTTEN)
        spoil_restored(cluster, server_instant(sim));
    else
        cluster_restored(cluster, server_instant(sim));
    if (sim->config.mutant == SIM_MUTANT_START_GRANTS ||
        sim->config.mutant == SIM_MUTANT_START_FLOOR_SHORT)
        spoil_start(sim);
    if (sim->config.mutant == SIM_MUTANT_FIRST_LEASE_SHORT)
        spoil_leases(cluster, server_boot_us(sim) + SHORT_US);
}

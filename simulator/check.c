/* SPDX-License-Identifier: Apache-2.0 */
/* check.c - the checks that cost more than the events: sampled by the size of the cluster
 *
 * Cheap facts are checked where they happen (ledger*.c). Here: the store's state equals the
 * scheduler's, the core's own invariants, every acknowledged word is still true, every wait has a
 * reason. After the last fault everything comes to an end. */
#include <inttypes.h>
#include <utlist.h>

#include "scheduler/core/core.h"
#include "simulator/internal.h"

/* so much of what is remembered may be looked at, on average, for a commit and for a turn */
#define REPLAY_UNITS_PER_COMMIT 16
#define DEEP_UNITS_PER_TURN 200
/* in the calm the scheduler has heard of every end by then: a lease of 30 s, a margin of 10 s */
#define RECORDS_LAG_US (60 * USEC_PER_SEC)
/* beside lease and grace: machines that boot, agents that join, calls that are made again */
#define KILL_SLACK_US (30 * USEC_PER_SEC)

static uint64_t every(size_t size, size_t units)
{
    return 1 + size / units;
}

static void check_replay(struct sim *sim)
{
    struct cluster_config config = *cluster_config(sim->server->cluster);
    struct cluster *replay = cluster_new(&config);
    struct edl_error error = { 0 };
    int r = memory_store_load(sim->store, replay, server_instant(sim), &error);

    if (r == 0) {
        cluster_restored(replay, server_instant(sim));
        r = cluster_compare(sim->server->cluster, replay, &error);
    }
    if (r < 0)
        violate(sim, "replay", "the state is not that of the store: %s", error.text);
    (void)cluster_free(replay);
}

static void check_priority(struct sim *sim, const struct truth_job *truth)
{
    const struct job *job = cluster_job(sim->server->cluster, truth->id);

    if (job != NULL && job->spec->priority != truth->priority)
        violate(sim, "durable", "job %s was given priority %d and has %d", truth->name,
                truth->priority, job->spec->priority);
}

void check_durable(struct sim *sim)
{
    for (uint64_t id = 0; id < sim->ledger.n_jobs; id++) {
        const struct truth_job *truth = sim->ledger.jobs[id];

        if (truth != NULL && truth->kill_acknowledged && !job_state_is_final(truth->state) &&
            truth->state != JOB_STOPPING)
            violate(sim, "durable", "job %s was killed, which was acknowledged, and is %s",
                    truth->name, job_state_to_string(truth->state));
        if (truth != NULL)
            check_priority(sim, truth);
    }
}

static void check_reasons(struct sim *sim)
{
    const struct job *job;

    DL_FOREACH2(cluster_active_jobs(sim->server->cluster), job, active_next)
    if (*job->reason == '\0' || *job->reason_code == '\0')
        violate(sim, "reason", "job %s is %s without a reason", job->spec->name,
                job_state_to_string(job->state));
}

/* It is tried as any other job that waits. */
static void check_parked(struct sim *sim)
{
    const struct job *job;

    DL_FOREACH2(cluster_active_jobs(sim->server->cluster), job, active_next)
    if (job->state == JOB_QUEUED && job->parked_for != 0 && !job->filed)
        violate(sim, "parked", "job %s was parked, and is forgotten", job->spec->name);
}

void check_deep(struct sim *sim)
{
    struct edl_error error = { 0 };

    check_reasons(sim);
    check_durable(sim);
    check_parked(sim);
    if (cluster_check(sim->server->cluster, &error) < 0)
        violate(sim, "core", "an invariant of the core does not hold: %s", error.text);
}

void check_turn(struct sim *sim, bool committed)
{
    struct ledger *ledger = &sim->ledger;
    size_t size = ledger->size + sim->n_nodes;

    if (committed && ++ledger->commits_unchecked >= every(size, REPLAY_UNITS_PER_COMMIT)) {
        ledger->commits_unchecked = 0;
        check_replay(sim);
    }
    if ((committed || sim->server->planned) &&
        ++ledger->turns_unchecked >= every(size, DEEP_UNITS_PER_TURN)) {
        ledger->turns_unchecked = 0;
        check_deep(sim);
    }
}

static void check_ended(struct sim *sim, const struct submission *submission)
{
    const struct truth_job *truth = ledger_job(sim, submission->job_id);
    const struct job *job;

    if (truth == NULL) {
        violate(sim, "convergence", "%s was submitted long ago and is not answered",
                submission->name);
        return;
    }
    job = cluster_job(sim->server->cluster, truth->id);
    if (!job_state_is_final(truth->state) && !check_may_wait(sim, truth))
        violate(sim, "convergence", "job %s is %s long after the last fault: %s (%s)", truth->name,
                job_state_to_string(truth->state), job->reason, job->reason_code);
    if (job_state_is_final(truth->state) && truth->n_live > 0)
        violate(sim, "convergence", "job %s is %s and %u processes of it still run", truth->name,
                job_state_to_string(truth->state), truth->n_live);
}

static void check_runs(struct sim *sim, const struct truth_job *truth)
{
    for (uint32_t r = 0; r < truth->n_roles; r++) {
        const struct truth_role *role = &truth->roles[r];

        if (role->n_running < role->min && sim->now_us - role->short_since_us > RECORDS_LAG_US)
            violate(sim, "running",
                    "job %s is on record as running; for %.0f s %u of its %s run, less than %u",
                    truth->name, (double)(sim->now_us - role->short_since_us) / 1e6,
                    role->n_running, role->name, role->min);
    }
}

void check_rest(struct sim *sim)
{
    for (uint32_t i = 0; i < sim->n_submissions; i++) {
        const struct truth_job *truth = ledger_job(sim, sim->submissions[i].job_id);

        if (truth != NULL && program_serves(&sim->submissions[i].work) &&
            truth->state == JOB_RUNNING)
            check_runs(sim, truth);
    }
}

/* A lease that runs out, then the grace; nothing of it is asked for twice. */
void check_kills(struct sim *sim, uint64_t since_us)
{
    for (uint32_t i = 0; i < sim->n_submissions; i++) {
        const struct truth_job *truth = ledger_job(sim, sim->submissions[i].job_id);
        uint64_t limit_us = sim->config.lease_us + sim->config.lease_margin_us + KILL_SLACK_US +
                            sim->submissions[i].spec->grace_us;

        if (truth != NULL && truth->killed && !job_state_is_final(truth->state) &&
            sim->now_us > MAX_OF(truth->killed_us, since_us) + limit_us)
            violate(sim, "killed", "job %s was killed and is %s still, more than %.0f s later",
                    truth->name, job_state_to_string(truth->state), (double)limit_us / 1e6);
    }
}

void check_calm(struct sim *sim)
{
    if (sim->server->cluster == NULL) {
        violate(sim, "convergence", "the scheduler is not up long after the last fault");
        return;
    }
    for (uint32_t i = 0; i < sim->n_submissions; i++)
        check_ended(sim, &sim->submissions[i]);
    for (uint32_t i = 0; i < sim->n_nodes; i++)
        if (sim->nodes[i]->cpu_used > 0)
            violate(sim, "convergence", "%s still runs processes long after the last fault",
                    sim->nodes[i]->name);
    check_deep(sim);
    if (!sim->server->busy) /* what is being committed is not in the store yet */
        check_replay(sim);
}

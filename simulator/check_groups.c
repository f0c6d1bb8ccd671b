/* SPDX-License-Identifier: Apache-2.0 */
/* check_groups.c - groups of users have what is guaranteed to them
 *
 * Out of the documents, the groups as people made them and the processes that really run. In the
 * calm: the first gang of a group that has less than its share does not wait where others' surplus
 * would make room for it. The scheduler's word on a group's holding is true. At each commit: a job
 * that is shrunk for a gang of a group that has its share keeps the guarantee of its own group. */
#include <utlist.h>

#include "scheduler/core/core.h"
#include "simulator/internal.h"

/* Without an excuse, and with nothing that stops: for reports, commits, a plan or two. */
#define SHARE_LIMIT_US (20 * USEC_PER_SEC)
#define SUM_LIMIT_US (10 * USEC_PER_SEC)
#define NOISE_PART 25
#define PERMILLE 1000
#define FOR_A_JOB "shrunk to make room for job "
#define OF_A_GANG ": its gang of "

/* Cores and GPUs: what shares are of. */
struct amount {
    uint64_t cpu_millicores, gpus;
};

static uint32_t group_of(const struct sim *sim, const struct truth_job *truth)
{
    return sim->groups.of_user[sim->submissions[truth->submission].user];
}

static uint32_t guaranteed_permille(const struct sim *sim, uint32_t group)
{
    return group > 0 ? sim->groups.specs[group - 1].guaranteed_permille : 0;
}

static const struct job_spec *spec_of(const struct sim *sim, const struct truth_job *truth)
{
    return sim->submissions[truth->submission].spec;
}

static void add(struct amount *to, const struct role_spec *role, uint64_t n)
{
    to->cpu_millicores += n * role->cpu_millicores;
    to->gpus += n * role->gpus;
}

/* The larger of the two parts. */
static uint32_t permille_of(const struct amount *held, const struct amount *all)
{
    uint64_t cpu =
        all->cpu_millicores > 0 ? held->cpu_millicores * PERMILLE / all->cpu_millicores : 0;
    uint64_t gpu = all->gpus > 0 ? held->gpus * PERMILLE / all->gpus : 0;

    return (uint32_t)MAX_OF(cpu, gpu);
}

static bool is_started(const struct truth_job *truth)
{
    return truth->state == JOB_STARTING || truth->state == JOB_RUNNING ||
           truth->state == JOB_RESIZING;
}

/* --- in the calm --- */

/* Every node takes processes, every job that started is whole, and nothing is on its way out. */
static bool all_is_settled(const struct sim *sim)
{
    for (uint32_t i = 0; i < sim->n_nodes; i++) {
        const struct unit *unit;

        if (!settled_is_open(sim, sim->nodes[i]))
            return false;
        DL_FOREACH(sim->nodes[i]->units, unit)
        if (unit->told && (unit->life == LIFE_STARTING || unit->life == LIFE_RUNNING))
            return false;
    }
    for (uint64_t id = 0; id < sim->ledger.n_jobs; id++) {
        const struct truth_job *truth = sim->ledger.jobs[id];

        if (truth != NULL && is_started(truth) &&
            (!settled_is_complete(truth) || settled_is_finishing(truth)))
            return false;
    }
    return true;
}

static struct amount offered(const struct sim *sim)
{
    struct amount all = { 0 };

    for (uint32_t i = 0; i < sim->n_nodes; i++) {
        all.cpu_millicores += sim->nodes[i]->offer.cpu_millicores;
        all.gpus += sim->nodes[i]->offer.gpus;
    }
    return all;
}

static struct amount held_by(const struct sim *sim, uint32_t group)
{
    struct amount held = { 0 };

    for (uint64_t id = 0; id < sim->ledger.n_jobs; id++) {
        const struct truth_job *truth = sim->ledger.jobs[id];

        if (truth == NULL || group_of(sim, truth) != group)
            continue;
        for (uint32_t r = 0; r < truth->n_roles; r++)
            add(&held, &spec_of(sim, truth)->roles[r], truth->roles[r].n_live);
    }
    return held;
}

static uint32_t held_permille(const struct sim *sim, uint32_t group)
{
    struct amount held = held_by(sim, group);
    struct amount all = offered(sim);

    return permille_of(&held, &all);
}

/* Its whole minimum taken for what is here: so what it can give here does not depend on what it
 * gives elsewhere. One that may be about to save the model gives nothing. */
static uint32_t could_give(const struct sim *sim, const struct sim_node *node,
                           const struct truth_job *truth, uint32_t r)
{
    const struct truth_role *role = &truth->roles[r];
    const struct unit *unit;
    uint32_t here = 0;

    if (!is_started(truth) || !settled_is_elastic(sim, truth, r) || role->n_live <= role->min ||
        (truth->n_tasks > 0 && truth->passes_ended == truth->passes))
        return 0;
    DL_FOREACH(node->units, unit)
    here += unit->job == truth && unit->role == r && !unit->told &&
            (unit->life == LIFE_STARTING || unit->life == LIFE_RUNNING);
    return here > role->min ? here - role->min : 0;
}

static uint64_t times(uint64_t have, uint64_t used, uint64_t need)
{
    if (need == 0)
        return UINT64_MAX;
    return have > used ? (have - used) / need : 0;
}

/* How many of the role find room on this node once others have given what they could. */
static uint64_t room_on(const struct sim *sim, const struct sim_node *node,
                        const struct role_spec *wanted)
{
    const struct node_offer *offer = &node->offer;
    uint64_t cpu = node->cpu_used + node->foreign_cpu + offer->cpu_millicores / NOISE_PART;
    uint64_t memory = node->memory_used + node->foreign_memory + offer->memory_bytes / NOISE_PART;
    int64_t gpus = 0;
    int64_t ports = 0;
    const struct unit *unit;
    uint64_t n;

    if (!labels_cover(&offer->labels, role_selector(wanted)))
        return 0;
    DL_FOREACH(node->units, unit)
    if (unit->life == LIFE_STARTING || unit->life == LIFE_RUNNING) {
        gpus += __builtin_popcountll(unit->gpu_mask);
        ports += unit->n_ports;
    }
    for (uint64_t id = 0; id < sim->ledger.n_jobs; id++) {
        const struct truth_job *truth = sim->ledger.jobs[id];

        for (uint32_t r = 0; truth != NULL && r < truth->n_roles; r++) {
            const struct role_spec *role = &spec_of(sim, truth)->roles[r];
            uint32_t given = could_give(sim, node, truth, r);

            cpu -= given * role->cpu_millicores;
            memory -= given * role->memory_bytes;
            gpus -= (int64_t)given * role->gpus;
            ports -= (int64_t)given * role->n_ports;
        }
    }
    n = MIN_OF(times(offer->cpu_millicores, cpu, wanted->cpu_millicores),
               times(offer->memory_bytes, memory, wanted->memory_bytes));
    n = MIN_OF(n, times(offer->gpus, (uint64_t)gpus, wanted->gpus));
    return MIN_OF(n, times((uint64_t)(offer->port_last - offer->port_first) + 1, (uint64_t)ports,
                           wanted->n_ports));
}

/* Of one role: which instance goes where decides nothing. false: it may nevertheless */
static bool surely_fits(const struct sim *sim, const struct truth_job *truth)
{
    uint64_t n = 0;

    for (uint32_t i = 0; truth->n_roles == 1 && i < sim->n_nodes && n < truth->roles[0].min; i++)
        n += MIN_OF(room_on(sim, sim->nodes[i], &spec_of(sim, truth)->roles[0]),
                    (uint64_t)truth->roles[0].min);
    return n >= truth->roles[0].min;
}

/* At its guarantee to a thousandth it may count as either. */
static bool may_be_below(const struct sim *sim, uint32_t group)
{
    return held_permille(sim, group) <= guaranteed_permille(sim, group);
}

static bool is_below(const struct sim *sim, uint32_t group)
{
    return held_permille(sim, group) + 1 < guaranteed_permille(sim, group);
}

static bool goes_before(const struct truth_job *a, const struct truth_job *b)
{
    return a->priority != b->priority ? a->priority > b->priority : a->id < b->id;
}

/* Of the groups that may have less than their shares; NULL: nobody of them waits. */
static struct truth_job *first_in_order(const struct sim *sim)
{
    struct truth_job *first = NULL;

    for (uint64_t id = 0; id < sim->ledger.n_jobs; id++) {
        struct truth_job *truth = sim->ledger.jobs[id];

        if (truth != NULL && truth->exists && truth->state == JOB_QUEUED &&
            !check_may_wait(sim, truth) && may_be_below(sim, group_of(sim, truth)) &&
            (first == NULL || goes_before(truth, first)))
            first = truth;
    }
    return first;
}

static void check_share(struct sim *sim, bool settled)
{
    const struct truth_job *first = settled ? first_in_order(sim) : NULL;

    if (first != NULL && (!is_below(sim, group_of(sim, first)) || !surely_fits(sim, first)))
        first = NULL;
    for (uint64_t id = 0; id < sim->ledger.n_jobs; id++) {
        struct truth_job *truth = sim->ledger.jobs[id];

        if (truth != NULL &&
            settled_lasts(sim, &truth->share_since_us, truth == first, SHARE_LIMIT_US))
            violate(sim, "share",
                    "job %s has waited for %.0f s: its group has %u permille of %u, and its gang "
                    "of %u fits once others give what they have beyond their minima",
                    truth->name, (double)(sim->now_us - truth->share_since_us) / 1e6,
                    held_permille(sim, group_of(sim, truth)),
                    guaranteed_permille(sim, group_of(sim, truth)), truth->roles[0].min);
    }
}

/* What failed is counted as held as long as it is to be started again, and so is who waits and is
 * promised room. */
static bool all_is_there(const struct sim *sim)
{
    for (uint64_t id = 0; id < sim->ledger.n_jobs; id++) {
        const struct truth_job *truth = sim->ledger.jobs[id];

        if (truth == NULL || job_state_is_final(truth->state))
            continue;
        if (truth->state == JOB_QUEUED && !check_may_wait(sim, truth))
            return false;
        for (uint32_t r = 0; r < truth->n_roles; r++)
            if (!settled_nobody_failed(&truth->roles[r]))
                return false;
    }
    return true;
}

/* 0: the sums are right; else 1 + the group */
static uint32_t group_that_differs(const struct sim *sim)
{
    for (uint32_t g = 0; g < sim->groups.n; g++)
        if (cluster_group_held_permille(sim->server->cluster, sim->groups.specs[g].name) !=
            held_permille(sim, g + 1))
            return g + 1;
    return 0;
}

static void check_sums(struct sim *sim, bool settled)
{
    uint32_t group = settled && all_is_there(sim) ? group_that_differs(sim) : 0;

    if (settled_lasts(sim, &sim->sums_differ_since_us, group != 0, SUM_LIMIT_US))
        violate(sim, "sum", "group %s holds %u permille of the cluster, the scheduler says %u",
                sim->groups.specs[group - 1].name, held_permille(sim, group),
                cluster_group_held_permille(sim->server->cluster,
                                            sim->groups.specs[group - 1].name));
}

void check_groups(struct sim *sim)
{
    bool settled = sim->server->up && all_is_settled(sim);

    check_share(sim, settled);
    check_sums(sim, settled);
}

/* --- at a commit --- */

/* Of the nodes that take processes, as the plan knew them. */
static struct amount offered_to_plan(const struct sim *sim)
{
    struct amount all = { 0 };

    for (const struct node *node = cluster_nodes(sim->server->cluster); node != NULL;
         node = node->hh.next)
        if (node->state == NODE_READY && node->ever_reported) {
            all.cpu_millicores += node->offer.cpu_millicores;
            all.gpus += node->offer.gpus;
        }
    return all;
}

/* For whose gang it was asked to stop, NULL: for none, or for another reason. */
static const struct truth_job *stopped_for(const struct sim *sim, const struct process *process)
{
    const char *name = process->reason + sizeof FOR_A_JOB - 1;

    if (process->state != PROCESS_STOPPING || process->cause != CAUSE_MAKES_ROOM ||
        strstr(process->reason, OF_A_GANG) == NULL)
        return NULL;
    for (uint64_t id = sim->ledger.n_jobs; id-- > 0;) {
        const struct truth_job *truth = sim->ledger.jobs[id];
        size_t length = truth != NULL ? strlen(truth->name) : 0;

        if (length > 0 && strncmp(name, truth->name, length) == 0 &&
            (name[length] == ':' || name[length] == ' '))
            return truth;
    }
    return NULL;
}

static bool is_of_this_commit(const struct sim *sim, const struct truth_job *truth,
                              const struct process *process)
{
    return truth->processes[process->incarnation].stop_commit == sim->commits;
}

/* At least so much, whatever else happened in this turn: what was on record before it and is. */
static struct amount least_held(const struct sim *sim, uint32_t group)
{
    struct amount held = { 0 };

    for (uint64_t id = 0; id < sim->ledger.n_jobs; id++) {
        const struct truth_job *truth = sim->ledger.jobs[id];

        if (truth == NULL || group_of(sim, truth) != group || !is_started(truth))
            continue;
        for (uint64_t i = 0; i < truth->n_processes; i++) {
            const struct truth_process *known = &truth->processes[i];

            if (known->exists && known->state < PROCESS_STOPPING &&
                known->first_commit < sim->commits && known->node < sim->n_nodes &&
                sim->nodes[known->node]->wanted != NODE_DRAINING)
                add(&held, &spec_of(sim, truth)->roles[known->role], 1);
        }
    }
    return held;
}

/* Stopped in this turn for somebody of another group who is owed nothing. What goes to those who
 * are owed something, or stays in the group, may have gone after it. */
static bool was_lent(const struct sim *sim, const struct process *process,
                     const struct truth_job *truth, const struct amount *all)
{
    const struct truth_job *taker =
        is_of_this_commit(sim, truth, process) ? stopped_for(sim, process) : NULL;
    struct amount takes;

    if (taker == NULL || group_of(sim, taker) == group_of(sim, truth))
        return false;
    takes = least_held(sim, group_of(sim, taker));
    return permille_of(&takes, all) >= guaranteed_permille(sim, group_of(sim, taker));
}

/* At most so much: what is on record, what may be due or promised, and what ended or was stopped in
 * this turn for another reason. */
static struct amount most_held(const struct sim *sim, uint32_t group, const struct effect *effects,
                               size_t n, const struct amount *all)
{
    struct amount held = { 0 };

    for (uint64_t id = 0; id < sim->ledger.n_jobs; id++) {
        const struct truth_job *truth = sim->ledger.jobs[id];
        uint32_t staying[JOB_ROLES_MAX] = { 0 };

        if (truth == NULL || group_of(sim, truth) != group || job_state_is_final(truth->state))
            continue;
        for (uint64_t i = 0; i < truth->n_processes; i++)
            if (truth->processes[i].exists && truth->processes[i].state < PROCESS_STOPPING)
                staying[truth->processes[i].role]++;
        for (uint32_t r = 0; r < truth->n_roles; r++) {
            const struct truth_role *role = &truth->roles[r];

            if (!settled_nobody_failed(role))
                staying[r] = role->n_slots;
            add(&held, &spec_of(sim, truth)->roles[r], MAX_OF(staying[r], role->min));
        }
    }
    for (size_t i = 0; i < n; i++) {
        const struct process *process =
            effects[i].kind == EFFECT_SAVE_PROCESS ? effects[i].process : NULL;
        const struct truth_job *truth = process != NULL ? ledger_job(sim, process->job->id) : NULL;

        if (truth != NULL && group_of(sim, truth) == group && process->state >= PROCESS_STOPPING &&
            !was_lent(sim, process, truth, all))
            add(&held, &spec_of(sim, truth)->roles[process->role], 1);
    }
    return held;
}

void check_lent(struct sim *sim, const struct effect *effects, size_t n)
{
    struct amount all = offered_to_plan(sim);

    for (size_t i = 0; i < n; i++) {
        const struct process *process =
            effects[i].kind == EFFECT_SAVE_PROCESS ? effects[i].process : NULL;
        const struct truth_job *truth = process != NULL ? ledger_job(sim, process->job->id) : NULL;
        const struct truth_job *taker = truth != NULL && is_of_this_commit(sim, truth, process)
                                            ? stopped_for(sim, process)
                                            : NULL;
        struct amount takes, keeps;

        if (taker == NULL || group_of(sim, truth) == group_of(sim, taker))
            continue;
        sim->seen[SIM_SEEN_SHARES_TAKEN]++;
        takes = least_held(sim, group_of(sim, taker));
        keeps = most_held(sim, group_of(sim, truth), effects, n, &all);
        if (permille_of(&takes, &all) >= guaranteed_permille(sim, group_of(sim, taker)) &&
            permille_of(&keeps, &all) < guaranteed_permille(sim, group_of(sim, truth)))
            violate(sim, "lent",
                    "job %s gives way to job %s, whose group has %u permille of %u, and its own "
                    "keeps %u of %u",
                    truth->name, taker->name, permille_of(&takes, &all),
                    guaranteed_permille(sim, group_of(sim, taker)), permille_of(&keeps, &all),
                    guaranteed_permille(sim, group_of(sim, truth)));
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* check_end.c - whether the end of a job is one that its document and the machines allow
 *
 * Computed from people's submissions, the real machines and the real ends of processes; the
 * scheduler's own reasons are believed only where nothing else is certain. */
#include <utlist.h>

#include "scheduler/core/base/queue_rules.h"
#include "scheduler/core/core.h"
#include "simulator/internal.h"

/* Up to so many the scheduler finds every place that there is for two roles. */
#define PAIR_NODES_MAX 64
/* Who never ran for so long has failed at once; when its agent said that it runs, and when that was
 * heard, may differ by */
#define AT_ONCE_US (30 * USEC_PER_SEC)
#define HEARD_LATE_US (30 * USEC_PER_SEC)

/* What is free of a machine that runs nothing. */
struct bin {
    uint64_t cpu_millicores, memory_bytes;
    uint32_t gpus, ports;
    const struct labels *labels;
    const char *name;
};

static struct bin *make_bins(const struct sim *sim)
{
    struct bin *bins = xcalloc(sim->n_nodes, sizeof *bins);

    for (uint32_t i = 0; i < sim->n_nodes; i++) {
        const struct node_offer *offer = &sim->nodes[i]->offer;

        bins[i] = (struct bin){ .cpu_millicores = offer->cpu_millicores,
                                .memory_bytes = offer->memory_bytes,
                                .gpus = offer->gpus,
                                .ports = (uint32_t)offer->port_last - offer->port_first + 1,
                                .labels = &offer->labels,
                                .name = sim->nodes[i]->name };
    }
    return bins;
}

static bool takes(const struct bin *bin, const struct role_spec *role)
{
    return labels_cover(bin->labels, role_selector(role)) &&
           bin->cpu_millicores >= role->cpu_millicores && bin->memory_bytes >= role->memory_bytes &&
           bin->gpus >= role->gpus && bin->ports >= role->n_ports;
}

static void put(struct bin *bin, const struct role_spec *role)
{
    bin->cpu_millicores -= role->cpu_millicores;
    bin->memory_bytes -= role->memory_bytes;
    bin->gpus -= role->gpus;
    bin->ports -= role->n_ports;
}

/* The first n, each on its node; false: one of them has no room there. */
static bool pack_pinned(struct bin *bins, uint32_t n_bins, const struct role_spec *role, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = 0;

        while (at < n_bins && !streq(bins[at].name, role_node(role, i)))
            at++;
        if (at == n_bins || !takes(&bins[at], role))
            return false;
        put(&bins[at], role);
    }
    return true;
}

/* First fit; false: there is room for fewer than n. */
static bool pack(struct bin *bins, uint32_t n_bins, const struct role_spec *role, uint32_t n)
{
    if (role->nodes != NULL)
        return pack_pinned(bins, n_bins, role, n);
    for (uint32_t i = 0; n > 0 && i < n_bins; i++)
        for (; n > 0 && takes(&bins[i], role); n--)
            put(&bins[i], role);
    return n == 0;
}

/* Roles of one size each: going through the machines one by one finds room for as many of one role
 * as there can be, so that a role which does not fit alone never does. */
static bool each_fits_alone(const struct sim *sim, const struct truth_job *truth)
{
    const struct job_spec *spec = sim->submissions[truth->submission].spec;
    bool fits = true;

    for (uint32_t r = 0; fits && r < truth->n_roles; r++) {
        struct bin *bins = make_bins(sim);

        fits = pack(bins, sim->n_nodes, &spec->roles[r], truth->roles[r].min);
        free(bins);
    }
    return fits;
}

static bool sum_fits(const struct sim *sim, const struct truth_job *truth)
{
    const struct job_spec *spec = sim->submissions[truth->submission].spec;
    struct bin all = { 0 };
    struct bin need = { 0 };

    for (uint32_t i = 0; i < sim->n_nodes; i++) {
        const struct node_offer *offer = &sim->nodes[i]->offer;

        all.cpu_millicores += offer->cpu_millicores;
        all.memory_bytes += offer->memory_bytes;
        all.gpus += offer->gpus;
        all.ports += (uint32_t)offer->port_last - offer->port_first + 1;
    }
    for (uint32_t r = 0; r < truth->n_roles; r++) {
        need.cpu_millicores += truth->roles[r].min * spec->roles[r].cpu_millicores;
        need.memory_bytes += truth->roles[r].min * spec->roles[r].memory_bytes;
        need.gpus += truth->roles[r].min * spec->roles[r].gpus;
        need.ports += truth->roles[r].min * spec->roles[r].n_ports;
    }
    return need.cpu_millicores <= all.cpu_millicores && need.memory_bytes <= all.memory_bytes &&
           need.gpus <= all.gpus && need.ports <= all.ports;
}

/* Which numbers of two roles the machines so far can hold: a row for each of the first. */
struct mixes {
    bool *possible; /* owned */
    uint32_t n[2];  /* that are wanted */
};

/* The machine more: whoever goes there goes beside what those before hold. */
static void add_mixes(struct mixes *mixes, const struct bin *empty, const struct role_spec *roles)
{
    size_t width = mixes->n[1] + 1;
    bool *before = mixes->possible;
    struct bin bin = *empty;

    mixes->possible = xcalloc((mixes->n[0] + 1) * width, sizeof *before);
    for (uint32_t a = 0; a <= mixes->n[0]; a++) {
        struct bin beside = bin;

        for (uint32_t b = 0; b <= mixes->n[1]; b++) {
            for (size_t x = a; x <= mixes->n[0]; x++)
                for (size_t y = b; y <= mixes->n[1]; y++)
                    if (before[(x - a) * width + y - b])
                        mixes->possible[x * width + y] = true;
            if (!takes(&beside, &roles[1]))
                break;
            put(&beside, &roles[1]);
        }
        if (!takes(&bin, &roles[0]))
            break;
        put(&bin, &roles[0]);
    }
    free(before);
}

/* Every way to mix them on the machines is looked at. */
static bool pair_fits(const struct sim *sim, const struct truth_job *truth)
{
    const struct job_spec *spec = sim->submissions[truth->submission].spec;
    struct mixes mixes = { .n = { truth->roles[0].min, truth->roles[1].min } };
    size_t n = ((size_t)mixes.n[0] + 1) * (mixes.n[1] + 1);
    struct bin *bins = make_bins(sim);
    bool fits;

    mixes.possible = xcalloc(n, sizeof *mixes.possible);
    mixes.possible[0] = true;
    for (uint32_t i = 0; i < sim->n_nodes; i++)
        add_mixes(&mixes, &bins[i], spec->roles);
    fits = mixes.possible[n - 1];
    free(mixes.possible);
    free(bins);
    return fits;
}

static bool is_pinned(const struct sim *sim, const struct truth_job *truth)
{
    const struct job_spec *spec = sim->submissions[truth->submission].spec;

    for (uint32_t r = 0; r < truth->n_roles; r++)
        if (spec->roles[r].nodes != NULL)
            return true;
    return false;
}

/* What has one node goes there first; of two roles one at most is left, and first fit finds what
 * there is. */
static bool pins_fit(const struct sim *sim, const struct truth_job *truth)
{
    const struct job_spec *spec = sim->submissions[truth->submission].spec;
    struct bin *bins = make_bins(sim);
    bool fits = true;

    for (int pinned = 1; pinned >= 0; pinned--)
        for (uint32_t r = 0; fits && r < truth->n_roles; r++)
            if ((spec->roles[r].nodes != NULL) == pinned)
                fits = pack(bins, sim->n_nodes, &spec->roles[r], truth->roles[r].min);
    free(bins);
    return fits;
}

bool check_may_wait(const struct sim *sim, const struct truth_job *truth)
{
    const struct job *job;

    if (truth->state != JOB_QUEUED)
        return false;
    if (!each_fits_alone(sim, truth) || !sum_fits(sim, truth))
        return true;
    if (is_pinned(sim, truth) && truth->n_roles <= 2)
        return !pins_fit(sim, truth);
    if (truth->n_roles == 1)
        return false; /* of one size first fit finds what there is */
    if (truth->n_roles == 2 && sim->n_nodes <= PAIR_NODES_MAX)
        return !pair_fits(sim, truth);
    /* More sizes, and two of them on many nodes, are packed by rules of thumb: one that finds no
     * place where another rule would is believed, one that says "never" is not. */
    job = cluster_job(sim->server->cluster, truth->id);
    return job != NULL && job->cause == CAUSE_GANG_NOT_PACKED;
}

/* No task of a pass was trained, and each failed as often as it may, counting one that its holder
 * had when it ended. */
static bool trained_nothing(const struct truth_job *truth)
{
    uint32_t pass = truth->passes_ended;

    if (truth->n_tasks == 0 || pass >= truth->passes)
        return false;
    for (uint32_t i = 0; i < truth->n_tasks; i++) {
        struct truth_task task = truth->tasks[(size_t)pass * truth->n_tasks + i];

        task.failures += task.held;
        task.deaths += task.held;
        if (task.accepted != 0 || !ledger_may_discard(&task))
            return false;
    }
    return true;
}

static bool has_finished(const struct truth_job *truth)
{
    for (uint64_t i = 0; i < truth->n_processes; i++)
        if (truth->processes[i].finished)
            return true;
    return false;
}

/* One role at least has failed wherever it was started, and never ran for long. A scheduler that
 * was away may have seen only the end of a long run, and a restart forgets what agents told of it.
 */
static bool fails_at_once(const struct sim *sim, const struct truth_job *truth)
{
    const struct job_spec *spec = sim->submissions[truth->submission].spec;

    bool was_away = sim->seen[SIM_SEEN_SCHEDULER_CRASHES] > 0;

    if (spec->tries_at_once == 0 || truth->records_accepted + truth->records_lost > 0)
        return false;
    for (uint32_t r = 0; r < truth->n_roles; r++)
        for (uint32_t i = 0; i < truth->roles[r].n_slots; i++)
            if (truth->roles[r].slots[i].failures >= spec->tries_at_once &&
                (was_away || truth->roles[r].longest_us < AT_ONCE_US + HEARD_LATE_US))
                return true;
    return false;
}

/* More failures of one process than its job bears; of one that bears none, a single one. */
static bool may_have_failed(const struct sim *sim, const struct truth_job *truth)
{
    const struct job_spec *spec = sim->submissions[truth->submission].spec;
    bool finished = false;
    bool lost = false; /* or ended by its agent, which leaves */

    if (trained_nothing(truth) || (!has_finished(truth) && fails_at_once(sim, truth)))
        return true;
    for (uint64_t i = 0; i < truth->n_processes; i++) {
        const struct truth_process *known = &truth->processes[i];

        finished = finished || known->finished;
        lost = lost || known->end == END_TOLD || known->state == PROCESS_LOST;
    }
    /* what others did with success is not done again */
    if (!spec->fault_tolerant && finished && lost)
        return true;
    for (uint32_t r = 0; r < truth->n_roles; r++)
        for (uint32_t i = 0; i < truth->roles[r].n_slots; i++)
            if (truth->roles[r].slots[i].failures > (spec->fault_tolerant ? spec->restart_max : 0))
                return true;
    return false;
}

void check_failed(struct sim *sim, const struct truth_job *truth)
{
    const struct job_spec *spec = sim->submissions[truth->submission].spec;

    sim->seen[SIM_SEEN_AT_ONCE] += truth->state == JOB_FAILED && fails_at_once(sim, truth);
    sim->seen[SIM_SEEN_TRAINED_NOTHING] += truth->state == JOB_FAILED && trained_nothing(truth);
    if (truth->state == JOB_FAILED && !may_have_failed(sim, truth))
        violate(sim, "failed",
                "job %s failed, but no process of it failed more than %u times (%sfault tolerant)",
                truth->name, spec->fault_tolerant ? spec->restart_max : 0,
                spec->fault_tolerant ? "" : "not ");
}

/* --- who goes on without those that failed --- */

/* Its agent ends it of its own accord, which is reported, as failures are: it may have been before
 * them. */
static bool is_stopped_by_agent(const struct sim *sim, const struct truth_job *truth,
                                uint64_t incarnation)
{
    const struct job *job = cluster_job(sim->server->cluster, truth->id);
    const struct process *process = NULL;

    if (job != NULL)
        DL_FOREACH2(job->processes, process, job_next)
        {
            if (process->incarnation == incarnation)
                return process->cause == CAUSE_AGENT_STOPS;
        }
    return false;
}

/* On record as running before this commit, and neither gone nor asked to end by an earlier one: it
 * was at work when the job was failed, for plans come behind what is reported. */
static bool was_at_work(const struct sim *sim, const struct truth_job *truth, uint64_t incarnation)
{
    const struct truth_process *known = &truth->processes[incarnation];
    uint64_t commit = sim->commits;

    if (!known->exists || known->running_commit == 0 || known->running_commit == commit)
        return false;
    return known->state == PROCESS_RUNNING ||
           (known->state == PROCESS_STOPPING && known->stop_commit == commit &&
            !is_stopped_by_agent(sim, truth, incarnation));
}

static bool others_work(const struct sim *sim, const struct truth_job *truth, uint32_t role)
{
    for (uint64_t i = 0; i < truth->n_processes; i++)
        if (truth->processes[i].role == role && was_at_work(sim, truth, i))
            return true;
    return false;
}

static uint32_t count_given_up(const struct truth_role *role, uint32_t restart_max)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < role->n_slots; i++)
        n += role->slots[i].failures > restart_max;
    return n;
}

/* Other bounds that just came leave open by which it was decided. */
static bool has_new_bounds(const struct sim *sim, const struct truth_job *truth)
{
    for (uint32_t r = 0; r < truth->n_roles; r++)
        if (sim->now_us < truth->roles[r].max_before_until_us)
            return true;
    return false;
}

/* The number of those that are given up is at most the truth's: failures that the scheduler never
 * heard of, or has forgotten since, count here. Once somebody has finished, only a task queue gives
 * others what was to be done. */
static bool goes_on(const struct sim *sim, const struct truth_job *truth, uint32_t r)
{
    const struct job_spec *spec = sim->submissions[truth->submission].spec;
    const struct truth_role *role = &truth->roles[r];
    uint32_t n = count_given_up(role, spec->restart_max);

    if (n == 0)
        return true;
    if (truth->n_roles > 1 && streq(role->name, "pserver"))
        return false;
    return n <= role->max - role->min && others_work(sim, truth, r) &&
           (truth->has_data || !has_finished(truth));
}

void check_given_up(struct sim *sim, const struct truth_job *truth)
{
    bool all = sim->submissions[truth->submission].spec->fault_tolerant;

    if (!all || has_new_bounds(sim, truth))
        return;
    sim->seen[SIM_SEEN_FAILED]++;
    for (uint32_t r = 0; all && r < truth->n_roles; r++)
        all = goes_on(sim, truth, r);
    if (all)
        violate(sim, "failed",
                "job %s is failed, though others are at work and the places left are enough",
                truth->name);
}

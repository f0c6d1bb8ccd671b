/* SPDX-License-Identifier: Apache-2.0 */
/* ledger.c - the commits, and the facts that must then be true for ever
 *
 * The ledger learns from effects at the end of their commit and from answers that reached their
 * caller. It never asks the core what it believes. A change that the core took and a crash undid is
 * dropped with the turn. */
#include <inttypes.h>
#include <utlist.h>

#include "scheduler/core/core.h"
#include "scheduler/core/model/job_roles.h"
#include "simulator/internal.h"
#include "simulator/check_limits.h"

#define OLD_BOUNDS_US (90 * USEC_PER_SEC) /* beside the lease: for orders and graces under way */
#define DATA_LATE_US (60 * USEC_PER_SEC)

struct truth_job *ledger_job(const struct sim *sim, uint64_t id)
{
    return id < sim->ledger.n_jobs ? sim->ledger.jobs[id] : NULL;
}

static void grow_slots(struct truth_role *role, uint32_t n)
{
    if (n <= role->n_slots)
        return;
    role->slots = xreallocarray(role->slots, n, sizeof *role->slots);
    memset(&role->slots[role->n_slots], 0, (n - role->n_slots) * sizeof *role->slots);
    role->n_slots = n;
}

static struct truth_job *truth_job_new(struct ledger *ledger, uint64_t id)
{
    struct truth_job *truth = xcalloc(1, sizeof *truth);

    if (id >= ledger->n_jobs) {
        ledger->jobs = xreallocarray(ledger->jobs, id + 16, sizeof *ledger->jobs);
        memset(&ledger->jobs[ledger->n_jobs], 0, (id + 16 - ledger->n_jobs) * sizeof *ledger->jobs);
        ledger->n_jobs = id + 16;
    }
    truth->id = id;
    truth->started_us = truth->ended_us = NEVER_US;
    ledger->jobs[id] = truth;
    return truth;
}

static struct truth_job *truth_job_free(struct truth_job *truth)
{
    for (uint32_t r = 0; r < truth->n_roles; r++)
        free(truth->roles[r].slots);
    free(truth->processes);
    free(truth->tasks);
    free(truth);
    return NULL;
}

struct truth_job *ledger_job_made(struct sim *sim, const struct job *job, uint32_t submission)
{
    const struct submission *made = &sim->submissions[submission];
    struct truth_job *truth = ledger_job(sim, job->id);

    if (leading_deposed(sim))
        return truth; /* whatever it says of itself is never stored */
    if (truth != NULL) {
        violate(sim, "incarnation", "job number %" PRIu64 " is given to %s and was %s's", job->id,
                job->spec->name, truth->name);
        return truth;
    }
    truth = truth_job_new(&sim->ledger, job->id);
    truth->submission = submission;
    truth->made_run = sim->server->run;
    (void)snprintf(truth->name, sizeof truth->name, "%s", job->spec->name);
    truth->priority = made->spec->priority;
    truth->n_roles = (uint32_t)made->spec->n_roles;
    for (uint32_t r = 0; r < truth->n_roles; r++) {
        struct truth_role *role = &truth->roles[r];

        (void)snprintf(role->name, sizeof role->name, "%s", made->spec->roles[r].name);
        role->min = made->spec->roles[r].min;
        role->max = role->max_before = made->spec->roles[r].max;
        role->short_since_us = sim->now_us;
        grow_slots(role, role->max);
    }
    truth->passes = job_spec_passes(made->spec);
    truth->n_tasks = made->work.kind == SIM_WORK_TASKS ? made->work.tasks : 0;
    truth->records_per_task = made->work.records_per_task;
    truth->damaged_each = made->work.damaged_each;
    truth->tasks = xcalloc((size_t)truth->passes * truth->n_tasks, sizeof *truth->tasks);
    return truth;
}

/* --- what waits for the commit --- */

static struct pending *pend(struct sim *sim, enum pending_kind kind, const struct job *job)
{
    struct pendings *list = &sim->server->pendings;
    struct pending *pending;

    if (list->n == list->cap) {
        list->cap = list->cap ? 2 * list->cap : 16;
        list->items = xreallocarray(list->items, list->cap, sizeof *list->items);
    }
    pending = &list->items[list->n++];
    *pending =
        (struct pending){ .kind = kind, .job = job != NULL ? ledger_job(sim, job->id) : NULL };
    return pending;
}

void ledger_task_leased(struct sim *sim, const struct job *job, const struct task *task,
                        uint64_t holder)
{
    struct pending *pending = pend(sim, PENDING_LEASE, job);

    pending->ref = (struct task_ref){ task->id, task_queue_pass(job->queue), task->lease, 0 };
    pending->holder = holder;
    pending->at_us = sim->now_us;
}

void ledger_task_ended(struct sim *sim, enum pending_kind kind, const struct job *job,
                       const struct task_ref *ref, uint64_t holder)
{
    struct pending *pending = pend(sim, kind, job);

    pending->ref = *ref;
    pending->holder = holder;
}

void ledger_saver(struct sim *sim, enum pending_kind kind, const struct job *job, uint64_t holder)
{
    pend(sim, kind, job)->holder = holder;
}

void ledger_killed(struct sim *sim, const struct job *job)
{
    (void)pend(sim, PENDING_KILL, job);
}

void ledger_scaled(struct sim *sim, const struct job *job, uint32_t op)
{
    pend(sim, PENDING_SCALE, job)->op = op;
}

void ledger_prioritised(struct sim *sim, const struct job *job, uint32_t op)
{
    pend(sim, PENDING_PRIORITISE, job)->op = op;
}

void ledger_node_told(struct sim *sim, uint32_t op)
{
    pend(sim, PENDING_NODE, NULL)->op = op;
}

/* What was started by the bounds of before may be there for a while. */
static void set_bounds(const struct sim *sim, struct truth_role *role, uint32_t min, uint32_t max)
{
    role->max_before =
        sim->now_us < role->max_before_until_us ? MAX_OF(role->max_before, role->max) : role->max;
    role->max_before_until_us =
        sim->now_us + sim->config.lease_us + sim->config.lease_margin_us + OLD_BOUNDS_US;
    role->min = min;
    role->max = max;
    role->short_since_us = sim->now_us;
    grow_slots(role, role->max);
}

static void apply_scale(struct sim *sim, const struct pending *pending)
{
    const struct operation *op = &sim->operations[pending->op];

    for (uint32_t r = 0; r < pending->job->n_roles; r++) {
        struct truth_role *role = &pending->job->roles[r];

        if (!streq(role->name, op->role))
            continue;
        set_bounds(sim, role, op->min, op->max);
    }
}

static void apply_priority(struct sim *sim, const struct pending *pending)
{
    pending->job->priority = sim->operations[pending->op].priority;
    sim->seen[SIM_SEEN_PRIORITIES]++;
}

static void apply_kill(struct sim *sim, const struct pending *pending)
{
    if (pending->job->killed)
        return;
    pending->job->killed = true;
    pending->job->killed_us = sim->now_us;
}

/* A node that joins after its removal is a new one, which takes processes. */
static void apply_node(struct sim *sim, const struct pending *pending)
{
    const struct operation *op = &sim->operations[pending->op];

    sim->nodes[op->node]->wanted = op->kind == CALL_NODE_STATE ? op->state : NODE_READY;
    sim->seen[SIM_SEEN_CORDONS] += sim->nodes[op->node]->wanted != NODE_READY;
}

/* What processes say of tasks is looked at when it is known which of them have ended. */
static void apply_pending(struct sim *sim, bool of_tasks)
{
    static void (*const apply[])(struct sim *, const struct pending *) = {
        [PENDING_SCALE] = apply_scale,
        [PENDING_PRIORITISE] = apply_priority,
        [PENDING_NODE] = apply_node,
        [PENDING_KILL] = apply_kill,
    };
    const struct pendings *list = &sim->server->pendings;

    for (size_t i = 0; i < list->n; i++) {
        const struct pending *pending = &list->items[i];

        if (of_tasks && pending->kind >= PENDING_LEASE)
            ledger_apply_task(sim, pending);
        else if (!of_tasks && pending->kind < PENDING_LEASE)
            apply[pending->kind](sim, pending);
    }
}

/* --- what was committed --- */

static struct truth_process *truth_process(struct truth_job *truth, uint64_t incarnation)
{
    if (incarnation >= truth->n_processes) {
        uint64_t n = MAX_OF(2 * truth->n_processes, incarnation + 8);

        truth->processes = xreallocarray(truth->processes, n, sizeof *truth->processes);
        memset(&truth->processes[truth->n_processes], 0,
               (n - truth->n_processes) * sizeof *truth->processes);
        truth->n_processes = n;
    }
    return &truth->processes[incarnation];
}

/* It was said to be lost, on a node that was here all the time. */
static void check_lost(struct sim *sim, const struct truth_job *truth,
                       const struct truth_process *known, const struct process *process)
{

    const struct sim_node *real = known->node < sim->n_nodes ? sim->nodes[known->node] : NULL;
    const struct node *node = cluster_node(sim->server->cluster, process->node_name);

    if (real == NULL || node == NULL || node->state == NODE_LOST || !known->began ||
        known->start_failure != 0 ||         /* placed anew, and no failure of its job */
        real->lost_commit == sim->commits || /* lost and back within one turn */
        known->boot != real->boots || (known->end != END_NONE && known->end != END_ITSELF))
        return;
    violate(sim, "end-forgotten",
            "job %s: incarnation %" PRIu64 " is said to be lost on %s (%s), but %s", truth->name,
            process->incarnation, real->name, process->reason,
            known->end == END_ITSELF ? "it ended by itself and its end is forgotten"
                                     : "it is there");
}

/* How fast it is on one type of GPU beside another. */
static bool knows_types(const struct sim *sim, const struct job *job)
{
    struct job_gpu_type types[GPU_TYPES_MAX];
    size_t n = cluster_job_gpu_types(sim->server->cluster, job, types);
    uint32_t known = 0;

    for (size_t i = 0; i < n; i++)
        known += types[i].speed > 0;
    return known > 1;
}

/* A node whose every message comes in time is not called lost, whatever the scheduler goes through.
 */
static void check_excuse(struct sim *sim, const struct sim_node *node)
{
    bool is_lossy = sim->config.loss_ppm > 0 || sim->config.tail_ppm > 0 || sim->loss_ppm > 0;

    if (sim->config.mutant == SIM_MUTANT_START_GRANTS ||
        sim->config.mutant == SIM_MUTANT_START_FLOOR_SHORT)
        return; /* it is to show what comes of that */
    if (!is_lossy && sim->now_us > node->excused_until_us)
        violate(sim, "lease", "%s is called lost, and nothing kept it from reporting", node->name);
}

/* It has its state on no node, as its document tells, and had a turn since the last time. The
 * scheduler's clock and ours may differ by the time of a turn. */
static void check_parked(struct sim *sim, struct truth_job *truth)
{
    const struct job_spec *spec;

    if (truth == NULL || truth->submission == NOBODY)
        return;
    spec = sim->submissions[truth->submission].spec;
    if (spec->parking == JOB_PARKING_NEVER || spec->keep_cut_off ||
        spec->mode == JOB_MODE_SERVICE ||
        (spec->checkpoint_path == NULL ? !spec->fault_tolerant || spec_servers(spec) >= 0
                                       : spec->checkpoint_period_us == 0))
        violate(sim, "parked", "job %s is parked, and could not go on later", truth->name);
    if (truth->parked_us != 0 &&
        sim->now_us - truth->parked_us < sim->config.parking_us - sim->config.parking_us / 8)
        violate(sim, "parked", "job %s is parked again after %.3f s", truth->name,
                (double)(sim->now_us - truth->parked_us) / USEC_PER_SEC);
    truth->parked_us = sim->now_us;
    sim->seen[SIM_SEEN_PARKED]++;
}

static void commit_event(struct sim *sim, const struct effect *effect)
{
    const struct node *node;

    TRACE(sim, "  %s %s%s%s: %s", effect->event, effect->job != NULL ? effect->job->spec->name : "",
          effect->name[0] != '\0' ? " on " : "", effect->name, effect->text);
    sim->seen[SIM_SEEN_QUARANTINES] += streq(effect->event, "node-quarantined");
    sim->seen[SIM_SEEN_RESIZES] += streq(effect->event, "job-resizing");
    sim->seen[SIM_SEEN_BACKLOGS] += streq(effect->event, "job-resizing") && effect->job != NULL &&
                                    job_wanted_by_backlog(effect->job) > 0;
    sim->seen[SIM_SEEN_TYPES_KNOWN] +=
        streq(effect->event, "job-resizing") && knows_types(sim, effect->job);
    sim->seen[SIM_SEEN_EXCHANGED] += streq(effect->event, "process-exchanged");
    sim->seen[SIM_SEEN_STRAGGLERS_MOVED] += streq(effect->event, "process-moved");
    sim->seen[SIM_SEEN_SERVERS_CHOSEN] +=
        streq(effect->event, "pservers-chosen") &&
        effect->job->spec->roles[0].min > effect->job->servers_min; /* they stand first */
    sim->seen[SIM_SEEN_GIVEN_UP] += streq(effect->event, "process-given-up");
    if (streq(effect->event, "job-parked"))
        check_parked(sim, ledger_job(sim, effect->job->id));
    if (streq(effect->event, "job-queued")) { /* it may have left the queue since, in one turn */
        struct truth_job *truth = ledger_job(sim, effect->job->id);

        if (truth != NULL)
            truth->gang_complete = false; /* it held nothing, and starts as a whole */
    }
    node = effect->job == NULL && *effect->name != '\0'
               ? cluster_node(sim->server->cluster, effect->name)
               : NULL;
    if (node != NULL)
        sim->nodes[sim_node_number(node)]->told_us = sim->now_us;
    if (!streq(effect->event, "node-lost"))
        return;
    sim->seen[SIM_SEEN_NODES_LOST]++;
    node = cluster_node(sim->server->cluster, effect->name);
    if (node != NULL)
        check_excuse(sim, sim->nodes[sim_node_number(node)]);
    if (node != NULL) /* not removed in the same turn */
        sim->nodes[sim_node_number(node)]->lost_commit = sim->commits;
}

/* It is given to a node that was to take nothing when this was decided. */
static void check_cordon(struct sim *sim, const struct truth_job *truth,
                         const struct truth_process *known)
{
    const struct sim_node *node = known->node < sim->n_nodes ? sim->nodes[known->node] : NULL;

    if (node != NULL && node->wanted != NODE_READY)
        violate(sim, "cordon", "job %s: %s-%u is put on %s, which is %s", truth->name,
                truth->roles[known->role].name, known->index, node->name,
                node_state_to_string(node->wanted));
}

static void commit_process(struct sim *sim, const struct process *process)
{
    struct truth_job *truth = ledger_job(sim, process->job->id);
    struct truth_process *known;

    if (truth == NULL)
        return;
    known = truth_process(truth, process->incarnation);
    if (!known->exists) {
        known->exists = true;
        known->first_commit = sim->commits;
        known->role = process->role;
        known->index = process->index;
        known->node = process->node != NULL ? sim_node_number(process->node) : NOBODY;
        grow_slots(&truth->roles[process->role], process->index + 1);
        sim->ledger.size++;
        check_cordon(sim, truth, known);
    } else if (known->role != process->role || known->index != process->index ||
               (process_state_is_final(known->state) && known->state != process->state) ||
               (process->node != NULL && known->node != sim_node_number(process->node))) {
        violate(sim, "incarnation-reused", "job %s: incarnation %" PRIu64 " is given twice",
                truth->name, process->incarnation);
    }
    if (process->state == PROCESS_LOST && known->state != PROCESS_LOST)
        check_lost(sim, truth, known, process);
    if (process->state == PROCESS_STOPPING && known->state != PROCESS_STOPPING) {
        known->stop_commit = truth->stop_commit = sim->commits;
        known->unheard_of = known->state == PROCESS_ASSIGNED;
    }
    if ((process->state == PROCESS_EXITED ||
         (process->state == PROCESS_LOST && known->start_failure != 0)) &&
        known->state != process->state) {
        known->heard_us = sim->now_us;
        known->heard_by = sim->server->run;
    }
    if (process_state_is_final(process->state) && known->ended_us == 0)
        known->ended_us = sim->now_us;
    if (process->state == PROCESS_RUNNING && known->running_commit == 0)
        known->running_commit = sim->commits;
    known->state = process->state;
}

/* As many parameter servers as were chosen: within what was asked for, and from when the job ran
 * for good. What was asked to stop may be one of more. */
static void follow_servers(struct sim *sim, struct truth_job *truth, const struct job *job)
{
    const struct role_spec *asked = &sim->submissions[truth->submission].spec->roles[0];
    const struct role_spec *chosen = &job->spec->roles[0];
    struct truth_role *role = &truth->roles[0];

    if (truth->n_roles < 2 || !streq(role->name, "pserver") || asked->min == asked->max ||
        (chosen->min == role->min && chosen->max == role->max))
        return;
    if (truth->ran)
        violate(sim, "servers", "job %s ran with %u to %u parameter servers and has %u to %u",
                truth->name, role->min, role->max, chosen->min, chosen->max);
    if (chosen->min == chosen->max && (chosen->min < asked->min || chosen->min > asked->max))
        violate(sim, "servers", "job %s has %u parameter servers and asked for %u to %u",
                truth->name, chosen->min, asked->min, asked->max);
    set_bounds(sim, role, chosen->min, chosen->max);
}

static void look_at_gang(struct truth_job *truth)
{
    uint32_t n[JOB_ROLES_MAX] = { 0 };

    if (truth->gang_complete)
        return;
    for (uint64_t i = 0; i < truth->n_processes; i++)
        if (truth->processes[i].exists && !process_state_is_final(truth->processes[i].state))
            n[truth->processes[i].role]++;
    for (uint32_t r = 0; r < truth->n_roles; r++)
        if (n[r] < truth->roles[r].min)
            return;
    truth->gang_complete = true;
}

/* Of each end there is one notice, in the very commit that ends the job, and of nothing else. */
static void check_notice(struct sim *sim, const struct truth_job *truth, const struct job *job)
{
    uint32_t due = job->spec->notify != NULL && job_state_is_final(job->state);

    if (truth->n_notices != due)
        violate(sim, "notice", "job %s is %s, and so often its end was told: %u", truth->name,
                job_state_to_string(job->state), truth->n_notices);
}

static void commit_job(struct sim *sim, const struct job *job)
{
    struct truth_job *truth = ledger_job(sim, job->id);

    if (truth == NULL)
        return;
    if (!truth->exists)
        sim->ledger.size += 4 + truth->n_tasks;
    truth->exists = true;
    if (truth->submission != NOBODY)
        follow_servers(sim, truth, job);
    truth->ran = truth->ran || job->started_wall_us != 0;
    if (job_state_is_final(truth->state) && truth->state != job->state)
        violate(sim, "replay", "job %s was %s and is %s", truth->name,
                job_state_to_string(truth->state), job_state_to_string(job->state));
    if (truth->killed && job->state != JOB_KILLED && job->state != JOB_STOPPING)
        violate(sim, "killed", "job %s was killed and is %s (%s)", truth->name,
                job_state_to_string(job->state), job->reason_code);
    if (truth->state < JOB_STOPPING && job->state >= JOB_STOPPING &&
        job->cause == CAUSE_PROCESS_FAILED && !truth->killed)
        check_given_up(sim, truth);
    if (truth->state < JOB_STOPPING && job->state >= JOB_STOPPING)
        ledger_units_stop(sim, truth);
    truth->state = job->state;
    truth->resizes = job->resizes;
    if (job_state_is_final(job->state) && truth->ended_us == NEVER_US)
        truth->ended_us = sim->now_us;
    if (!job_state_is_final(job->state) && (*job->reason == '\0' || *job->reason_code == '\0'))
        violate(sim, "reason", "job %s is %s without a reason", truth->name,
                job_state_to_string(job->state));
    if (job->state == JOB_SUCCEEDED)
        ledger_check_records(sim, truth, job);
    check_failed(sim, truth);
    check_notice(sim, truth, job);
}

static void note_data(struct sim *sim, struct truth_job *truth)
{
    truth->has_data = true;
    sim->seen[SIM_SEEN_DATA_LATE] +=
        truth->started_us != NEVER_US && sim->now_us - truth->started_us >= DATA_LATE_US;
}

/* Only what is over and was told so may leave the core, and once. */
static void commit_archived(struct sim *sim, uint64_t id)
{
    struct truth_job *truth = ledger_job(sim, id);

    if (truth == NULL || !truth->exists || !job_state_is_final(truth->state) || truth->archived)
        violate(sim, "archived", "job %" PRIu64 " is archived and was not over", id);
    else
        truth->archived = true;
    sim->seen[SIM_SEEN_ARCHIVED]++;
}

void ledger_committed(struct sim *sim, const struct effect *effects, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (effects[i].kind == EFFECT_EVENT)
            commit_event(sim, &effects[i]);
        else if (effects[i].kind == EFFECT_NOTICE && ledger_job(sim, effects[i].job->id) != NULL)
            ledger_job(sim, effects[i].job->id)->n_notices++;
    apply_pending(sim, false);
    for (size_t i = 0; i < n; i++)
        if (effects[i].kind == EFFECT_SAVE_PROCESS)
            commit_process(sim, effects[i].process);
        else if (effects[i].kind == EFFECT_ARCHIVE_JOB)
            commit_archived(sim, effects[i].id);
    apply_pending(sim, true);
    sim->server->pendings.n = 0;
    for (size_t i = 0; i < n; i++) {
        if (effect_saves_job(&effects[i])) {
            commit_job(sim, effects[i].job);
            look_at_gang(ledger_job(sim, effects[i].job->id));
        } else if (effects[i].kind == EFFECT_SAVE_DATASET) {
            note_data(sim, ledger_job(sim, effects[i].job->id));
        } else if (effects[i].kind == EFFECT_SAVE_TASKS) {
            ledger_check_records(sim, ledger_job(sim, effects[i].job->id), effects[i].job);
        }
    }
    for (size_t i = 0; i < n; i++) {
        const struct truth_job *truth =
            effect_saves_job(&effects[i]) ? ledger_job(sim, effects[i].job->id) : NULL;

        if (truth != NULL && truth->stop_commit == sim->commits)
            ledger_stops_committed(sim, truth);
    }
    if (sim->config.groups && !sim->server->regrouped) {
        check_lent(sim, effects, n);
        check_limits(sim, effects, n);
    }
}

static void drop_made(struct sim *sim, uint64_t run, bool all)
{
    struct ledger *ledger = &sim->ledger;

    for (uint64_t id = 0; id < ledger->n_jobs; id++)
        if (ledger->jobs[id] != NULL && !ledger->jobs[id]->exists &&
            (all || ledger->jobs[id]->made_run == run))
            ledger->jobs[id] = truth_job_free(ledger->jobs[id]);
}

void ledger_dropped(struct sim *sim, uint64_t run)
{
    drop_made(sim, run, false);
}

void ledger_drop_all(struct sim *sim)
{
    drop_made(sim, 0, true);
}

/* What was not on disk has never been; a turn on its way to a database may be there yet. */
void ledger_crashed(struct sim *sim)
{
    sim->server->pendings.n = 0;
    if (role_is_alone(&sim->server->leading))
        ledger_drop_all(sim);
}

void ledger_acknowledged(struct sim *sim, const struct operation *op)
{
    struct truth_job *truth =
        op->submission != NOBODY ? ledger_job(sim, sim->submissions[op->submission].job_id) : NULL;

    if (op->kind == CALL_SUBMIT && (truth == NULL || !truth->exists))
        violate(sim, "durable", "%s was acknowledged and is not on disk",
                sim->submissions[op->submission].name);
    sim->seen[SIM_SEEN_KILLS] += op->kind == CALL_KILL;
    if (op->kind == CALL_KILL && truth != NULL)
        truth->kill_acknowledged = true;
}

/* --- after a restart: the state is what was committed, no more and no less --- */

static void check_restored_job(struct sim *sim, const struct truth_job *truth,
                               const struct job *job)
{
    const struct process *process;
    uint64_t n = 0;
    uint64_t known = 0;

    if (job->state != truth->state)
        violate(sim, "restart", "after a restart job %s is %s, committed was %s", truth->name,
                job_state_to_string(job->state), job_state_to_string(truth->state));
    DL_FOREACH2(job->processes, process, job_next)
    {
        n++;
        if (process->incarnation >= truth->n_processes ||
            !truth->processes[process->incarnation].exists ||
            truth->processes[process->incarnation].state != process->state)
            violate(sim, "restart",
                    "after a restart job %s has incarnation %" PRIu64 " as it was never committed",
                    truth->name, process->incarnation);
    }
    for (uint64_t i = 0; i < truth->n_processes; i++)
        known += truth->processes[i].exists;
    if (n != known)
        violate(sim, "restart",
                "after a restart job %s has %" PRIu64 " processes, committed were %" PRIu64,
                truth->name, n, known);
    for (uint32_t r = 0; r < truth->n_roles; r++)
        if (job->spec->roles[r].min != truth->roles[r].min ||
            job->spec->roles[r].max != truth->roles[r].max)
            violate(sim, "restart", "after a restart job %s has other bounds than acknowledged",
                    truth->name);
    if (job->queue != NULL &&
        (task_queue_counts(job->queue).records_total != truth->records_accepted ||
         task_queue_counts(job->queue).records_lost_total != truth->records_lost))
        violate(sim, "restart", "after a restart job %s counts other records than committed",
                truth->name);
}

/* What the core has let go of is kept as it was. */
static void check_archive(struct sim *sim)
{
    struct cluster_config config = *cluster_config(sim->server->cluster);
    struct cluster *archive = cluster_new(&config);
    struct edl_error error = { 0 };

    if (memory_store_load_archived(sim->store, archive, server_instant(sim), &error) < 0)
        violate(sim, "archived", "an archived record cannot be read: %s", error.text);
    for (uint64_t id = 0; id < sim->ledger.n_jobs; id++) {
        const struct truth_job *truth = sim->ledger.jobs[id];
        const struct job *job = cluster_job(archive, id);

        if ((truth != NULL && truth->archived) != (job != NULL))
            violate(sim, "archived", "job %" PRIu64 " is %sin the archive", id,
                    job != NULL ? "" : "not ");
        else if (job != NULL)
            check_restored_job(sim, truth, job);
    }
    (void)cluster_free(archive);
}

void ledger_restored(struct sim *sim)
{
    const struct job *job;

    check_archive(sim);
    for (job = cluster_jobs(sim->server->cluster); job != NULL; job = job->hh.next)
        if (ledger_job(sim, job->id) == NULL)
            violate(sim, "restart", "after a restart there is job %s, which was never committed",
                    job->spec->name);
    for (uint64_t id = 0; id < sim->ledger.n_jobs; id++) {
        const struct truth_job *truth = sim->ledger.jobs[id];

        if (truth == NULL || !truth->exists)
            continue;
        job = cluster_job(sim->server->cluster, id);
        if (truth->archived != (job == NULL))
            violate(sim, "restart", "job %s was %s and is %s after a restart", truth->name,
                    truth->archived ? "archived" : "committed", job == NULL ? "gone" : "there");
        else if (job != NULL)
            check_restored_job(sim, truth, job);
    }
    for (uint32_t i = 0; i < sim->n_submissions; i++) {
        const struct truth_job *truth = ledger_job(sim, sim->submissions[i].job_id);

        if (sim->submissions[i].job_id != 0 && (truth == NULL || !truth->archived) &&
            cluster_job(sim->server->cluster, sim->submissions[i].job_id) == NULL)
            violate(sim, "durable", "%s was acknowledged and is gone after a restart",
                    sim->submissions[i].name);
    }
}

void ledger_done(struct sim *sim)
{
    for (uint64_t id = 0; id < sim->ledger.n_jobs; id++)
        if (sim->ledger.jobs[id] != NULL) {
            struct message *waiter;
            struct message *next;

            for (uint32_t i = 0; i < SIM_SCHEDULERS_MAX; i++)
                DL_FOREACH_SAFE(sim->ledger.jobs[id]->waiters[i], waiter, next)
            (void)message_free(sim, waiter);
            (void)truth_job_free(sim->ledger.jobs[id]);
        }
    free(sim->ledger.jobs);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_world.c - a cluster core with pretended agents around it */
#include "tests/unit/cluster_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>
#include <utlist.h>

#include "scheduler/core/core.h"
#include "scheduler/core/model/cluster_config.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/owner_limits.h"
#include "scheduler/core/plan/acts.h"
#include "scheduler/core/record/compare.h"
#include "shared/error.h"
#include "shared/macro.h"

#define LEASE_US (20 * USEC_PER_SEC)
#define SILENT_AFTER_S 70 /* a minute, and some time to start */

#define REPEAT_ONE_IN 8
#define REPEAT_FIRST 20

const struct policy *world_policy = &policy_fulfilment;

static struct cluster_config config(uint32_t load_permille)
{
    return (struct cluster_config){ .policy = world_policy,
                                    .max_load_permille = load_permille,
                                    .lease_us = LEASE_US,
                                    .lease_margin_us = 5 * USEC_PER_SEC };
}

static void commit_to_memory(void *userdata, const struct effect *effects, size_t n)
{
    memory_store_commit(userdata, effects, n);
}

static int load_from_memory(void *userdata, struct cluster *cluster, struct instant now,
                            struct edl_error *error)
{
    return memory_store_load(userdata, cluster, now, error);
}

struct world *world_new(size_t n_nodes, uint64_t cpu_millicores, uint64_t memory_bytes,
                        uint32_t load_permille)
{
    struct world *world = xcalloc(1, sizeof *world);
    struct cluster_config cfg = config(load_permille);

    world->now =
        (struct instant){ .now_us = 1000 * USEC_PER_SEC, .wall_us = 1700000000 * USEC_PER_SEC };
    world->cluster = cluster_new(&cfg);
    world->user = "ann";
    world->store = memory_store_new();
    world->disk = (struct world_disk){ commit_to_memory, load_from_memory, world->store };
    world->n_agents = n_nodes;
    for (size_t i = 0; i < n_nodes; i++) {
        struct fake_agent *agent = &world->agents[i];
        struct node *node;

        (void)snprintf(agent->name, sizeof agent->name, "node-%zu", i);
        agent->offer = (struct node_offer){ .address = "127.0.0.1",
                                            .cpu_millicores = cpu_millicores,
                                            .memory_bytes = memory_bytes,
                                            .port_first = 20000,
                                            .port_last = 20099 };
        assert_int_equal(cluster_join_node(world->cluster, agent->name, "hash", &agent->offer,
                                           world->now, &node, NULL),
                         0);
        world_turn(world, i);
    }
    return world;
}

struct world *world_free(struct world *world)
{
    for (size_t i = 0; i < world->n_agents; i++)
        free(world->agents[i].items);
    (void)cluster_free(world->cluster);
    (void)memory_store_free(world->store);
    free(world);
    return NULL;
}

/* xorshift64*; reproducible from the printed seed */
uint64_t world_random(struct world *world, uint64_t below)
{
    world->seed ^= world->seed >> 12;
    world->seed ^= world->seed << 25;
    world->seed ^= world->seed >> 27;
    return (world->seed * UINT64_C(2685821657736338717) >> 11) % below;
}

static void check_slots(const struct world *world)
{
    for (size_t a = 0; a < world->n_agents; a++)
        for (size_t i = 0; i < world->agents[a].n; i++) {
            const struct fake_process *p = &world->agents[a].items[i];

            for (size_t b = a; p->state != PROCESS_EXITED && b < world->n_agents; b++)
                for (size_t j = b == a ? i + 1 : 0; j < world->agents[b].n; j++) {
                    const struct fake_process *q = &world->agents[b].items[j];

                    if (q->state != PROCESS_EXITED && p->job_id == q->job_id &&
                        p->index == q->index && streq(p->role, q->role))
                        fail_msg("two incarnations of job %llu %s-%u can act",
                                 (unsigned long long)p->job_id, p->role, p->index);
                }
        }
}

struct cluster *world_load(const struct world *world)
{
    struct cluster_config cfg = world->cluster->config;
    struct edl_error error = { 0 };
    struct cluster *cluster;

    cfg.policy = world_policy; /* which may be another one than before */
    cluster = cluster_new(&cfg);

    if (world->disk.load(world->disk.userdata, cluster, world->now, &error) < 0)
        fail_msg("%s", error.text);
    cluster_restored(cluster, world->now);
    return cluster;
}

static bool replay_is_due(const struct world *world)
{
    uint64_t every = world->replay_every;

    if (every == 0) /* ended jobs are loaded as well, and pile up */
        every = 1 + HASH_CNT(hh, world->cluster->jobs) / 8;
    return world->n_commits % every == 0;
}

void world_commit(struct world *world)
{
    struct edl_error error = { 0 };
    struct cluster *replay;
    size_t n;
    const struct effect *effects = cluster_effects(world->cluster, &n);

    world->disk.commit(world->disk.userdata, effects, n);
    cluster_effects_clear(world->cluster);
    world->n_commits++;
    if (!replay_is_due(world))
        return;
    replay = world_load(world);
    if (cluster_compare(world->cluster, replay, &error) < 0)
        fail_msg("what was committed is not what is there: %s", error.text);
    (void)cluster_free(replay);
}

void world_check(struct world *world)
{
    struct edl_error error = { 0 };

    world->n_checks++;
    if (cluster_check(world->cluster, &error) < 0)
        fail_msg("%s", error.text);
    for (size_t a = 0; a < world->n_agents; a++) {
        uint64_t held = 0;

        for (size_t i = 0; i < world->agents[a].n; i++)
            if (world->agents[a].items[i].state != PROCESS_EXITED)
                held += world->agents[a].items[i].cpu_millicores;
        if (held > world->agents[a].offer.cpu_millicores)
            fail_msg("%s holds %llum", world->agents[a].name, (unsigned long long)held);
    }
    for (size_t a = 0; a < world->n_agents; a++)
        if (world->agents[a].keeps)
            return; /* such an agent breaks the rule by itself */
    check_slots(world);
}

/* What no store keeps. */
static void assert_same_orders(const struct cluster *a, const struct cluster *b)
{
    const struct job *job;

    DL_FOREACH2(a->active, job, active_next)
    {
        const struct job *other = cluster_job(b, job->id);

        if (job->gives != other->gives || job->exchange.with != other->exchange.with ||
            job->waits_for_room != other->waits_for_room || job->filed != other->filed)
            fail_msg("job %s gives %u and %u, waits for room %d and %d", job->spec->name,
                     job->gives, other->gives, job->waits_for_room, other->waits_for_room);
    }
}

/* The acts of a plan are all that it does. */
static void plan_and_repeat(struct world *world)
{
    struct edl_error error = { 0 };
    struct cluster *copy;
    const struct act *acts;
    size_t n;
    char text[400];

    copy = cluster_clone(world->cluster, world->now);
    if (cluster_plan(world->cluster, world->now)) {
        acts = cluster_acts(world->cluster, &n);
        for (size_t i = 0; i < n; i++)
            if (!act_apply(copy, &acts[i], world->now))
                fail_msg("a copy cannot do it: %s",
                         act_describe(copy, &acts[i], text, sizeof text));
        if (cluster_compare(world->cluster, copy, &error) < 0)
            fail_msg("a plan did something beside its acts: %s", error.text);
        assert_same_orders(world->cluster, copy);
    }
    (void)cluster_free(copy);
}

/* Not where time does something by itself meanwhile. A copy costs more than a plan, so only the
 * first ones of a world that is no storm are all repeated. */
static bool is_repeated(struct world *world)
{
    uint64_t first = world->seed == 0 ? REPEAT_FIRST : 0, n = world->n_plans++;

    return cluster_next_deadline_us(world->cluster) > world->now.now_us &&
           (n < first || n % REPEAT_ONE_IN == 0);
}

/* One of its jobs was started or grew. Repairs, moves and drains may exceed a limit for a moment.
 */
static bool was_granted(const struct world *world, uint32_t owner)
{
    size_t n;
    const struct act *acts = cluster_acts(world->cluster, &n);

    for (size_t i = 0; i < n; i++) {
        const struct job *job = cluster_job(world->cluster, acts[i].job);
        struct job_owners owners;

        if (job == NULL || !(acts[i].kind == ACT_START ||
                             (acts[i].kind == ACT_SIZE && acts[i].resize == RESIZE_GROWN)))
            continue;
        owners = job_owners(world->cluster, job);
        for (uint32_t o = 0; o < owners.n; o++)
            if (owners.index[o] == owner)
                return true;
    }
    return false;
}

static void check_limits(struct world *world, const struct resources *before)
{
    size_t n;
    struct resources *now = owner_sums(world->cluster, &n), over;

    for (uint32_t i = 0; i < n; i++) {
        const struct owner *owner = group_table_owner(world->cluster->config.groups, i);

        if (owner_is_over(owner, &now[i], &over) && was_granted(world, i) &&
            ((over.cpu_millicores > 0 && now[i].cpu_millicores > before[i].cpu_millicores) ||
             (over.gpus > 0 && now[i].gpus > before[i].gpus)))
            fail_msg("a plan lets the jobs of %s hold %lldm and %lld GPUs, beyond the limit",
                     owner->name, (long long)now[i].cpu_millicores, (long long)now[i].gpus);
    }
    free(now);
}

void world_plan(struct world *world)
{
    size_t n;
    struct resources *before = owner_sums(world->cluster, &n);

    world_check(world);
    if (is_repeated(world))
        plan_and_repeat(world);
    else
        cluster_plan(world->cluster, world->now);
    check_limits(world, before);
    free(before);
    world_check(world);
    world_commit(world);
}

void world_replan(struct world *world)
{
    const struct effect *effects;
    size_t n;

    world_plan(world);
    cluster_replan(world->cluster, world->now);
    world_check(world);
    effects = cluster_effects(world->cluster, &n);
    for (size_t i = 0; i < n; i++)
        if (effects[i].kind == EFFECT_EVENT || effect_saves_job(&effects[i]))
            fail_msg("a full plan changes what a plan left: %s %s (%s: %s)", effects[i].event,
                     effects[i].text,
                     effects[i].job != NULL ? effects[i].job->spec->name : effects[i].name,
                     effects[i].job != NULL ? effects[i].job->reason : "");
    cluster_effects_clear(world->cluster);
}

static bool is_ordered(const struct process *process, const struct fake_process *fake)
{
    return process->job->id == fake->job_id && process->incarnation == fake->incarnation;
}

static struct fake_process *find_fake(struct fake_agent *agent, const struct process *process)
{
    for (size_t i = 0; i < agent->n; i++)
        if (is_ordered(process, &agent->items[i]))
            return &agent->items[i];
    return NULL;
}

static uint32_t linger(struct world *world)
{
    return world->max_linger == 0 ? 0 : (uint32_t)world_random(world, world->max_linger + 1);
}

static bool refuses(const struct fake_agent *agent, const struct process *process)
{
    return (agent->unfit != UNFIT_NOT || agent->start_fault != START_FAULT_NONE) &&
           agent->unfit_one_in != 0 && process->job->id % agent->unfit_one_in == 0 &&
           (agent->unfit_roles == 0 || (agent->unfit_roles >> process->role & 1) != 0);
}

static void order(struct world *world, struct fake_agent *agent, const struct process *process)
{
    struct fake_process *fake = find_fake(agent, process);
    const struct role_spec *role = &process->job->spec->roles[process->role];

    if (fake == NULL) {
        if (agent->n == agent->cap) {
            agent->cap = agent->cap ? 2 * agent->cap : 16;
            agent->items = xreallocarray(agent->items, agent->cap, sizeof *agent->items);
        }
        fake = &agent->items[agent->n++];
        *fake = (struct fake_process){ .job_id = process->job->id,
                                       .incarnation = process->incarnation,
                                       .role_index = process->role,
                                       .index = process->index,
                                       .state = process->stop_wanted ? PROCESS_EXITED
                                                                     : PROCESS_PREPARING,
                                       .exit_code = -1,
                                       .reason = process->stop_wanted ? "never started" : NULL,
                                       .cpu_millicores = role->cpu_millicores,
                                       .linger = linger(world) };
        (void)snprintf(fake->role, sizeof fake->role, "%s", role->name);
        if (!process->stop_wanted && refuses(agent, process)) {
            fake->state = PROCESS_EXITED;
            fake->exit_code = 127;
            fake->reason = agent->unfit_says != NULL ? agent->unfit_says : "it cannot run here";
            fake->unfit = agent->unfit;
            fake->start_fault = agent->start_fault;
        }
    } else if (process->stop_wanted && fake->state < PROCESS_STOPPING) {
        fake->state = PROCESS_STOPPING;
        fake->linger = linger(world);
    }
}

static void progress(struct fake_process *fake)
{
    if (fake->state == PROCESS_EXITED)
        return;
    if (fake->linger > 0) {
        fake->linger--;
    } else if (fake->state == PROCESS_PREPARING) {
        fake->state = PROCESS_RUNNING;
    } else if (fake->state == PROCESS_STOPPING && !fake->hangs) {
        fake->state = PROCESS_EXITED;
        fake->exit_code = 143;
    }
}

/* What orders do not list is stopped, and forgotten once it is gone. */
static void obey(struct world *world, struct fake_agent *agent)
{
    const struct node *node = cluster_node(world->cluster, agent->name);
    const struct process *process;
    size_t kept = 0;

    for (size_t i = 0; i < agent->n; i++) {
        struct fake_process fake = agent->items[i];
        bool listed = false;

        DL_FOREACH2(node->processes, process, node_next)
        listed = listed || is_ordered(process, &fake);
        if (!listed && fake.state == PROCESS_EXITED)
            continue;
        if (!listed)
            fake.state = PROCESS_STOPPING;
        agent->items[kept++] = fake;
    }
    agent->n = kept;
    DL_FOREACH2(node->processes, process, node_next)
    order(world, agent, process);
}

static void report(struct world *world, struct fake_agent *agent)
{
    struct process_report *items = xcalloc(agent->n, sizeof *items);
    struct node_report node_report = { .offer = agent->offer,
                                       .foreign_cpu_millicores = agent->foreign_cpu_millicores,
                                       .gpus_foreign = agent->gpus_foreign,
                                       .ports_foreign = agent->ports_foreign,
                                       .n_ports_foreign = agent->n_ports_foreign,
                                       .gpus_idle = agent->gpus_idle,
                                       .disk_full = agent->disk_full,
                                       .processes = items,
                                       .n_processes = agent->n,
                                       .complete = true };
    bool failed = false;
    char boot_id[16];

    for (size_t i = 0; i < agent->n; i++) {
        struct fake_process *fake = &agent->items[i];

        if (fake->state == PROCESS_RUNNING && fake->started_us == 0)
            fake->started_us = world->now.now_us;
        items[i] = (struct process_report){ .job_id = fake->job_id,
                                            .role = fake->role,
                                            .index = fake->index,
                                            .incarnation = fake->incarnation,
                                            .state = fake->state,
                                            .pid = 100 + (int64_t)fake->incarnation,
                                            .ran_us = fake->started_us != 0
                                                          ? world->now.now_us - fake->started_us
                                                          : 0,
                                            .cpu_used_us = fake->cpu_used_us,
                                            .frozen_us = fake->frozen_us,
                                            .error = fake->error,
                                            .error_before_us = fake->error_before_us,
                                            .steps = fake->steps,
                                            .backlog = fake->backlog,
                                            .exit_code = fake->exit_code,
                                            .exit_signal = fake->exit_signal,
                                            .cause = fake->cause,
                                            .reason = fake->reason,
                                            .unfit = fake->unfit,
                                            .start_fault = fake->start_fault };
        items[i].steps.age_us = world->now.now_us - fake->steps_us;
        failed = failed || fake->start_fault != START_FAULT_NONE;
    }
    if (failed || agent->start_fault == START_FAULT_NONE) {
        node_report.set_aside = agent->set_aside;
        node_report.set_aside_number = agent->set_aside_number;
        agent->set_aside = NULL;
    }
    (void)snprintf(boot_id, sizeof boot_id, "boot-%u", agent->boot);
    node_report.boot_id = boot_id;
    agent->last_contact_us = world->now.now_us;
    assert_int_equal(cluster_report(world->cluster, cluster_node(world->cluster, agent->name),
                                    &node_report, world->now, NULL),
                     0);
    free(items);
}

static void carry_out(struct world *world, struct fake_agent *a)
{
    if (a->silent || cluster_node(world->cluster, a->name) == NULL)
        return;
    if (a->reports_first) {
        a->reports_first = false;
        report(world, a);
    }
    obey(world, a);
    for (size_t i = 0; i < a->n; i++)
        progress(&a->items[i]);
    report(world, a);
}

void world_turn(struct world *world, size_t agent)
{
    carry_out(world, &world->agents[agent]);
    world_plan(world);
}

void world_second(struct world *world)
{
    world->now.now_us += USEC_PER_SEC;
    world->now.wall_us += USEC_PER_SEC;
    cluster_tick(world->cluster, world->now);
    for (size_t i = 0; i < world->n_agents; i++)
        carry_out(world, &world->agents[i]);
    world_plan(world);
}

void world_run(struct world *world, unsigned n)
{
    while (n-- > 0)
        for (size_t i = 0; i < world->n_agents; i++)
            world_turn(world, i);
}

void world_fall_silent(struct world *world)
{
    for (int s = 0; s < SILENT_AFTER_S; s++)
        world_second(world);
    world_run(world, 30);
}

void world_advance(struct world *world, uint64_t us)
{
    world->now.now_us += us;
    world->now.wall_us += us;
    for (size_t a = 0; a < world->n_agents; a++) {
        struct fake_agent *agent = &world->agents[a];

        if (agent->keeps || agent->last_contact_us + LEASE_US > world->now.now_us)
            continue;
        /* its lease ended: it stopped what it ran */
        agent->n = 0;
    }
    cluster_tick(world->cluster, world->now);
    world_plan(world);
}

void world_hang(struct world *world, const struct process *process, bool hangs)
{
    for (size_t a = 0; a < world->n_agents; a++) {
        struct fake_process *fake = find_fake(&world->agents[a], process);

        if (fake != NULL)
            fake->hangs = hangs;
    }
}

void world_says(struct world *world, const struct process *process, const char *error,
                uint64_t before_us)
{
    for (size_t a = 0; a < world->n_agents; a++) {
        struct fake_process *fake = find_fake(&world->agents[a], process);

        if (fake == NULL)
            continue;
        fake->error = error;
        fake->error_before_us = before_us;
    }
}

void world_exit(struct world *world, const struct process *process, int exit_code, int exit_signal)
{
    for (size_t a = 0; a < world->n_agents; a++) {
        struct fake_process *fake = find_fake(&world->agents[a], process);

        if (fake == NULL || fake->state == PROCESS_EXITED)
            continue;
        fake->state = PROCESS_EXITED;
        fake->exit_code = exit_code;
        fake->exit_signal = exit_signal;
    }
}

void world_restart(struct world *world)
{
    struct cluster *fresh = world_load(world);

    (void)cluster_free(world->cluster);
    world->cluster = fresh;
    world_plan(world);
}

struct job_spec *world_spec(const char *name, uint32_t min, uint32_t max, uint64_t cpu,
                            uint32_t pservers, uint64_t pserver_cpu)
{
    struct job_spec *spec = job_spec_new(JOB_ROLES_MAX);

    (void)snprintf(spec->name, sizeof spec->name, "%s", name);
    spec->fault_tolerant = true;
    spec->passes = 1;
    spec->restart_max = 10;
    spec->restart_backoff_us = USEC_PER_SEC;
    if (pservers > 0)
        spec->roles[spec->n_roles++] = (struct role_spec){ .name = "pserver",
                                                           .min = pservers,
                                                           .max = pservers,
                                                           .cpu_millicores = pserver_cpu,
                                                           .n_ports = 2 };
    spec->roles[spec->n_roles++] =
        (struct role_spec){ .name = "trainer", .min = min, .max = max, .cpu_millicores = cpu };
    return spec;
}

struct job_spec *world_command(struct job_spec *spec, const char *command)
{
    char **argv = xcalloc(2, sizeof *argv);

    argv[0] = xstrdup(command);
    for (char **arg = spec->roles[0].argv; arg != NULL && *arg != NULL; arg++)
        free(*arg);
    free(spec->roles[0].argv);
    spec->roles[0].argv = argv;
    return spec;
}

struct job *world_submit(struct world *world, struct job_spec *spec)
{
    uint8_t secret[JOB_SECRET_BYTES] = { [31] = 1 }; /* which it keeps to its end */
    struct job *job = NULL;

    assert_int_equal(cluster_submit(world->cluster, spec, world->user, world->now, &job, NULL), 0);
    secret[0] = (uint8_t)job->id;
    cluster_give_secret(world->cluster, job, secret);
    world_plan(world);
    return job;
}

uint32_t role_of(const struct job *job, const char *role)
{
    return (uint32_t)job_spec_role(job->spec, role);
}

struct process *world_live(const struct job *job, const char *role, uint32_t index)
{
    return job->slots[role_of(job, role)][index].live;
}

struct task_queue *world_queue(uint32_t n_tasks, uint32_t passes)
{
    const struct task_queue_config cfg = { .passes = passes,
                                           .failures_max = 3,
                                           .deaths_max = 5,
                                           .deaths_alone_max = 10,
                                           .lease_timeout_us = 60 * USEC_PER_SEC };
    struct task_queue *queue = task_queue_new(&cfg);

    for (uint32_t i = 0; i < n_tasks; i++) {
        const struct task_chunk chunk = { .path = "/data", .offset_bytes = i, .n_records = 10 };

        (void)task_queue_add(queue, &chunk, 1);
    }
    return queue;
}

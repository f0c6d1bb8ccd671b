/* SPDX-License-Identifier: Apache-2.0 */
/* faults.c - from a seed and a profile to a schedule */
#include "simulator/faults.h"

#include <errno.h>
#include <inttypes.h>

#include "scheduler/core/base/queue_rules.h"
#include "simulator/fault_profiles.h"
#include "shared/job_notify.h"

#define GIB (UINT64_C(1) << 30)
#define LABEL_DISK "disk"
#define DISKS 3 /* kinds of them */
#define FILLER_MAX 100
#define FILLER_CPU_MAX 500
/* after the last fault: a lease with its margin (40 s), boots, calls made again, and the rest
 * before what serves is killed (205 s), its grace (20 s) */
#define SLACK_US (325 * USEC_PER_SEC)
#define SLOWEST 5 /* times as slow as others */
#define GPU_KINDS 3
#define PROGRAMS 3
#define RESTART_US (30 * USEC_PER_SEC) /* back-off, start and what is done again, on average */

static uint64_t stream_of(uint64_t seed, const char *name, uint64_t number)
{
    const struct sim sim = { .config = { .seed = seed } };

    return stream(&sim, name, number, 0);
}

static uint64_t between(uint64_t *random, uint64_t low, uint64_t high)
{
    return low + random_below(random, high - low + 1);
}

/* --- jobs --- */

static void make_role(struct role_spec *role, const char *name, uint64_t *random)
{
    (void)snprintf(role->name, sizeof role->name, "%s", name);
    role->argv = xcalloc(2, sizeof(*role->argv));
    role->argv[0] = xstrdup("train");
    role->workspace = xstrdup("");
    role->min = role->max = (uint32_t)between(random, 1, 3);
    role->cpu_millicores = 100 * between(random, 1, 12);
    role->memory_bytes = GIB / 8 * between(random, 1, 8);
    role->n_ports = (uint32_t)random_below(random, 3);
}

static void make_work(struct sim_work *work, uint64_t *random)
{
    static const enum sim_work_kind kinds[] = { SIM_WORK_TASKS, SIM_WORK_TASKS, SIM_WORK_TASKS,
                                                SIM_WORK_LIFETIME, SIM_WORK_FOREVER };

    work->kind = kinds[random_below(random, ELEMENTS(kinds))];
    work->tasks = (uint32_t)between(random, 1, 40);
    work->records_per_task = (uint32_t)between(random, 1, 1000);
    /* not drawn: the same seeds go on making the same jobs */
    work->damaged_each = work->records_per_task % 3 == 0 ? 1 + work->tasks % 5 : 0;
    work->task_us = between(random, 100 * USEC_PER_MSEC, 8 * USEC_PER_SEC);
    work->speedup_permille = (uint32_t)between(random, 600, 1000);
    work->save_us = between(random, 0, 3 * USEC_PER_SEC);
    work->lifetime = (struct sim_range){ USEC_PER_SEC, between(random, 2, 120) * USEC_PER_SEC };
    work->start =
        (struct sim_range){ 5 * USEC_PER_MSEC, between(random, 10, 5000) * USEC_PER_MSEC };
    work->stop = (struct sim_range){ USEC_PER_MSEC, between(random, 10, 8000) * USEC_PER_MSEC };
    work->start_failure_ppm = random_below(random, 4) == 0 ? 50000 : 0;
    work->crash_ppm = random_below(random, 3) == 0 ? 10000 : 0;
    work->ignores_sigterm_ppm = random_below(random, 4) == 0 ? 300000 : 0;
}

/* What few jobs do; from streams of their own. */
static void spoil_work(struct sim_work *work, uint64_t seed, uint32_t number)
{
    uint64_t random = stream_of(seed, "start-failures", number);
    uint64_t task_random = stream_of(seed, "task-failures", number);
    uint64_t hang_random = stream_of(seed, "hangs", number);
    uint64_t data_random = stream_of(seed, "late-data", number);
    uint64_t useless_random = stream_of(seed, "useless-data", number);
    uint64_t steps_random = stream_of(seed, "steps", number);

    if (work->kind == SIM_WORK_LIFETIME && random_below(&steps_random, 2) == 0) {
        work->kind = SIM_WORK_STEPS;
        work->steps = (uint32_t)between(&steps_random, 5, 60);
        work->silent = random_below(&steps_random, 4) == 0;
    }
    if (random_below(&random, 12) == 0)
        work->start_failure_ppm = (uint32_t)between(&random, 100000, 600000);
    if (random_below(&task_random, 8) == 0)
        work->task_failure_ppm = (uint32_t)between(&task_random, 20000, 500000);
    if (random_below(&task_random, 12) == 0)
        work->bad_task_ppm = (uint32_t)between(&task_random, 10000, 300000);
    work->bad_tasks_crash = random_below(&task_random, 2) == 0;
    if (random_below(&useless_random, 32) == 0) /* nothing of its data can be read */
        work->bad_task_ppm = 1000000;
    if (random_below(&hang_random, 24) == 0)
        work->hang_ppm = (uint32_t)between(&hang_random, 20000, 300000);
    if (random_below(&data_random, 12) == 0) {
        work->prepare.min_us = between(&data_random, 30, 180) * USEC_PER_SEC;
        work->prepare.max_us = work->prepare.min_us + between(&data_random, 0, 120) * USEC_PER_SEC;
    }
}

static void label(struct labels *labels, const char *name, const char *prefix, uint64_t number)
{
    char value[LABEL_VALUE_MAX + 1];

    (void)snprintf(value, sizeof value, "%s%" PRIu64, prefix, number);
    (void)labels_set(labels, name, value, NULL);
}

static void want_disk(struct role_spec *role, uint64_t number)
{
    char value[LABEL_VALUE_MAX + 1];

    (void)snprintf(value, sizeof value, "d%" PRIu64, number);
    (void)role_select(role, LABEL_DISK, value, NULL);
}

/* One role in eight wants a disk of one kind, which may be nowhere. */
static void select_nodes(struct job_spec *spec, uint64_t random)
{
    for (size_t i = 0; i < spec->n_roles; i++)
        if (random_below(&random, 8) == 0)
            want_disk(&spec->roles[i], random_below(&random, DISKS));
}

static void make_family_role(struct role_spec *role, const char *name, uint32_t min, uint32_t max)
{
    (void)snprintf(role->name, sizeof role->name, "%s", name);
    role->argv = xcalloc(2, sizeof(*role->argv));
    role->argv[0] = xstrdup("train");
    role->workspace = xstrdup("");
    role->min = min;
    role->max = max;
    role->cpu_millicores = 200;
    role->memory_bytes = GIB / 8;
    role->n_ports = 1;
}

/* In one history of three most jobs are of one family, which learns how many parameter
 * servers are worth while; from streams of their own. */
static struct job_spec *job_of_family(uint64_t seed, uint32_t number, struct job_spec *spec,
                                      struct sim_work *work)
{
    uint64_t random = stream_of(seed, "server-jobs", number);
    uint64_t family = stream_of(seed, "server-family", 0);
    struct job_spec *made;

    if (random_below(&family, 3) != 0 || random_below(&random, 4) == 0)
        return spec;
    made = job_spec_new(2);
    (void)snprintf(made->name, sizeof made->name, "%s", spec->name);
    made->mode = spec->mode;
    made->priority = spec->priority;
    made->passes = spec->passes;
    made->grace_us = spec->grace_us;
    made->restart_max = spec->restart_max;
    made->tries_at_once = spec->tries_at_once;
    made->restart_backoff_us = spec->restart_backoff_us;
    made->fault_tolerant = true;
    made->n_roles = 2;
    make_family_role(&made->roles[0], "pserver", 1, 1 + (uint32_t)between(&random, 1, 5));
    make_family_role(&made->roles[1], "trainer", 1, 1 + (uint32_t)between(&random, 1, 8));
    (void)job_spec_free(spec);
    work->kind = SIM_WORK_TASKS;
    work->tasks = (uint32_t)between(&random, 200, 600);
    work->task_us = between(&random, 50, 250) * USEC_PER_MSEC;
    /* never much slower by more of them: how long a history may be is known before */
    work->step[0] = (double)between(&family, 60, 160);
    work->step[1] = (double)between(&family, 0, 50);
    work->step[2] = (double)between(&family, 0, 8);
    work->step[3] = (double)between(&family, 0, 2);
    work->step[4] = (double)between(&family, 0, 2);
    return made;
}

/* Most use GPUs, for long enough that it shows which are faster: of a few programs, each of which
 * is so on others. */
static void use_gpus(struct job_spec *spec, struct sim_work *work, uint64_t seed, uint32_t number)
{
    static const uint32_t speeds[] = { 4000, 2000, 1000, 1000, 400, 200 };
    struct role_spec *trainer = &spec->roles[spec->n_roles - 1];
    uint64_t random = stream_of(seed, "gpus", number);
    uint32_t program = (uint32_t)random_below(&random, PROGRAMS);

    trainer->gpus = random_below(&random, 5) != 0;
    if (trainer->gpus > 0 && spec->n_roles == 1)
        *trainer->argv[0] = (char)('a' + program);
    if (trainer->max > trainer->min)
        trainer->max += 4;
    trainer->cpu_millicores = 200;
    work->tasks += 400;
    work->task_us = MIN_OF(work->task_us, 2 * USEC_PER_SEC);
    work->n_gpu_speeds = GPU_KINDS;
    random = stream_of(seed, "gpu-program", program);
    for (uint32_t i = 0; i < GPU_KINDS; i++) {
        work->gpu_speeds[i].permille = speeds[random_below(&random, ELEMENTS(speeds))];
        (void)snprintf(work->gpu_speeds[i].type, sizeof work->gpu_speeds[i].type, "t%u", i);
    }
}

static struct job_spec *job_of_calm(uint64_t seed, const char *name, uint32_t number,
                                    struct sim_work *ret_work)
{
    uint64_t random = stream_of(seed, name, number);
    struct job_spec *spec = job_spec_new(1);

    (void)snprintf(spec->name, sizeof spec->name, "%s-%u", name, number);
    spec->mode = JOB_MODE_PSERVER;
    spec->passes = 1;
    spec->grace_us = USEC_PER_SEC;
    spec->restart_max = 8;
    spec->restart_backoff_us = USEC_PER_SEC;
    spec->fault_tolerant = true;
    make_role(&spec->roles[spec->n_roles++], "trainer", &random);
    *ret_work = (struct sim_work){ .kind = SIM_WORK_FOREVER,
                                   .start = { 5 * USEC_PER_MSEC, 500 * USEC_PER_MSEC },
                                   .stop = { USEC_PER_MSEC, 500 * USEC_PER_MSEC } };
    return spec;
}

/* One job in three is a service, whose load changes until the calm. */
static struct job_spec *make_service(const struct schedule *schedule, uint32_t number,
                                     struct job_spec *spec, struct sim_work *work)
{
    uint64_t random = stream_of(schedule->seed, "services", number);
    struct job_spec *made;

    if (random_below(&random, 3) != 0)
        return spec;
    made = job_of_calm(schedule->seed, "job", number, work);
    made->mode = JOB_MODE_SERVICE;
    made->restart_max = ROLE_INSTANCES_MAX; /* a fault of its node is no end of it */
    made->roles[0].min = 1;
    made->roles[0].max = (uint32_t)between(&random, 1, 8);
    made->roles[0].cpu_millicores = 100 * between(&random, 1, 5);
    (void)job_spec_free(spec);
    work->kind = SIM_WORK_SERVE;
    work->n_loads = (uint32_t)between(&random, 1, SIM_LOADS_MAX);
    for (uint32_t i = 0; i < work->n_loads; i++)
        work->loads[i] = (struct sim_load){ .at_us = schedule->calm_us * i / work->n_loads,
                                            .permille = (uint32_t)between(&random, 0, 9000) };
    return made;
}

void schedule_job(const struct schedule *schedule, uint32_t number, struct job_spec **ret_spec,
                  struct sim_work *ret_work)
{
    uint64_t seed = schedule->seed;
    uint64_t random = stream_of(seed, "job", number);
    struct job_spec *spec = job_spec_new(2);
    struct role_spec *trainer;

    *ret_work = (struct sim_work){ 0 };
    (void)snprintf(spec->name, sizeof spec->name, "job-%u", number);
    spec->mode = JOB_MODE_PSERVER;
    spec->priority = (int32_t)random_below(&random, 3);
    spec->passes = (uint32_t)between(&random, 1, 3);
    spec->grace_us = between(&random, 1, 20) * USEC_PER_SEC;
    spec->restart_max = (uint32_t)between(&random, 0, 8);
    spec->restart_backoff_us = between(&random, 100, 3000) * USEC_PER_MSEC;
    spec->fault_tolerant = random_below(&random, 5) != 0;
    if (random_below(&random, 3) == 0)
        make_role(&spec->roles[spec->n_roles++], "pserver", &random);
    *ret_spec = spec;
    trainer = &spec->roles[spec->n_roles++];
    make_role(trainer, "trainer", &random);
    if (spec->fault_tolerant && random_below(&random, 4) != 0)
        trainer->max = trainer->min + (uint32_t)random_below(&random, 9);
    if (random_below(&random, 5) == 0)
        trainer->gpus = (uint32_t)between(&random, 1, 2);
    make_work(ret_work, &random);
    select_nodes(spec, stream_of(seed, "selector", number));
    spoil_work(ret_work, seed, number);
    if (schedule->config.promises) /* in every second job */
        ret_work->hang_ppm = number % 2 * 100000;
    random = stream_of(seed, "useless-programs", number);
    spec->tries_at_once = random_below(&random, 3) == 0 ? 0 : (uint32_t)between(&random, 1, 4);
    ret_work->useless = random_below(&random, 32) == 0;
    random = stream_of(seed, "on-disconnect", number);
    spec->keep_cut_off = random_below(&random, 6) == 0;
    random = stream_of(seed, "parking", number);
    spec->parking = random_below(&random, 4) == 0 ? JOB_PARKING_NEVER : JOB_PARKING_ALLOWED;
    if (random_below(&random, 4) > 0) { /* where all nodes see it; the rest live in their tasks */
        spec->checkpoint_path = xstrdup("/shared");
        if (random_below(&random, 6) > 0) /* else nobody knows how often it is saved */
            spec->checkpoint_period_us = between(&random, 100, 2000) * USEC_PER_MSEC;
    }
    if (random_below(&random, 3) == 0)
        spec->expected_us = between(&random, 1, 60) * USEC_PER_SEC;
    if (schedule->services)
        *ret_spec = make_service(schedule, number, spec, ret_work);
    else if (schedule->types)
        use_gpus(spec, ret_work, seed, number);
    else
        *ret_spec = job_of_family(seed, number, spec, ret_work);
    (*ret_spec)->notify = xcalloc(1, sizeof *(*ret_spec)->notify);
    (*ret_spec)->notify->on = number % 3 == 0 ? NOTIFY_END : NOTIFY_END | NOTIFY_FAIL;
    if (schedule->pins)
        schedule_pin_roles(*ret_spec, schedule->n_nodes, stream_of(seed, "pins", number));
}

void schedule_filler(uint64_t seed, struct job_spec **ret_spec, struct sim_work *ret_work)
{
    struct job_spec *spec = job_of_calm(seed, "filler", 0, ret_work);
    struct role_spec *role = &spec->roles[0];

    role->min = 1;
    role->max = FILLER_MAX;
    role->cpu_millicores = MIN_OF(role->cpu_millicores, (uint64_t)FILLER_CPU_MAX);
    role->memory_bytes = GIB / 8;
    role->n_ports = 0;
    *ret_spec = spec;
}

void schedule_claim(uint64_t seed, uint32_t number, struct job_spec **ret_spec,
                    struct sim_work *ret_work)
{
    *ret_spec = job_of_calm(seed, "claim", number, ret_work);
}

/* --- the cluster --- */

/* Racks in most clusters, two kinds of disk in all; GPUs of one NUMA node beside each other. */
static void describe_nodes(struct schedule *schedule)
{
    uint64_t random = stream_of(schedule->seed, "labels", 0);
    uint64_t racks = random_below(&random, 4);

    for (uint32_t i = 0; i < schedule->n_nodes; i++) {
        struct node_offer *offer = &schedule->offers[i];

        if (racks > 0)
            label(&offer->labels, LABEL_RACK, "r", random_below(&random, racks));
        label(&offer->labels, LABEL_DISK, "d", random_below(&random, DISKS));
        offer->numa_nodes = (uint8_t)between(&random, 1, 2);
        for (uint32_t gpu = 0; gpu < offer->gpus; gpu++)
            offer->gpu_numa[gpu] = (uint8_t)(gpu * offer->numa_nodes / offer->gpus);
    }
}

static void make_nodes(struct schedule *schedule, uint64_t *random, uint32_t wanted)
{
    uint32_t n = random_below(random, 12) == 0 ? (uint32_t)between(random, 9, 24)
                                               : (uint32_t)between(random, 2, 8);

    schedule->n_nodes = wanted != 0 ? wanted : n;
    schedule->offers = xcalloc(schedule->n_nodes, sizeof *schedule->offers);
    for (uint32_t i = 0; i < schedule->n_nodes; i++) {
        struct node_offer *offer = &schedule->offers[i];

        offer->cpu_millicores = 1000 * between(random, 1, 8);
        offer->memory_bytes = GIB * between(random, 2, 16);
        offer->gpus = random_below(random, 3) == 0 ? (uint32_t)between(random, 1, 4) : 0;
        offer->port_first = 20000;
        offer->port_last = (uint16_t)between(random, 20003, 20040);
    }
    describe_nodes(schedule);
}

/* Three types, and those that do not say which they are. */
static void make_types(struct schedule *schedule)
{
    uint64_t random = stream_of(schedule->seed, "gpu-types", 0);

    for (uint32_t i = 0; i < schedule->n_nodes; i++) {
        struct node_offer *offer = &schedule->offers[i];
        uint64_t kind = random_below(&random, GPU_KINDS + 1);

        offer->gpus = (uint32_t)between(&random, 2, 8);
        if (kind < GPU_KINDS)
            label(&offer->labels, LABEL_GPU_TYPE, "t", kind);
        for (uint32_t gpu = 0; gpu < offer->gpus; gpu++)
            offer->gpu_numa[gpu] = (uint8_t)(gpu * offer->numa_nodes / offer->gpus);
    }
}

/* Most are alike, some are much slower, a few faster. */
static void make_speeds(struct schedule *schedule)
{
    static const uint32_t speeds[] = { 1000, 1000, 1000, 1000, 700, 400, 200, 2500 };
    uint64_t random = stream_of(schedule->seed, "speeds", 0);

    schedule->speeds = xcalloc(schedule->n_nodes, sizeof *schedule->speeds);
    for (uint32_t i = 0; i < schedule->n_nodes; i++)
        schedule->speeds[i] = speeds[random_below(&random, ELEMENTS(speeds))];
}

static void make_config(struct sim_config *config, const struct profile *profile, uint64_t *random)
{
    static const uint64_t leases_s[] = { 6, 10, 15, 20, 30 };
    static const uint64_t short_s[] = { 5, 5, 6, 8, 15 }; /* as long as a scheduler's are */
    uint64_t hold_random = stream_of(config->seed, "foreign-hold", 0);
    uint64_t keep_random = stream_of(config->seed, "keep-ended-jobs", 0);
    uint64_t away_random = stream_of(config->seed, "away", 0);
    uint64_t kill_random = stream_of(config->seed, "cut-off-kill", 0);
    uint64_t park_random = stream_of(config->seed, "parking", 0);

    config->schedulers = profile->two_schedulers ? 2 : 1;
    config->lease_us =
        (profile->two_schedulers ? short_s : leases_s)[random_below(random, ELEMENTS(leases_s))] *
        USEC_PER_SEC;
    /* as the scheduler derives it */
    config->lease_margin_us = MIN_OF(MAX_OF(config->lease_us / 4, USEC_PER_SEC), 10 * USEC_PER_SEC);
    config->heartbeat_us = MIN_OF(between(random, 500, 3000) * USEC_PER_MSEC, config->lease_us / 5);
    config->foreign_hold_us = between(&hold_random, 1, 20) * USEC_PER_SEC;
    config->parking_us = between(&park_random, 4, 30) * USEC_PER_SEC;
    config->keep_ended_jobs = between(&keep_random, 0, 4);
    config->max_load_permille = (uint32_t)between(random, 900, 1000);
    config->latency = (struct sim_range){ 100, between(random, 200, 20000) };
    config->commit = (struct sim_range){ 500, between(random, 1000, 30000) };
    config->thaw_late_ppm = profile->late_thaws ? 300000 : 0;
    if (random_below(&kill_random, 2) == 0)
        config->cut_off_kill_us = between(&kill_random, 10, 90) * USEC_PER_SEC;
    config->away_us = between(&away_random, 40, 150) * USEC_PER_SEC;
    config->groups = profile->groups;
    config->limits = profile->limits;
    config->promises = profile->promises;
    config->loss_ppm = profile->loss_ppm;
    config->duplicate_ppm = profile->duplicate_ppm;
    config->tail_ppm = profile->tail_ppm;
    config->tail_us = between(random, 100, 9000) * USEC_PER_MSEC;
}

/* --- faults --- */

/* Half of the loads take memory as well, up to all of it. */
static uint64_t foreign_memory(const struct schedule *schedule, uint32_t node, uint32_t number)
{
    uint64_t random = stream_of(schedule->seed, "foreign-memory", number);

    return random_below(&random, 2) == 0
               ? 0
               : random_below(&random, schedule->offers[node].memory_bytes + 1);
}

static void fill_fault(const struct schedule *schedule, struct script *fault, uint32_t number,
                       uint64_t *random)
{
    uint64_t lease_us = schedule->config.lease_us;

    fault->node = (uint32_t)random_below(random, schedule->n_nodes);
    /* half of them shorter than a lease, half of them longer */
    fault->for_us = random_below(random, 2) == 0 ? random_below(random, lease_us)
                                                 : between(random, lease_us, 3 * lease_us);
    fault->a = random_u64(random);
    switch (fault->kind) {
    case SCRIPT_CUT:
    case SCRIPT_CUT_CLIENTS:
        fault->a = between(random, 1, 3);
        break;
    case SCRIPT_SLOW:
        fault->a = between(random, 10, 4000) * USEC_PER_MSEC;
        break;
    case SCRIPT_LOSS:
        fault->a = between(random, 50000, 500000);
        break;
    case SCRIPT_AGENT_CRASH:
    case SCRIPT_SERVER_CRASH:
    case SCRIPT_SERVER_CRASH_IN_COMMIT:
    case SCRIPT_SERVER_CRASH_AFTER_COMMIT:
        if (random_below(random, 3) != 0)
            fault->for_us = between(random, 10, 3000) * USEC_PER_MSEC;
        break;
    case SCRIPT_SERVER_STOP:
        fault->for_us = between(random, 10, 120) * USEC_PER_SEC;
        fault->b = random_below(random, 3) == 0 ? 0 : between(random, 10, 200) * USEC_PER_SEC;
        break;
    case SCRIPT_WALL_JUMP:
        fault->a = between(random, 0, 7200) * USEC_PER_SEC - 3600 * USEC_PER_SEC;
        break;
    case SCRIPT_DISK_SLOW:
        fault->a = between(random, 10, 3000) * USEC_PER_MSEC;
        break;
    case SCRIPT_FOREIGN:
        fault->a = random_below(random, 3) == 0
                       ? 0
                       : random_below(random, schedule->offers[fault->node].cpu_millicores);
        fault->b = foreign_memory(schedule, fault->node, number);
        break;
    case SCRIPT_REBOOT_CHANGED:
        fault->a = between(random, 300, 1500);
        fault->b = between(random, 300, 1500);
        break;
    case SCRIPT_STARTS_FAIL: /* until people look */
        fault->for_us = schedule->calm_us;
        break;
    default:
        break;
    }
}

static struct entry make_fault(const struct schedule *schedule, const struct profile *profile,
                               uint32_t number)
{
    uint64_t random = stream_of(schedule->seed, "fault", number);
    struct entry entry = { .kind = ENTRY_FAULT };
    uint64_t sum = 0;
    uint64_t chosen;

    entry.at_us = random_below(&random, schedule->calm_us);
    for (size_t i = 0; i < _SCRIPT_MAX; i++)
        sum += profile->weights[i];
    chosen = random_below(&random, sum);
    for (size_t i = 0; i < _SCRIPT_MAX; chosen -= profile->weights[i++])
        if (chosen < profile->weights[i]) {
            entry.fault.kind = (enum script_kind)i;
            break;
        }
    fill_fault(schedule, &entry.fault, number, &random);
    random = stream_of(schedule->seed, "fault-lasts", number);
    if (profile->most_s > 0)
        entry.fault.for_us =
            between(&random, profile->least_s * USEC_PER_SEC, profile->most_s * USEC_PER_SEC);
    return entry;
}

static struct entry make_action(const struct schedule *schedule, uint32_t number, uint32_t n_jobs)
{
    static const enum node_state states[] = { NODE_READY, NODE_CORDONED, NODE_DRAINING };
    uint64_t random = stream_of(schedule->seed, "action", number);
    struct entry entry = { .at_us = random_below(&random, schedule->calm_us),
                           .job = (uint32_t)random_below(&random, n_jobs),
                           .node = (uint32_t)random_below(&random, schedule->n_nodes),
                           .min = (uint32_t)between(&random, 1, 4) };

    entry.max = entry.min + (uint32_t)random_below(&random, 6);
    entry.kind = (enum entry_kind)between(&random, ENTRY_KILL, ENTRY_NODE_REMOVE);
    entry.state = states[random_below(&random, ELEMENTS(states))];
    return entry;
}

static struct entry make_priority(const struct schedule *schedule, uint32_t number, uint32_t n_jobs)
{
    uint64_t random = stream_of(schedule->seed, "priority", number);

    return (struct entry){ .kind = ENTRY_PRIORITISE,
                           .at_us = random_below(&random, schedule->calm_us),
                           .job = (uint32_t)random_below(&random, n_jobs),
                           .priority = (int32_t)between(&random, 0, 6) - 2 };
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a;
    const struct entry *y = b;

    if (x->at_us != y->at_us)
        return x->at_us < y->at_us ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return (x->job > y->job) - (x->job < y->job);
}

static void make_entries(struct schedule *schedule, const struct profile *profile, uint64_t *random)
{
    uint32_t n_jobs = (uint32_t)between(random, 2, 4 + 2 * MIN_OF(schedule->n_nodes, 12U));
    uint32_t n_actions = (uint32_t)random_below(random, n_jobs + 2);
    uint64_t minutes = schedule->calm_us / (60 * USEC_PER_SEC) + 1;
    uint32_t n_faults = (uint32_t)random_below(random, 1 + 2 * minutes * profile->per_minute) +
                        (profile->per_minute > 0);
    uint64_t priorities = stream_of(schedule->seed, "priorities", 0);
    uint32_t n_priorities = (uint32_t)random_below(&priorities, n_jobs);
    uint64_t work_us = 0;

    schedule->entries =
        xcalloc(n_jobs + n_actions + n_faults + n_priorities, sizeof *schedule->entries);
    for (uint32_t i = 0; i < n_jobs; i++) {
        uint64_t own = stream_of(schedule->seed, "submit", i);
        struct job_spec *spec;
        struct sim_work work;

        schedule->entries[schedule->n_entries++] = (struct entry){
            .kind = ENTRY_SUBMIT, .at_us = random_below(&own, schedule->calm_us), .job = i
        };
        schedule_job(schedule, i, &spec, &work);
        work_us += spec->passes * work.tasks * work.task_us + 2 * work.lifetime.max_us +
                   spec->restart_max * RESTART_US + work.prepare.max_us +
                   (work.hang_ppm > 0 ? TASK_LEASE_TIMEOUT_US : 0);
        (void)job_spec_free(spec);
    }
    for (uint32_t i = 0; i < n_actions; i++)
        schedule->entries[schedule->n_entries++] = make_action(schedule, i, n_jobs);
    for (uint32_t i = 0; i < n_priorities; i++)
        schedule->entries[schedule->n_entries++] = make_priority(schedule, i, n_jobs);
    for (uint32_t i = 0; i < n_faults; i++)
        schedule->entries[schedule->n_entries++] = make_fault(schedule, profile, i);
    qsort(schedule->entries, schedule->n_entries, sizeof *schedule->entries, compare_entries);
    /* one job after the other, each with one process */
    if (profile->speeds || profile->types)
        work_us *= SLOWEST;
    schedule->end_us = schedule->calm_us + SLACK_US + work_us;
}

int schedule_make(const struct sim_run_options *options, uint64_t seed, struct schedule *ret,
                  struct edl_error *error)
{
    const char *name = options->profile != NULL ? options->profile : "mixed";
    uint64_t random = stream_of(seed, name, 0);
    const struct profile *profile = fault_profile(name);

    if (profile == NULL)
        return edl_error_set(error, -EINVAL, "there is no fault profile \"%s\"", name);
    *ret = (struct schedule){ .seed = seed };
    ret->config.seed = seed;
    ret->config.policy = options->policy;
    ret->config.mutant = options->mutant;
    make_config(&ret->config, profile, &random);
    ret->calm_us =
        options->duration_us != 0 ? options->duration_us : between(&random, 30, 300) * USEC_PER_SEC;
    make_nodes(ret, &random, options->nodes);
    if (profile->speeds)
        make_speeds(ret);
    ret->types = profile->types;
    ret->pins = profile->pins;
    ret->services = profile->services;
    if (profile->types)
        make_types(ret);
    make_entries(ret, profile, &random);
    return 0;
}

void schedule_done(struct schedule *schedule)
{
    free(schedule->offers);
    free(schedule->speeds);
    free(schedule->entries);
}

void schedule_describe(const struct schedule *schedule, const struct entry *entry, char *buffer,
                       size_t size)
{
    struct job_spec *spec;
    struct sim_work work;
    double at_s = (double)entry->at_us / 1e6;

    switch (entry->kind) {
    case ENTRY_SUBMIT:
        schedule_job(schedule, entry->job, &spec, &work);
        (void)snprintf(buffer, size,
                       "%9.3f submit job-%u: %zu roles, %u..%u of %s with %" PRIu64 "m", at_s,
                       entry->job, spec->n_roles, spec->roles[spec->n_roles - 1].min,
                       spec->roles[spec->n_roles - 1].max, spec->roles[spec->n_roles - 1].name,
                       spec->roles[spec->n_roles - 1].cpu_millicores);
        (void)job_spec_free(spec);
        break;
    case ENTRY_KILL:
        (void)snprintf(buffer, size, "%9.3f kill job-%u", at_s, entry->job);
        break;
    case ENTRY_SCALE:
        (void)snprintf(buffer, size, "%9.3f scale job-%u to %u..%u", at_s, entry->job, entry->min,
                       entry->max);
        break;
    case ENTRY_PRIORITISE:
        (void)snprintf(buffer, size, "%9.3f give job-%u priority %d", at_s, entry->job,
                       entry->priority);
        break;
    case ENTRY_NODE_STATE:
        (void)snprintf(buffer, size, "%9.3f node %u is set %s", at_s, entry->node,
                       node_state_to_string(entry->state));
        break;
    case ENTRY_NODE_REMOVE:
        (void)snprintf(buffer, size, "%9.3f node %u is removed", at_s, entry->node);
        break;
    case ENTRY_FAULT:
        (void)snprintf(buffer, size, "%9.3f %s, node %u, for %.3f s (%" PRId64 ")", at_s,
                       script_name(entry->fault.kind), entry->fault.node,
                       (double)entry->fault.for_us / 1e6, (int64_t)entry->fault.a);
        break;
    }
}

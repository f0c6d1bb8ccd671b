/* SPDX-License-Identifier: Apache-2.0 */
/* decide.c - what one decision costs: an event, and a plan, which looks at everything
 *
 * A cluster in memory through the core's own interface: nodes of two kinds (one in four has 8
 * GPUs), and jobs of a realistic mix (elastic and fixed, with and without parameter servers and
 * GPUs). There are far more of them than fit, so that most wait. Its agents do at once what they
 * are told. Then single events, as they are while plans pause, and the plan that each wants, timed
 * one by one, by the time of the processor. Their growth from the smallest to the largest size is
 * told as the exponent of the nodes: 0 means that size does not matter, 1 that it costs in
 * proportion.
 *
 * The mix asks for few different amounts, and the policy keeps jobs by their requests. So the
 * middle size is measured again with jobs of which hardly two ask for the same. With --servers half
 * of all jobs leave the number of their parameter servers open.
 *
 * Published decision times of others, for orders of magnitude only (other machines, other
 * problems): Pollux 2.2 s median, Sia 96 ms median at 64 GPUs (the latter's paper, SOSP 2023).
 *
 * Usage: decide [--json] [--nodes N --jobs N [--distinct] [--types N]] [--servers] [--rounds N]
 *        [--policy NAME]
 */
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <utlist.h>

#include "bench/samples.h"
#include "scheduler/core/check/spoil.h"
#include "scheduler/core/core.h"
#include "scheduler/core/learn/job_family.h"
#include "scheduler/core/learn/job_learned.h"
#include "scheduler/core/learn/take.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/facts.h"
#include "scheduler/core/model/job_servers.h"
#include "scheduler/core/speed/gpu_types.h"
#include "scheduler/core/speed/measure.h"
#include "scheduler/core/speed/servers.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/parse.h"
#include "shared/random.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
#define HEARTBEAT_US (2 * USEC_PER_SEC)
#define QUIET_ROUNDS_MAX 50
#define PROCESSES_MAX 512 /* on one node: bounded by its cores */

enum event {
    EVENT_HEARTBEAT,
    EVENT_MEASURED,
    EVENT_EXIT,
    EVENT_RUNNING,
    EVENT_SUBMIT,
    EVENT_JOB_END,
    EVENT_FOREIGN,
    EVENT_NODE_LOST,
    EVENTS
};

static const char *const event_names[] = {
    [EVENT_HEARTBEAT] = "heartbeat, no change",
    [EVENT_MEASURED] = "a job was measured",
    [EVENT_EXIT] = "process fails",
    [EVENT_RUNNING] = "process runs again",
    [EVENT_SUBMIT] = "submit, cluster full",
    [EVENT_JOB_END] = "job ends, another starts",
    [EVENT_FOREIGN] = "foreign load moves",
    [EVENT_NODE_LOST] = "node lost",
};

static const char *const event_keys[] = {
    [EVENT_HEARTBEAT] = "heartbeat",  [EVENT_MEASURED] = "job_measured",
    [EVENT_EXIT] = "process_fails",   [EVENT_RUNNING] = "process_runs",
    [EVENT_SUBMIT] = "submit",        [EVENT_JOB_END] = "job_ends",
    [EVENT_FOREIGN] = "foreign_load", [EVENT_NODE_LOST] = "node_lost",
};

struct bench {
    struct cluster *cluster;
    struct instant now;
    uint64_t seed;
    uint64_t n_jobs;
    bool distinct;              /* hardly two jobs ask for the same */
    bool servers;               /* many leave the number of their parameter servers open */
    uint64_t types, types_seed; /* of GPU, on which each job is as fast as is drawn; 0: no label */
    struct samples events[EVENTS], plans, copies;
};

static double now_us(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

/* --- the cluster --- */

static struct node_offer offer_of(size_t index, uint64_t types)
{
    bool gpus = index % 4 == 3;
    struct node_offer offer = { .address = "10.0.0.1",
                                .cpu_millicores = gpus ? 64000 : 32000,
                                .memory_bytes = (gpus ? 512 : 128) * GIB,
                                .gpus = gpus ? 8 : 0,
                                .port_first = 20000,
                                .port_last = 20999,
                                .numa_nodes = 2 };
    char type[32];

    (void)snprintf(type, sizeof type, "t%zu", types > 0 ? index / 4 % types : 0);
    if (types > 0)
        (void)labels_set(&offer.labels, LABEL_GPU_TYPE, type, NULL);
    return offer;
}

struct ways {
    const struct process *exits; /* with code 1 */
    uint64_t foreign_cpu_millicores;
};

/* What its agent says: all that was ordered runs, all that was to stop is gone. */
static void report(struct bench *b, struct node *node, const struct ways *ways)
{
    static struct process_report list[PROCESSES_MAX];
    struct node_report say = { .boot_id = "boot",
                               .offer = node->offer,
                               .foreign_cpu_millicores = ways->foreign_cpu_millicores,
                               .processes = list,
                               .complete = true };
    const struct process *process;
    size_t n = 0;

    DL_FOREACH2(node->processes, process, node_next)
    {
        bool gone = process->stop_wanted || process == ways->exits;

        if (n == PROCESSES_MAX)
            break;
        list[n++] = (struct process_report){
            .job_id = process->job->id,
            .role = process->job->spec->roles[process->role].name,
            .index = process->index,
            .incarnation = process->incarnation,
            .state = gone ? PROCESS_EXITED : PROCESS_RUNNING,
            .pid = (int64_t)process->incarnation,
            .exit_code = gone ? 1 : 0,
        };
    }
    say.n_processes = n;
    (void)cluster_report(b->cluster, node, &say, b->now, NULL);
}

static void plan(struct bench *b)
{
    cluster_plan(b->cluster, b->now);
    cluster_effects_clear(b->cluster);
}

static void advance(struct bench *b, uint64_t us)
{
    b->now.now_us += us;
    b->now.wall_us += us;
}

/* Everybody reports until nothing changes; returns how many rounds that took. */
static int settle(struct bench *b)
{
    for (int round = 1; round <= QUIET_ROUNDS_MAX; round++) {
        struct node *node;
        size_t n;

        advance(b, HEARTBEAT_US);
        cluster_tick(b->cluster, b->now);
        for (node = cluster_nodes(b->cluster); node != NULL; node = node->hh.next)
            report(b, node,
                   &(struct ways){ .foreign_cpu_millicores = node->foreign_cpu_millicores });
        cluster_plan(b->cluster, b->now);
        (void)cluster_effects(b->cluster, &n);
        cluster_effects_clear(b->cluster);
        if (n == 0)
            return round;
    }
    return QUIET_ROUNDS_MAX;
}

static struct job_spec *draw_spec(struct bench *b)
{
    static const uint64_t cpus[] = { 500, 1000, 2000, 4000 };
    struct job_spec *spec = job_spec_new(2);
    bool elastic = random_below(&b->seed, 3) > 0;
    uint32_t min = 1 + (uint32_t)random_below(&b->seed, 4);

    (void)snprintf(spec->name, sizeof spec->name, "job-%llu", (unsigned long long)++b->n_jobs);
    spec->fault_tolerant = true;
    spec->passes = 1;
    spec->restart_max = 1000000;
    spec->restart_backoff_us = USEC_PER_SEC;
    spec->priority = (int32_t)random_below(&b->seed, 3);
    spec->dataset = xstrdup("");
    if (random_below(&b->seed, b->servers ? 2 : 3) == 0)
        spec->roles[spec->n_roles++] = (struct role_spec){ .name = "pserver",
                                                           .min = b->servers ? 1 : 2,
                                                           .max = b->servers ? 16 : 2,
                                                           .cpu_millicores = 1000,
                                                           .memory_bytes = GIB,
                                                           .n_ports = 1 };
    spec->roles[spec->n_roles++] = (struct role_spec){
        .name = "trainer",
        .min = min,
        .max = elastic ? min + 1 + (uint32_t)random_below(&b->seed, 12) : min,
        .cpu_millicores = cpus[random_below(&b->seed, ELEMENTS(cpus))],
        .memory_bytes = GIB << random_below(&b->seed, 3),
        .gpus = random_below(&b->seed, 4) == 0 ? 1 : 0,
    };
    if (b->distinct) {
        spec->roles[spec->n_roles - 1].cpu_millicores += random_below(&b->seed, 500);
        spec->roles[spec->n_roles - 1].memory_bytes += MIB * random_below(&b->seed, 1024);
    }
    return spec;
}

static struct job *submit(struct bench *b)
{
    struct job_spec *spec = draw_spec(b);
    struct job *job = NULL;

    if (cluster_submit(b->cluster, spec, "bench", b->now, &job, NULL) < 0)
        (void)job_spec_free(spec);
    return job;
}

/* Its family is faster on some types of GPU than on others. */
static void teach_types(struct bench *b, struct job *job)
{
    struct gpu_speeds *speeds =
        goodput_family_types(taught_families(b->cluster), job->learned->family);
    double log_s[GPU_TYPES_MAX];

    for (uint64_t t = 1; t <= b->types; t++)
        log_s[t] = 3 * random_unit(&b->types_seed);
    gpu_speeds_current(speeds, taught_types(b->cluster), b->now.now_us);
    for (int round = 0; round < 2; round++)
        gpu_speeds_note(speeds, ((1U << b->types) - 1) << 1, log_s, NEVER_US);
    taught_types(b->cluster)->learnt = true;
    job_believe_types(b->cluster, job, b->now);
}

/* What its number of servers is known by, when it was chosen: the more trainers to each, the longer
 * their exchange. */
static void teach_servers(struct bench *b, struct job *job, double each_s)
{
    struct job_learned *learned = job->learned;
    struct goodput_learned seen = learned->of;

    for (uint32_t k = 1; k <= 16 && learned->program[0] != '\0'; k *= 2) {
        seen.instances = k;
        seen.measured_s = each_s / k + 0.1 * each_s * k / job_servers(job);
        goodput_servers_note(taught_families(b->cluster), learned->family, learned->program,
                             job_program(job), &seen);
    }
}

/* As if its tasks had told how fast it is and how much is left. */
static void teach(struct bench *b, struct job *job)
{
    double each_s = exp(3 * random_unit(&b->seed)), serial_s = 0.3 * each_s * random_unit(&b->seed);
    struct job_learned *learned;

    fact_of_job(b->cluster, FACT_JOB_BEGUN, job, b->now);
    learn_take(b->cluster);
    learned = job->learned;
    if (learned == NULL)
        return;
    for (uint32_t k = 1; k <= 16; k *= 2) {
        const struct goodput_pserver_report report = { k, 1, each_s / k + serial_s };

        (void)goodput_pserver_add(&learned->of.fit, &report);
        learned->of.windows++;
        learned->of.largest = k;
    }
    if (b->types > 1)
        teach_types(b, job);
    teach_servers(b, job, each_s);
    learned->told = learned->of;
    learned->units_done = 1000;
    learned->units_left = exp(4 + 8 * random_unit(&b->seed));
    learned->told_us = b->now.now_us;
    job_touch(b->cluster, job);
    cluster_want_plan(b->cluster);
}

static void teach_all(struct bench *b)
{
    struct job *job;

    DL_FOREACH2(cluster_active_jobs(b->cluster), job, active_next)
    teach(b, job);
    (void)settle(b);
}

struct size {
    size_t nodes, jobs, running, processes;
    bool distinct, servers;
    uint64_t types; /* of GPU; 0: nodes do not tell */
    struct sample_figures events[EVENTS], all, plan,
        copy; /* all: every event but the loss of a node */
};

static void build(struct bench *b, const struct size *size, const struct policy *policy)
{
    const struct cluster_config config = { .policy = policy,
                                           .max_load_permille = 970,
                                           .lease_us = 60 * USEC_PER_SEC,
                                           .lease_margin_us = USEC_PER_SEC,
                                           .foreign_hold_us = 10 * USEC_PER_SEC };

    *b = (struct bench){ .seed = 1,
                         .distinct = size->distinct,
                         .servers = size->servers,
                         .types = size->types,
                         .types_seed = 2,
                         .now = { 1000 * USEC_PER_SEC, 1700000000 * USEC_PER_SEC },
                         .cluster = cluster_new(&config) };
    for (size_t i = 0; i < size->nodes; i++) {
        struct node_offer offer = offer_of(i, size->types);
        struct node *node = NULL;
        char name[32];

        (void)snprintf(name, sizeof name, "node-%zu", i);
        if (cluster_join_node(b->cluster, name, "", &offer, b->now, &node, NULL) == 0)
            report(b, node, &(struct ways){ 0 });
    }
    for (size_t i = 0; i < size->jobs; i++)
        (void)submit(b);
    (void)settle(b);
    teach_all(b);
}

/* --- the events --- */

static struct node *draw_node(struct bench *b)
{
    char name[32];

    (void)snprintf(name, sizeof name, "node-%llu",
                   (unsigned long long)random_below(&b->seed,
                                                    HASH_COUNT(cluster_nodes(b->cluster))));
    return cluster_node(b->cluster, name);
}

static struct process *draw_process(struct bench *b)
{
    for (int tries = 0; tries < 100; tries++) {
        struct node *node = draw_node(b);
        struct process *process = node->processes;
        uint64_t skip = random_below(&b->seed, 8);

        while (skip-- > 0 && process != NULL && process->node_next != NULL)
            process = process->node_next;
        if (process != NULL && !process->stop_wanted)
            return process;
    }
    return NULL;
}

/* As if a plan had just been made that took long. */
static double begin(struct bench *b)
{
    cluster_plan_took(b->cluster, b->now, USEC_PER_SEC);
    return now_us();
}

/* The event itself, and what follows of it while plans pause; then the plan that it wants. */
static void timed(struct bench *b, enum event event, double begun)
{
    (void)cluster_plan(b->cluster, b->now);
    samples_add(&b->events[event], now_us() - begun);
    begun = now_us();
    if (cluster_plan_is_due(b->cluster)) {
        cluster_replan(b->cluster, b->now);
        samples_add(&b->plans, now_us() - begun);
    }
    cluster_effects_clear(b->cluster);
}

static void timed_report(struct bench *b, enum event event, struct node *node,
                         const struct ways *ways)
{
    double begun = begin(b);

    report(b, node, ways);
    timed(b, event, begun);
}

/* A process fails, waits for its back-off, and runs again. */
static void restart(struct bench *b)
{
    struct process *process = draw_process(b);
    struct job *job;
    struct node *node;
    uint32_t role, index;

    if (process == NULL)
        return;
    job = process->job;
    role = process->role;
    index = process->index;
    timed_report(b, EVENT_EXIT, process->node, &(struct ways){ .exits = process });
    advance(b, 2 * 60 * USEC_PER_SEC / 2);
    for (node = cluster_nodes(b->cluster); node != NULL; node = node->hh.next)
        report(b, node, &(struct ways){ .foreign_cpu_millicores = node->foreign_cpu_millicores });
    cluster_tick(b->cluster, b->now);
    plan(b);
    process = job->slots[role][index].live;
    if (process != NULL && process->state == PROCESS_ASSIGNED)
        timed_report(b, EVENT_RUNNING, process->node, &(struct ways){ 0 });
}

static void submit_one(struct bench *b)
{
    double begun = begin(b);

    if (submit(b) != NULL)
        timed(b, EVENT_SUBMIT, begun);
}

/* Kills a running job; the report that brings the last of it is what lets another start. */
static void end_job(struct bench *b)
{
    struct process *process = draw_process(b);
    struct job *job;
    struct node *node;

    if (process == NULL)
        return;
    job = process->job;
    advance(b, USEC_PER_MSEC); /* no two end at the same moment */
    if (cluster_kill_job(b->cluster, job, "bench", b->now, NULL) < 0)
        return;
    cluster_replan(b->cluster, b->now);
    cluster_effects_clear(b->cluster);
    while (!job_state_is_final(job->state)) {
        struct process *left = job->processes;

        while (left != NULL && left->node == NULL)
            left = left->job_next;
        if (left == NULL)
            break;
        node = left->node;
        timed_report(b, EVENT_JOB_END, node, &(struct ways){ 0 });
    }
}

static void lose_node(struct bench *b)
{
    struct node *victim = draw_node(b);
    struct node *node;
    double begun;

    advance(b, 50 * USEC_PER_SEC);
    for (node = cluster_nodes(b->cluster); node != NULL; node = node->hh.next)
        if (node != victim)
            report(b, node,
                   &(struct ways){ .foreign_cpu_millicores = node->foreign_cpu_millicores });
    plan(b);
    advance(b, 20 * USEC_PER_SEC);
    begun = begin(b);
    cluster_tick(b->cluster, b->now);
    timed(b, EVENT_NODE_LOST, begun);
    (void)settle(b);
}

/* Of some running job it is known anew how fast it is, and how much is left. */
static void measure_job(struct bench *b)
{
    struct process *process = draw_process(b);
    double begun;

    if (process == NULL || process->job->learned == NULL)
        return;
    advance(b, USEC_PER_SEC);
    begun = begin(b);
    teach(b, process->job);
    timed(b, EVENT_MEASURED, begun);
}

static void measure(struct bench *b, size_t rounds)
{
    for (size_t i = 0; i < rounds; i++)
        measure_job(b);
    (void)settle(b);
    for (size_t i = 0; i < 10 * rounds; i++)
        timed_report(b, EVENT_HEARTBEAT, draw_node(b), &(struct ways){ 0 });
    for (size_t i = 0; i < rounds; i++)
        submit_one(b);
    for (size_t i = 0; i < rounds; i++)
        timed_report(b, EVENT_FOREIGN, draw_node(b),
                     &(struct ways){ .foreign_cpu_millicores = random_below(&b->seed, 8000) });
    (void)settle(b);
    for (size_t i = 0; i < rounds / 4; i++)
        end_job(b);
    (void)settle(b);
    for (size_t i = 0; i < MIN_OF(rounds, 50); i++)
        restart(b);
    for (size_t i = 0; i < 10; i++)
        lose_node(b);
    for (size_t i = 0; i < 20; i++) {
        double begun = now_us();
        struct cluster *copy = cluster_clone_active(b->cluster, b->now);

        samples_add(&b->copies, now_us() - begun);
        (void)cluster_free(copy);
    }
}

/* --- the report --- */

/* what is measured unless the options say otherwise */
enum { SMALLEST, MIDDLE, DISTINCT, LARGEST, SIZES };

static void count(const struct bench *b, struct size *size)
{
    const struct node *node;
    const struct job *job;

    DL_FOREACH2(cluster_active_jobs(b->cluster), job, active_next)
    size->running += job->state != JOB_QUEUED;
    for (node = cluster_nodes(b->cluster); node != NULL; node = node->hh.next) {
        const struct process *process;

        DL_FOREACH2(node->processes, process, node_next)
        size->processes++;
    }
}

static struct size run(const struct size *what, size_t rounds, const struct policy *policy)
{
    struct size size = *what;
    struct samples all = { 0 };
    struct bench b;

    build(&b, &size, policy);
    count(&b, &size);
    measure(&b, rounds);
    for (int e = 0; e < EVENTS; e++) {
        for (size_t i = 0; e != EVENT_NODE_LOST && i < b.events[e].n; i++)
            samples_add(&all, b.events[e].us[i]);
        size.events[e] = samples_figures(&b.events[e]);
        free(b.events[e].us);
    }
    size.all = samples_figures(&all);
    size.plan = samples_figures(&b.plans);
    size.copy = samples_figures(&b.copies);
    free(all.us);
    free(b.plans.us);
    free(b.copies.us);
    (void)cluster_free(b.cluster);
    return size;
}

static double exponent(double small, double large, const struct size *a, const struct size *b)
{
    return small > 0 && large > 0 ? log(large / small) / log((double)b->nodes / (double)a->nodes)
                                  : 0;
}

static void print_size(const struct size *size)
{
    printf("%zu nodes, %zu jobs%s%s, of which %zu run with %zu processes\n", size->nodes,
           size->jobs, size->distinct ? " with distinct requests" : "",
           size->servers ? " with open numbers of servers" : "", size->running, size->processes);
    printf("  %-26s %10s %10s %10s\n", "event", "p50 us", "p99 us", "most us");
    for (int e = 0; e < EVENTS; e++)
        printf("  %-26s %10.1f %10.1f %10.1f\n", event_names[e], size->events[e].p50,
               size->events[e].p99, size->events[e].most);
    printf("  %-26s %10.2f %10.2f %10.2f  (ms)\n", "a plan", size->plan.p50 / 1e3,
           size->plan.p99 / 1e3, size->plan.most / 1e3);
    printf("  %-26s %10.2f %10.2f %10.2f  (ms)\n\n", "a copy for a forecast", size->copy.p50 / 1e3,
           size->copy.p99 / 1e3, size->copy.most / 1e3);
}

static json_t *size_to_json(const struct size *size)
{
    json_t *object =
        json_pack("{s:I,s:I,s:b,s:I,s:I,s:f,s:f,s:f,s:f,s:f}", "nodes", (json_int_t)size->nodes,
                  "jobs", (json_int_t)size->jobs, "distinct_requests", (int)size->distinct,
                  "running_jobs", (json_int_t)size->running, "processes",
                  (json_int_t)size->processes, "event_p50_us", size->all.p50, "event_p99_us",
                  size->all.p99, "full_plan_p50_ms", size->plan.p50 / 1e3, "full_plan_p99_ms",
                  size->plan.p99 / 1e3, "copy_p99_ms", size->copy.p99 / 1e3);

    for (int e = 0; e < EVENTS; e++)
        (void)json_object_set_new(object, event_keys[e],
                                  json_pack("{s:f,s:f,s:f}", "p50_us", size->events[e].p50,
                                            "p99_us", size->events[e].p99, "max_us",
                                            size->events[e].most));
    return object;
}

static void print_json(const struct size *sizes, size_t n, const struct size *named)
{
    json_t *object = size_to_json(named);
    json_t *array = json_array();

    for (size_t i = 0; i < n; i++)
        (void)json_array_append_new(array, size_to_json(&sizes[i]));
    (void)json_object_set_new(object, "sizes", array);
    if (n > 1) {
        const struct size *a = &sizes[SMALLEST], *b = &sizes[LARGEST];

        (void)json_object_set_new(object, "event_growth_exponent",
                                  json_real(exponent(a->all.p50, b->all.p50, a, b)));
        (void)json_object_set_new(object, "full_plan_growth_exponent",
                                  json_real(exponent(a->plan.p50, b->plan.p50, a, b)));
        (void)json_object_set_new(object, "event_p99_distinct_us",
                                  json_real(sizes[DISTINCT].all.p99));
    }
    (void)json_object_set_new(object, "published_pollux_ms", json_real(2200));
    (void)json_object_set_new(object, "published_sia_ms", json_real(96));
    (void)json_dumpf(object, stdout, JSON_INDENT(2));
    (void)putchar('\n');
    json_decref(object);
}

static void print_growth(const struct size *a, const struct size *b)
{
    printf("growth from %zu to %zu nodes, as exponent of the nodes (0: none, 1: in proportion)\n",
           a->nodes, b->nodes);
    for (int e = 0; e < EVENTS; e++)
        printf("  %-26s %10.2f\n", event_names[e],
               exponent(a->events[e].p50, b->events[e].p50, a, b));
    printf("  %-26s %10.2f\n", "a plan", exponent(a->plan.p50, b->plan.p50, a, b));
}

int main(int argc, char **argv)
{
    static const struct option options[] = { { "json", no_argument, NULL, 'j' },
                                             { "nodes", required_argument, NULL, 'n' },
                                             { "jobs", required_argument, NULL, 'b' },
                                             { "distinct", no_argument, NULL, 'd' },
                                             { "types", required_argument, NULL, 't' },
                                             { "servers", no_argument, NULL, 's' },
                                             { "rounds", required_argument, NULL, 'r' },
                                             { "policy", required_argument, NULL, 'p' },
                                             { NULL, 0, NULL, 0 } };
    struct size sizes[SIZES] = {
        [SMALLEST] = { .nodes = 100, .jobs = 1000 },
        [MIDDLE] = { .nodes = 1000, .jobs = 10000 },
        [DISTINCT] = { .nodes = 1000, .jobs = 10000, .distinct = true },
        [LARGEST] = { .nodes = 10000, .jobs = 60000 },
    };
    uint64_t nodes = 0, jobs = 0, rounds = 400, types = 0;
    size_t n = ELEMENTS(sizes);
    bool json = false, distinct = false, servers = false;
    const struct policy *policy = policy_default;
    int key, r = 0;

    while (r == 0 && (key = getopt_long(argc, argv, "", options, NULL)) != -1)
        r = key == 'j'   ? (json = true, 0)
            : key == 'd' ? (distinct = true, 0)
            : key == 's' ? (servers = true, 0)
            : key == 'n' ? parse_u64(optarg, &nodes)
            : key == 'b' ? parse_u64(optarg, &jobs)
            : key == 't' ? parse_u64(optarg, &types)
            : key == 'r' ? parse_u64(optarg, &rounds)
            : key == 'p' ? (policy = policy_find(optarg), policy == NULL ? -EINVAL : 0)
                         : -EINVAL;
    if (r < 0 || optind < argc || (nodes == 0) != (jobs == 0) || (distinct && nodes == 0) ||
        (types > 0 && nodes == 0) || types >= GPU_TYPES_MAX || rounds == 0) {
        (void)fprintf(stderr,
                      "Usage: decide [--json] [--nodes N --jobs N [--distinct] [--types N]] "
                      "[--servers] [--rounds N] [--policy NAME]\n");
        return 2;
    }
    if (nodes > 0) {
        sizes[0] =
            (struct size){ .nodes = nodes, .jobs = jobs, .distinct = distinct, .types = types };
        n = 1;
    }
    for (size_t i = 0; i < n; i++) {
        sizes[i].servers = servers;
        sizes[i] = run(&sizes[i], rounds, policy);
        if (!json)
            print_size(&sizes[i]);
    }
    if (json)
        print_json(sizes, n, &sizes[n > 1 ? MIDDLE : 0]);
    else if (n > 1)
        print_growth(&sizes[SMALLEST], &sizes[LARGEST]);
    return 0;
}

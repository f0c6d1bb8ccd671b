/* SPDX-License-Identifier: Apache-2.0 */
/* record_storm.c - random events that change everything that is remembered */
#include "tests/unit/record_storm.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>
#include <utlist.h>

#include "shared/error.h"
#include "shared/job_document.h"
#include "shared/macro.h"

#define ACTIVE_MAX 8

uint64_t storm_number(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

static struct job *random_job(struct world *w)
{
    struct job *job;
    int n = 0;
    int chosen;

    DL_COUNT2(w->cluster->active, job, n, active_next);
    if (n == 0)
        return NULL;
    chosen = (int)world_random(w, (uint64_t)n);
    for (job = w->cluster->active; chosen > 0; chosen--)
        job = job->active_next;
    return job;
}

static struct process *random_process(struct world *w)
{
    const struct job *job = random_job(w);
    uint32_t role;

    if (job == NULL)
        return NULL;
    role = (uint32_t)world_random(w, job->spec->n_roles);
    return job->slots[role][world_random(w, job->n_slots[role])].live;
}

static struct fake_agent *random_agent(struct world *w)
{
    return &w->agents[world_random(w, w->n_agents)];
}

/* As it comes in from outside: through its document, which is what the database keeps. */
static struct job_spec *through_document(struct job_spec *take_spec)
{
    json_t *document = job_spec_to_document(take_spec);
    struct edl_error error = { 0 };
    struct job_spec *spec = NULL;

    (void)job_spec_free(take_spec);
    if (job_spec_from_document(document, &spec, NULL, &error) < 0)
        fail_msg("%s", error.text);
    json_decref(document);
    return spec;
}

struct job_spec *storm_spec(struct world *w)
{
    uint32_t min = 1 + (uint32_t)world_random(w, 3);
    char name[16];
    struct job_spec *spec;

    (void)snprintf(name, sizeof name, "job-%" PRIu64, world_random(w, 16));
    spec = world_spec(name, min, min + (uint32_t)world_random(w, 6), 100 * (1 + world_random(w, 8)),
                      (uint32_t)world_random(w, 3), 100 * (1 + world_random(w, 4)));
    if (world_random(w, 6) == 0) {
        spec->fault_tolerant = false;
        spec->roles[spec->n_roles - 1].max = min;
    }
    spec->priority = (int32_t)world_random(w, 3);
    spec->passes = 2;
    spec->port = 7164;
    spec->mode = spec->n_roles > 1 ? JOB_MODE_PSERVER : JOB_MODE_COLLECTIVE;
    for (size_t r = 0; r < spec->n_roles; r++) {
        struct role_spec *role = &spec->roles[r];

        role->argv = xcalloc(2, sizeof *role->argv);
        role->argv[0] = xstrdup("/bin/true");
        role->workspace = xstrdup("");
    }
    spec->roles[spec->n_roles - 1].gpus = (uint32_t)world_random(w, 3);
    spec->env = xcalloc(1, sizeof *spec->env);
    spec->env[0] = (struct env_pair){ xstrdup("FLAVOUR"), xstrdup("\"sour\" \xc3\xa9") };
    spec->n_env = 1;
    return through_document(spec);
}

static void do_submit(struct world *w)
{
    struct job_spec *spec;
    struct job *job;
    int n = 0;

    DL_COUNT2(w->cluster->active, job, n, active_next);
    if (n >= ACTIVE_MAX)
        return;
    spec = storm_spec(w);
    if (cluster_submit(w->cluster, spec, "ann", w->now, &job, NULL) < 0)
        (void)job_spec_free(spec);
    else if (world_random(w, 2) == 0)
        assert_int_equal(cluster_set_dataset(w->cluster, job,
                                             world_queue(1 + (uint32_t)world_random(w, 9), 2), "d",
                                             w->now, NULL),
                         0);
}

static void do_turn(struct world *w)
{
    world_turn(w, world_random(w, w->n_agents));
}

static void do_kill(struct world *w)
{
    struct job *job = random_job(w);

    if (job != NULL)
        assert_int_equal(cluster_kill_job(w->cluster, job, NULL, w->now, NULL), 0);
}

static void do_scale(struct world *w)
{
    struct job *job = random_job(w);
    uint32_t min = 1 + (uint32_t)world_random(w, 3);

    if (job != NULL)
        (void)cluster_scale_job(w->cluster, job, NULL, min, min + (uint32_t)world_random(w, 6),
                                w->now, NULL);
}

void storm_exit(struct world *w)
{
    const struct process *process = random_process(w);

    if (process != NULL)
        world_exit(w, process, world_random(w, 3) == 0 ? 0 : 1 + (int)world_random(w, 200),
                   world_random(w, 8) == 0 ? 9 : 0);
}

static void do_advance(struct world *w)
{
    world_advance(w, world_random(w, 3) == 0 ? world_random(w, 15 * USEC_PER_SEC)
                                             : world_random(w, 200000));
}

static void do_silence(struct world *w)
{
    struct fake_agent *agent = random_agent(w);

    agent->silent = !agent->silent && world_random(w, 3) == 0;
}

static void do_boot(struct world *w)
{
    struct fake_agent *agent = random_agent(w);

    agent->boot++;
    agent->n = 0;
}

static void do_offer(struct world *w)
{
    struct fake_agent *agent = random_agent(w);

    agent->offer.gpus = 2 + (uint32_t)world_random(w, 3);
    agent->offer.numa_nodes = 2;
    agent->offer.gpu_numa[1] = (uint8_t)world_random(w, 2);
    assert_int_equal(labels_set(&agent->offer.labels, "rack", world_random(w, 2) == 0 ? "r1" : "r2",
                                NULL),
                     0);
}

static void do_node_state(struct world *w)
{
    struct node *node = cluster_node(w->cluster, random_agent(w)->name);

    if (node != NULL)
        (void)cluster_set_node_state(w->cluster, node,
                                     world_random(w, 2) != 0 ? NODE_READY
                                                             : NODE_CORDONED + world_random(w, 2),
                                     w->now, NULL);
}

static void do_remove_or_join(struct world *w)
{
    struct fake_agent *agent = random_agent(w);
    struct node *node = cluster_node(w->cluster, agent->name);

    if (node != NULL)
        (void)cluster_remove_node(w->cluster, node, w->now, NULL);
    else
        assert_int_equal(cluster_join_node(w->cluster, agent->name, "h", &agent->offer, w->now,
                                           &node, NULL),
                         0);
}

static void do_restart(struct world *w)
{
    world_restart(w);
}

/* One task, a word about the loss, and the end when there is no more. */
void storm_work(struct world *w)
{
    struct process *process = random_process(w);
    enum task_lease_result result;
    struct task *task = NULL;
    bool save = false;
    uint32_t pass;

    if (process == NULL || process->job->queue == NULL || process->state != PROCESS_RUNNING ||
        !streq(process->job->spec->roles[process->role].name, "trainer"))
        return;
    pass = task_queue_pass(process->job->queue);
    assert_int_equal(cluster_set_metrics(w->cluster, process, pass == 0 ? "{\"cost\":2}" : "{}",
                                         w->now, NULL),
                     0);
    if (cluster_lease_task(w->cluster, process, NULL, 0, w->now, &result, &task, &save, NULL) < 0)
        return;
    if (result == TASK_LEASE_GIVEN && world_random(w, 4) != 0)
        (void)cluster_finish_task(w->cluster, process, task->id, pass, task->lease, w->now, NULL);
    else if (result == TASK_LEASE_GIVEN && world_random(w, 2) != 0)
        (void)cluster_fail_task(w->cluster, process, task->id, pass, task->lease,
                                world_random(w, 2) != 0, w->now, NULL);
    if (save && world_random(w, 2) != 0)
        assert_int_equal(cluster_model_saved(w->cluster, process, w->now, NULL), 0);
    if (result == TASK_LEASE_FINISHED && world_random(w, 4) != 0)
        world_exit(w, process, 0, 0);
}

static const struct {
    unsigned weight;
    void (*act)(struct world *w);
} acts[] = {
    { 30, do_turn },    { 8, do_submit },     { 2, do_kill },           { 3, do_scale },
    { 5, storm_exit },  { 6, do_advance },    { 2, do_silence },        { 1, do_boot },
    { 2, do_offer },    { 2, do_node_state }, { 1, do_remove_or_join }, { 1, do_restart },
    { 25, storm_work },
};

void storm_act(struct world *w)
{
    unsigned sum = 0;
    unsigned chosen;

    for (size_t i = 0; i < ELEMENTS(acts); i++)
        sum += acts[i].weight;
    chosen = (unsigned)world_random(w, sum);
    for (size_t i = 0; chosen < sum; i++) {
        if (chosen < acts[i].weight) {
            acts[i].act(w);
            return;
        }
        chosen -= acts[i].weight;
    }
}

struct world *storm_new(void)
{
    struct world *w = world_new(4, 2500, GIB, 900);
    uint64_t seed = storm_number("EDL_SEED", 20181103);

    print_message("EDL_SEED=%" PRIu64 "\n", seed);
    w->seed = seed != 0 ? seed : 1;
    w->max_linger = 2;
    w->replay_every = 1;
    for (size_t i = 0; i < w->n_agents; i++)
        w->agents[i].offer.gpus = 4;
    return w;
}

void storm(struct world *w, uint64_t events)
{
    for (uint64_t i = 0; i < events; i++) {
        storm_act(w);
        if (world_random(w, 3) != 0)
            world_plan(w);
    }
    world_plan(w);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* record_storm.c - random events that change everything that is remembered */
#include "tests/unit/record_storm.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "shared/error.h"
#include "shared/job_document.h"
#include "shared/macro.h"

#define ACTIVE_MAX 8

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
    storm_submit(w, storm_spec(w), ACTIVE_MAX);
}

static void do_offer(struct world *w)
{
    struct fake_agent *agent = storm_agent(w);

    agent->offer.gpus = 2 + (uint32_t)world_random(w, 3);
    agent->offer.numa_nodes = 2;
    agent->offer.gpu_numa[1] = (uint8_t)world_random(w, 2);
    assert_int_equal(labels_set(&agent->offer.labels, "rack", world_random(w, 2) == 0 ? "r1" : "r2",
                                NULL),
                     0);
}

/* A word about the loss, too. */
static void do_work(struct world *w)
{
    struct process *process = storm_process(w);

    if (process != NULL && process->state == PROCESS_RUNNING)
        assert_int_equal(cluster_set_metrics(w->cluster, process,
                                             world_random(w, 2) == 0 ? "{\"cost\":2}" : "{}",
                                             w->now, NULL),
                         0);
    storm_work(w);
}

void storm_act(struct world *w)
{
    static const struct storm_event events[] = {
        { 30, storm_turn },   { 8, do_submit },        { 2, storm_kill },
        { 3, storm_scale },   { 2, storm_prioritise }, { 5, storm_exit },
        { 6, storm_advance }, { 2, storm_silence },    { 1, storm_boot },
        { 2, do_offer },      { 2, storm_node_state }, { 1, storm_remove_or_join },
        { 1, storm_restart }, { 25, do_work },         { 25, storm_arrive },
    };

    storm_happen(w, events, ELEMENTS(events));
}

struct world *storm_new(void)
{
    struct world *w = storm_world(4);

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

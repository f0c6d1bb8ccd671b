/* SPDX-License-Identifier: Apache-2.0 */
/* servers_world.h - jobs with parameter servers whose number is open, and the knowledge about
 * them */
#pragma once

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

#include "scheduler/core/core.h"
#include "scheduler/core/learn/job_family.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/speed/servers.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"

#define CORE 1000
#define SERVERS_MAX 6

static inline struct world *world_of(const struct policy *policy, uint64_t cores)
{
    struct world *w;

    world_policy = policy;
    w = world_new(2, cores * CORE, 64 * GIB, 1000);
    world_run(w, 1);
    return w;
}

static inline void end(struct world *w)
{
    world_free(w);
    world_policy = &policy_fulfilment;
}

static inline struct job_spec *spec_of(const char *name)
{
    struct job_spec *spec = world_spec(name, 1, 8, CORE, 1, CORE);

    spec->roles[0].max = SERVERS_MAX;
    return spec;
}

static inline double step_s(uint32_t w, uint32_t p)
{
    return 0.5 / w + 0.05 + 0.2 * w / p + 0.001 * w;
}

static inline struct goodput_prior *prior_of(struct world *w, const struct job *job, uint32_t p)
{
    char name[JOB_FAMILY_SIZE];

    job_program_name(job, p, name);
    return goodput_family_prior(w->cluster->families, name);
}

/* What its jobs send to the servers takes nearly all of their time. */
static inline void teach(struct world *w, const struct job_spec *spec, uint32_t most)
{
    static const uint32_t numbers[] = { 1, 2, 4, 6 };
    struct job job = { .spec = (struct job_spec *)spec }; /* why: only its names are asked for */
    struct goodput_prior *family;
    char name[JOB_FAMILY_SIZE];

    (void)snprintf(job.user, sizeof job.user, "%s", w->user);
    job_family_name(&job, name);
    family = goodput_family_prior(w->cluster->families, name);
    (void)goodput_servers_begun(family, job_program(&job));
    for (size_t i = 0; i < ELEMENTS(numbers) && numbers[i] <= most; i++)
        for (uint32_t k = 1; k <= 8; k++) {
            const struct goodput_learned learned = { .instances = k,
                                                     .measured_s = step_s(k, numbers[i]) };
            char number[JOB_FAMILY_SIZE];

            job_program_name(&job, numbers[i], number);
            goodput_servers_note(w->cluster->families, name, number, job_program(&job), &learned);
        }
}

static inline struct job *submit_taught(struct world *w)
{
    struct job_spec *spec = spec_of("job");

    teach(w, spec, SERVERS_MAX);
    return world_submit(w, spec);
}

static inline struct job *start_taught(struct world *w)
{
    struct job *job = submit_taught(w);

    world_run(w, 6);
    assert_int_equal(job->state, JOB_RUNNING);
    return job;
}

static inline void close_nodes(struct world *w, enum node_state state)
{
    for (struct node *node = w->cluster->nodes; node != NULL; node = node->hh.next)
        assert_int_equal(cluster_set_node_state(w->cluster, node, state, w->now, NULL), 0);
}

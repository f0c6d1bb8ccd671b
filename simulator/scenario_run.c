/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_run.c - a scenario is built in a simulator and played to its end */
#include "simulator/scenario_run.h"

#include <inttypes.h>
#include <stdio.h>

#include "shared/error.h"
#include "simulator/scenario_watch.h"

static void add_nodes(struct sim *sim, const struct scenario *scenario)
{
    char name[NODE_NAME_MAX + 1];

    for (size_t g = 0; g < scenario->n_groups; g++)
        for (uint32_t i = 0; i < scenario->groups[g].count; i++) {
            (void)snprintf(name, sizeof(name), "%s-%" PRIu32, scenario->groups[g].name, i);
            sim_set_speed(sim, sim_add_node(sim, 0, name, &scenario->groups[g].offer),
                          scenario->groups[g].speed_permille);
        }
}

static void add_jobs(struct sim *sim, const struct scenario *scenario)
{
    for (size_t j = 0; j < scenario->n_jobs; j++) {
        const struct scenario_job *job = &scenario->jobs[j];

        for (uint32_t i = 0; i < job->copies; i++) {
            struct job_spec *spec = job_spec_copy(job->spec);
            size_t length = strlen(spec->name);

            if (job->copies > 1)
                (void)snprintf(spec->name + length, sizeof(spec->name) - length, "-%" PRIu32, i);
            sim_set_user(sim, sim_submit_at(sim, job->at_us + i * job->every_us, spec, &job->work),
                         job->user);
        }
    }
}

static struct sim *build(const struct scenario *scenario, uint64_t seed,
                         const struct load_change *changes, size_t n_changes)
{
    struct sim_config config = {
        .seed = seed,
        .policy = scenario->policy,
        .max_load_permille = scenario->max_load_permille,
        .first_come = scenario->first_come,
        .parking_us = scenario->parking_us,
        .lease_us = scenario->lease_us,
        .lease_margin_us = scenario->lease_margin_us,
        .commit = scenario->commit,
        .heartbeat_us = scenario->heartbeat_us,
        .latency = scenario->latency,
        .loss_ppm = scenario->loss_ppm,
        .ignores_speed = scenario->ignores_speed,
        .ignores_types = scenario->ignores_types,
        .trace = scenario->trace,
    };
    struct sim *sim = sim_new(&config);

    add_nodes(sim, scenario);
    for (size_t i = 0; i < n_changes; i++)
        sim_foreign_at(sim, changes[i].at_us, changes[i].node, changes[i].cpu_millicores,
                       changes[i].memory_bytes);
    add_jobs(sim, scenario);
    return sim;
}

/* is_over - nothing is left to happen that the scenario asked for */
static bool is_over(const struct watch *watch)
{
    const struct scenario *scenario = watch->scenario;
    const struct scenario_sample *sample = &watch->sample;

    if (sim_violation(watch->sim) != NULL)
        return true;
    if (scenario->duration_us != 0)
        return sample->at_us >= scenario->duration_us;
    return (sample->ended == sample->n_jobs && watch->at_change == watch->n_changes) ||
           sample->at_us >= SCENARIO_LONGEST_US;
}

static void play(struct watch *watch, scenario_sample_fn fn, void *userdata)
{
    const struct scenario *scenario = watch->scenario;
    uint64_t end_us = scenario->duration_us != 0 ? scenario->duration_us : SCENARIO_LONGEST_US;

    for (uint64_t at_us = 0;; at_us = MIN_OF(at_us + scenario->sample_us, end_us)) {
        sim_run_until(watch->sim, at_us);
        watch_look(watch);
        if (fn != NULL)
            fn(&watch->sample, userdata);
        if (is_over(watch))
            return;
    }
}

int scenario_run(const struct scenario *scenario, uint64_t seed, scenario_sample_fn fn,
                 void *userdata, struct scenario_result *ret, struct edl_error *error)
{
    struct load_change *changes = NULL;
    struct watch watch;
    size_t n = 0;
    int r = scenario_load_changes(scenario, seed, &changes, &n, error);

    if (r < 0)
        return r;

    struct sim *sim = build(scenario, seed, changes, n);

    *ret = (struct scenario_result){ .seed = seed };
    watch_init(&watch, scenario, sim, changes, n, ret);
    play(&watch, fn, userdata);
    watch_end(&watch);
    if (sim_violation(sim) != NULL)
        (void)snprintf(ret->violation, sizeof(ret->violation), "%s", sim_violation(sim)->text);
    watch_clear(&watch);
    (void)sim_free(sim);
    return 0;
}

void scenario_result_done(struct scenario_result *result)
{
    free(result->jobs);
    *result = (struct scenario_result){ .jobs = NULL };
}

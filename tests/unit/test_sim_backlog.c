/* SPDX-License-Identifier: Apache-2.0 */
/* test_sim_backlog.c - a service whose load changes, beside jobs that train: a scenario */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "simulator/scenario_run.h"
#include "tests/unit/test.h"

#define SEEDS 5

/* Four machines for eight teachers. Students want six, then two; a gang of four comes at 60 s. */
static const char document[] =
    "duration: 160s\n"
    "nodes: [{name: node, count: 4, cpu: 2, memory: 16Gi}]\n"
    "max-load: 1\n"
    "jobs:\n"
    "  - job: {name: teach, mode: service, fault_tolerant: true, roles: [{role: teacher,\n"
    "      command: [teach], min: 1, max: 8, cpu: 1, memory: 1Gi}]}\n"
    "    work: {load: [{at: 10s, instances: 5.5}, {at: 120s, instances: 0.3}]}\n"
    "  - at: 60s\n"
    "    job: {name: train, roles: [{role: trainer, command: [train], min: 4, max: 4, cpu: 1,\n"
    "      memory: 1Gi}]}\n"
    "    work: {lifetime: 30s}\n";

/* At that second so many run. */
static const struct look {
    uint64_t at_s;
    uint32_t teach_least, teach_most, train;
} looks[] = {
    { 9, 1, 1, 0 },  { 55, 6, 8, 0 },  { 66, 4, 4, 4 },
    { 85, 4, 4, 4 }, { 118, 6, 8, 0 }, { 155, 1, 1, 0 },
};

static void look_at(const struct scenario_sample *sample, void *userdata)
{
    unsigned *n_seen = userdata;

    for (size_t i = 0; i < ELEMENTS(looks); i++) {
        uint32_t teach = sample->job_trainers[0], train = sample->job_trainers[1];

        if (sample->at_us != looks[i].at_s * USEC_PER_SEC)
            continue;
        ++*n_seen;
        if (teach < looks[i].teach_least || teach > looks[i].teach_most || train != looks[i].train)
            fail_msg("at %d s: %u teachers, %u trainers", (int)looks[i].at_s, teach, train);
    }
}

TEST(test_a_service_follows_its_load)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct edl_error error = { 0 };
        struct scenario *scenario = NULL;
        struct scenario_result result;
        unsigned n_seen = 0;

        if (scenario_parse(document, strlen(document), ".", &scenario, &error) < 0)
            fail_msg("%s: %s", error.pointer, error.text);
        assert_int_equal(scenario->jobs[0].work.kind, SIM_WORK_SERVE);
        assert_int_equal(scenario_run(scenario, seed, look_at, &n_seen, &result, &error), 0);
        assert_string_equal(result.violation, "");
        assert_int_equal(n_seen, ELEMENTS(looks));
        assert_in_range(result.jobs[0].resizes, 4, 20);
        scenario_result_done(&result);
        (void)scenario_free(scenario);
    }
}

TEST(test_wrong_loads_are_refused)
{
    static const struct {
        const char *work, *says;
    } cases[] = {
        { "{load: []}", "an array of one to 16 loads" },
        { "{load: [{at: 5s, instances: 1}, {at: 5s, instances: 2}]}", "later than the one before" },
        { "{load: [{instances: -1}]}", "so many instances" },
        { "{load: [{instances: 1}], lifetime: 5s}", "and one of them" },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        struct edl_error error = { 0 };
        struct scenario *scenario = NULL;
        char text[400];

        (void)
            snprintf(text, sizeof text,
                     "nodes: [{name: n, count: 1, cpu: 1}]\n"
                     "jobs: [{job: {name: t, roles: [{role: teacher, command: [t]}]}, work: %s}]\n",
                     cases[i].work);
        assert_true(scenario_parse(text, strlen(text), ".", &scenario, &error) < 0);
        if (strstr(error.text, cases[i].says) == NULL)
            fail_msg("%s: %s", cases[i].work, error.text);
    }
}

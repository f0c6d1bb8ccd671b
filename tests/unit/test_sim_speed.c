/* SPDX-License-Identifier: Apache-2.0 */
/* test_sim_speed.c - jobs end earlier where slow machines are seen and avoided than where they are
 * not: the same scenario, the same seeds, simulated both ways */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "shared/error.h"
#include "simulator/scenario_run.h"
#include "tests/unit/test.h"

#define SEEDS 10

static const char document[] =
    "nodes:\n"
    "  - {name: a-even, count: 5, cpu: 4, memory: 16Gi}\n"
    "  - {name: b-slow, count: 3, cpu: 4, memory: 16Gi, speed: 0.3}\n"
    "  - {name: c-even, count: 12, cpu: 4, memory: 16Gi}\n"
    "jobs:\n"
    "  - copies: 8\n"
    "    every: 120s\n"
    "    job:\n"
    "      metadata: {name: job}\n"
    "      spec:\n"
    "        fault_tolerant: true\n"
    "        trainer:\n"
    "          entrypoint: train\n"
    "          min-instance: 1\n"
    "          max-instance: 8\n"
    "          resources: {requests: {cpu: \"2\", memory: 1Gi}}\n"
    "    work: {tasks: 400, task: 8s, start: 3s, stop: 1s, speedup: 0.95}\n";

/* Mean completion time. */
static double completion_s(uint64_t seed, bool ignores_speed)
{
    struct edl_error error = { 0 };
    struct scenario *scenario = NULL;
    struct scenario_result result;
    double mean_s;

    if (scenario_parse(document, strlen(document), ".", &scenario, &error) < 0)
        fail_msg("%s: %s", error.pointer, error.text);
    scenario->ignores_speed = ignores_speed;
    assert_int_equal(scenario_run(scenario, seed, NULL, NULL, &result, &error), 0);
    assert_string_equal(result.violation, "");
    assert_int_equal(result.completion_s.n, 8);
    mean_s = result.completion_s.mean;
    scenario_result_done(&result);
    (void)scenario_free(scenario);
    return mean_s;
}

TEST(test_jobs_end_earlier)
{
    double without_s = 0;
    double with_s = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        double ignoring_s = completion_s(seed, true);
        double seeing_s = completion_s(seed, false);

        print_message("seed %d: %.1f s without, %.1f s with\n", (int)seed, ignoring_s, seeing_s);
        /* where slow machines are used by accident only it makes no difference */
        assert_true(seeing_s < 1.01 * ignoring_s);
        without_s += ignoring_s;
        with_s += seeing_s;
    }
    assert_true(with_s < 0.97 * without_s);
}

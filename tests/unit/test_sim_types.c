/* SPDX-License-Identifier: Apache-2.0 */
/* test_sim_types.c - two families of jobs, each of which is fast on another type of GPU: they end
 * earlier where that is seen than where it is not: the same scenario, the same seeds, both ways */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "shared/error.h"
#include "simulator/scenario_run.h"
#include "tests/unit/test.h"

#define SEEDS 10
#define JOBS 16

static const char document[] =
    "policy: goodput\n"
    "nodes:\n"
    "  - {name: a, count: 4, cpu: 16, memory: 64Gi, gpus: 4, labels: {gpu-type: A}}\n"
    "  - {name: b, count: 4, cpu: 16, memory: 64Gi, gpus: 4, labels: {gpu-type: B}}\n"
    "jobs:\n"
    "  - copies: 8\n"
    "    every: 120s\n"
    "    job:\n"
    "      metadata: {name: likes-a}\n"
    "      spec:\n"
    "        fault_tolerant: true\n"
    "        trainer:\n"
    "          entrypoint: one\n"
    "          min-instance: 1\n"
    "          max-instance: 16\n"
    "          resources: {requests: {cpu: \"2\", memory: 1Gi}, limits: {nvidia.com/gpu: 1}}\n"
    "    work: {tasks: 400, task: 16s, start: 3s, stop: 1s, speedup: 0.9, gpu-types: {A: 4, B: "
    "1}}\n"
    "  - copies: 8\n"
    "    every: 120s\n"
    "    job:\n"
    "      metadata: {name: likes-b}\n"
    "      spec:\n"
    "        fault_tolerant: true\n"
    "        trainer:\n"
    "          entrypoint: two\n"
    "          min-instance: 1\n"
    "          max-instance: 16\n"
    "          resources: {requests: {cpu: \"2\", memory: 1Gi}, limits: {nvidia.com/gpu: 1}}\n"
    "    work: {tasks: 400, task: 16s, start: 3s, stop: 1s, speedup: 0.9, gpu-types: {A: 1, B: "
    "4}}\n";

/* Mean completion time. */
static double completion_s(uint64_t seed, bool ignores_types)
{
    struct edl_error error = { 0 };
    struct scenario *scenario = NULL;
    struct scenario_result result;
    double mean_s;

    if (scenario_parse(document, strlen(document), ".", &scenario, &error) < 0)
        fail_msg("%s: %s", error.pointer, error.text);
    scenario->ignores_types = ignores_types;
    assert_int_equal(scenario_run(scenario, seed, NULL, NULL, &result, &error), 0);
    assert_string_equal(result.violation, "");
    assert_int_equal(result.completion_s.n, JOBS);
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
        without_s += ignoring_s;
        with_s += seeing_s;
    }
    assert_true(with_s < 0.9 * without_s); /* single seeds may come out the other way */
}

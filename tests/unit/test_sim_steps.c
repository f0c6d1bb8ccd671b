/* SPDX-License-Identifier: Apache-2.0 */
/* test_sim_steps.c - jobs that train all together, without a queue, end earlier where they tell of
 * their steps than where they are silent: the same scenarios, the same seeds, simulated both ways;
 * and equal ones do not take instances from each other all the time */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "shared/error.h"
#include "simulator/scenario_run.h"
#include "tests/unit/test.h"

#define SEEDS 5

/* One gains by each instance, one by none, and the one that gains by none comes first. */
static const char curves[] =
    "nodes:\n"
    "  - {name: node, count: 4, cpu: 4, memory: 16Gi}\n"
    "jobs:\n"
    "  - job: {metadata: {name: flat}, spec: {fault_tolerant: true, trainer:\n"
    "      {entrypoint: flat, min-instance: 1, max-instance: 8,\n"
    "       resources: {requests: {cpu: \"2\", memory: 1Gi}}}}}\n"
    "    work: {steps: 3000, task: 1s, step: [0.2, 0.8, 0, 0, 0]}\n"
    "  - at: 120s\n"
    "    job: {metadata: {name: steep}, spec: {fault_tolerant: true, trainer:\n"
    "      {entrypoint: steep, min-instance: 1, max-instance: 8,\n"
    "       resources: {requests: {cpu: \"2\", memory: 1Gi}}}}}\n"
    "    work: {steps: 9000, task: 1s, step: [1, 0.01, 0, 0, 0]}\n";

/* A machine in five is slow, and holds up whoever has an instance there. */
static const char slow[] =
    "nodes:\n"
    "  - {name: a-even, count: 4, cpu: 2, memory: 16Gi}\n"
    "  - {name: b-slow, count: 2, cpu: 2, memory: 16Gi, speed: 0.3}\n"
    "  - {name: c-even, count: 4, cpu: 2, memory: 16Gi}\n"
    "jobs:\n"
    "  - copies: 2\n"
    "    every: 60s\n"
    "    job: {metadata: {name: job}, spec: {fault_tolerant: true, trainer:\n"
    "      {entrypoint: train, min-instance: 1, max-instance: 4,\n"
    "       resources: {requests: {cpu: \"2\", memory: 1Gi}}}}}\n"
    "    work: {steps: 6000, task: 1s, start: 3s, stop: 1s, speedup: 0.95}\n";

/* How long they are can only be guessed, and each guess moves with what all of them have done. */
static const char equal[] =
    "nodes:\n"
    "  - {name: node, count: 8, cpu: 4, memory: 16Gi}\n"
    "jobs:\n"
    "  - copies: 6\n"
    "    job: {metadata: {name: equal}, spec: {fault_tolerant: true, trainer:\n"
    "      {entrypoint: train, min-instance: 1, max-instance: 32,\n"
    "       resources: {requests: {cpu: \"1\", memory: 1Gi}}}}}\n"
    "    work: {steps: 20000, task: 1s, speedup: 0.9}\n";

/* Mean completion time. */
static double completion_s(const char *document, uint64_t seed, bool silent)
{
    struct edl_error error = { 0 };
    struct scenario *scenario = NULL;
    struct scenario_result result;
    double mean_s;

    if (scenario_parse(document, strlen(document), ".", &scenario, &error) < 0)
        fail_msg("%s: %s", error.pointer, error.text);
    for (size_t i = 0; i < scenario->n_jobs; i++)
        scenario->jobs[i].work.silent = silent;
    assert_int_equal(scenario_run(scenario, seed, NULL, NULL, &result, &error), 0);
    assert_string_equal(result.violation, "");
    assert_int_equal(result.completion_s.n, 2);
    mean_s = result.completion_s.mean;
    scenario_result_done(&result);
    (void)scenario_free(scenario);
    return mean_s;
}

static void compare(const char *document, double most)
{
    double silent_s = 0, told_s = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        double silent = completion_s(document, seed, true);
        double told = completion_s(document, seed, false);

        print_message("seed %d: %.1f s silent, %.1f s told\n", (int)seed, silent, told);
        silent_s += silent;
        told_s += told;
    }
    assert_true(told_s < most * silent_s);
}

TEST(test_who_gains_by_instances_has_them)
{
    compare(curves, 0.95);
}

TEST(test_slow_machines_are_found)
{
    compare(slow, 0.8);
}

static double resizes_per_job_hour(const char *document, uint64_t seed)
{
    struct edl_error error = { 0 };
    struct scenario *scenario = NULL;
    struct scenario_result result;
    double per_hour;

    if (scenario_parse(document, strlen(document), ".", &scenario, &error) < 0)
        fail_msg("%s: %s", error.pointer, error.text);
    assert_int_equal(scenario_run(scenario, seed, NULL, NULL, &result, &error), 0);
    assert_string_equal(result.violation, "");
    per_hour = result.resizes / (result.completion_s.mean * result.completion_s.n / 3600);
    print_message("seed %d: %.1f resizes a job-hour\n", (int)seed, per_hour);
    scenario_result_done(&result);
    (void)scenario_free(scenario);
    return per_hour;
}

TEST(test_equal_jobs_keep_what_they_have)
{
    double sum = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        sum += resizes_per_job_hour(equal, seed);
    print_message("mean: %.1f\n", sum / SEEDS);
    assert_true(sum / SEEDS < 10);
}

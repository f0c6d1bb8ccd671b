/* SPDX-License-Identifier: Apache-2.0 */
/* test_scenario.c - figures of a history, scenario documents, services that are not ours */
#include <stdint.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "scheduler/core/policy/policy.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/job_spec.h"
#include "shared/macro.h"
#include "simulator/experiment.h"
#include "simulator/metrics.h"
#include "simulator/scenario.h"
#include "simulator/scenario_services.h"
#include "tests/unit/test.h"

#ifndef EXAMPLES
#define EXAMPLES "conf/examples"
#endif

static void assert_near(double value, double expected)
{
    if (!(fabs(value - expected) < 1e-9))
        fail_msg("%.12f instead of %.12f", value, expected);
}

/* ---- figures ---- */

TEST(test_jain)
{
    static const struct {
        double values[4];
        size_t n;
        double expected;
    } rows[] = {
        { { 0 }, 0, 1 },
        { { 5 }, 1, 1 },
        { { 3, 3, 3, 3 }, 4, 1 },
        { { 8, 0, 0, 0 }, 4, 0.25 },
        { { 0, 0 }, 2, 1 },
        { { 1, 2, 3 }, 3, 36.0 / 42 },
        { { 10, 10, 0 }, 3, 2.0 / 3 },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++)
        assert_near(jain_index(rows[i].values, rows[i].n), rows[i].expected);
}

/* Trainers of the 20 jobs of the report's first elastic round at 443 s. */
TEST(test_jain_of_the_report)
{
    static const double trainers[] = { 34, 33, 34, 34, 33, 34, 7, 5, 6, 6,
                                       3,  3,  5,  1,  1,  1,  2, 1, 5, 2 };

    assert_near(round(100 * jain_index(trainers, ELEMENTS(trainers))), 44);
}

TEST(test_distribution)
{
    double values[] = { 9, 1, 8, 2, 7, 3, 6, 4, 5, 10 };
    double one[] = { 4 };
    struct distribution d;

    distribution_of(values, ELEMENTS(values), &d);
    assert_int_equal(d.n, 10);
    assert_near(d.mean, 5.5);
    assert_near(d.p50, 5);
    assert_near(d.p95, 10);
    assert_near(d.max, 10);
    assert_near(percentile(values, 10, 900), 9);
    assert_near(percentile(values, 10, 901), 10);
    distribution_of(one, 1, &d);
    assert_near(d.p50, 4);
    assert_near(d.p95, 4);
    distribution_of(one, 0, &d);
    assert_int_equal(d.n, 0);
    assert_near(d.mean, 0);
}

TEST(test_step_mean)
{
    struct step_mean whole = { .to_us = NEVER_US };
    struct step_mean window = { .from_us = 15, .to_us = 25 };
    struct step_mean later = { .from_us = 100, .to_us = 200 };
    static const struct {
        uint64_t at_us;
        double value;
    } steps[] = { { 0, 0 }, { 10, 1 }, { 20, 3 }, { 20, 5 }, { 30, 9 } };

    for (size_t i = 0; i < ELEMENTS(steps); i++) {
        step_mean_add(&whole, steps[i].at_us, steps[i].value);
        step_mean_add(&window, steps[i].at_us, steps[i].value);
        step_mean_add(&later, steps[i].at_us, steps[i].value);
    }
    /* 10 of 0, 10 of 1, 10 of 5, 10 of 9 */
    assert_near(step_mean_end(&whole, 40), 15.0 / 4);
    /* 5 of 1, 5 of 5 */
    assert_near(step_mean_end(&window, 40), 3);
    assert_near(step_mean_end(&later, 40), 0);
}

/* ---- documents ---- */

#define NODES "nodes: [{cpu: 4}]\n"
#define JOB "job: {name: a, roles: [{role: trainer, command: [x]}]}"

static struct scenario *parse(const char *text)
{
    struct scenario *scenario = NULL;
    struct edl_error error = { 0 };

    if (scenario_parse(text, strlen(text), EXAMPLES, &scenario, &error) < 0)
        fail_msg("%s: %s (%s)", text, error.text, error.pointer);
    return scenario;
}

TEST(test_defaults)
{
    struct scenario *s = parse(NODES "jobs: [{" JOB "}]\n");

    assert_string_equal(s->name, "scenario");
    assert_string_equal(s->policy->name, "goodput");
    assert_int_equal(s->seed, 1);
    assert_int_equal(s->duration_us, 0);
    assert_int_equal(s->sample_us, USEC_PER_SEC);
    assert_int_equal(s->max_load_permille, 970);
    assert_int_equal(s->heartbeat_us, 2 * USEC_PER_SEC);
    assert_int_equal(s->lease_us, 5 * USEC_PER_SEC);
    assert_int_equal(s->lease_margin_us, 1250 * USEC_PER_MSEC);
    assert_true(s->plateau_to_us == NEVER_US);
    assert_int_equal(s->nodes, 1);
    assert_int_equal(s->groups[0].offer.memory_bytes, 1 << 30);
    assert_true(s->groups[0].offer.port_last > s->groups[0].offer.port_first);
    assert_int_equal(s->submissions, 1);
    assert_int_equal(s->jobs[0].work.kind, SIM_WORK_FOREVER);
    assert_true(s->jobs[0].work.start.max_us > 0);
    (void)scenario_free(s);
}

TEST(test_full)
{
    struct scenario *s = parse(
        "name: all-keys\npolicy: fulfilment\nseed: 7\nduration: 90s\nbegin: 8s\nsample: 250ms\n"
        "heartbeat: 2\nlease: 20s\nlease-margin: 3s\nplateau: [10s, 20s]\nmax-load: 0.9\n"
        "latency: 1ms\ncommit: [1ms, 2ms]\nloss: 0.001\n"
        "foreign: [{at: 5s, nodes: b, cpu: 1500m, memory: 1Gi}, {cpu: 1}]\n"
        "nodes:\n"
        "- {name: a, count: 2, cpu: 0.5, memory: 2Gi}\n"
        "- {name: b, count: 3, cpu: 8, memory: 8Gi, gpus: 4, numa: 2, labels: {rack: r1}}\n"
        "jobs:\n"
        "- at: 1s\n  copies: 4\n  every: 3s\n  " JOB "\n"
        "  work: {tasks: 12, task: 2s, records: 5, passes: 3, speedup: 0.8, save: 4s,\n"
        "         start: [1s, 2s], stop: 500ms, crashes: 0.01, start-failures: 0.02,\n"
        "         ignores-sigterm: 0.5}\n"
        "- job: {name: b, roles: [{role: trainer, command: [x]}]}\n  work: {lifetime: 1m}\n"
        "services:\n"
        "- {name: web, cpu: 2, memory: 1Gi, steps: [{at: 0, replicas: 3}, {at: 9, replicas: "
        "0}]}\n");

    assert_string_equal(s->name, "all-keys");
    assert_int_equal(s->seed, 7);
    assert_int_equal(s->duration_us, 90 * USEC_PER_SEC);
    assert_int_equal(s->begin_us, 8 * USEC_PER_SEC);
    assert_int_equal(s->sample_us, 250 * USEC_PER_MSEC);
    assert_int_equal(s->heartbeat_us, 2 * USEC_PER_SEC);
    assert_int_equal(s->lease_us, 20 * USEC_PER_SEC);
    assert_int_equal(s->lease_margin_us, 3 * USEC_PER_SEC);
    assert_int_equal(s->plateau_from_us, 10 * USEC_PER_SEC);
    assert_int_equal(s->plateau_to_us, 20 * USEC_PER_SEC);
    assert_int_equal(s->max_load_permille, 900);
    assert_int_equal(s->latency.min_us, 1000);
    assert_int_equal(s->latency.max_us, 1000);
    assert_int_equal(s->commit.max_us, 2000);
    assert_int_equal(s->loss_ppm, 1000);
    assert_int_equal(s->nodes, 5);
    assert_int_equal(s->cpu_millicores, 2 * 500 + 3 * 8000);
    assert_int_equal(s->groups[1].first, 2);
    assert_int_equal(s->groups[1].offer.gpus, 4);
    assert_int_equal(s->groups[1].offer.gpu_numa[1], 0);
    assert_int_equal(s->groups[1].offer.gpu_numa[2], 1);
    assert_string_equal(labels_get(&s->groups[1].offer.labels, "rack"), "r1");
    assert_int_equal(s->foreign[0].group, 1);
    assert_int_equal(s->foreign[0].cpu_millicores, 1500);
    assert_true(s->foreign[1].group == SCENARIO_ALL);
    assert_int_equal(s->submissions, 5);

    const struct sim_work *work = &s->jobs[0].work;

    assert_int_equal(s->jobs[0].every_us, 3 * USEC_PER_SEC);
    assert_int_equal(s->jobs[0].spec->passes, 3);
    assert_int_equal(work->kind, SIM_WORK_TASKS);
    assert_int_equal(work->tasks, 12);
    assert_int_equal(work->records_per_task, 5);
    assert_int_equal(work->task_us, 2 * USEC_PER_SEC);
    assert_int_equal(work->speedup_permille, 800);
    assert_int_equal(work->save_us, 4 * USEC_PER_SEC);
    assert_int_equal(work->start.max_us, 2 * USEC_PER_SEC);
    assert_int_equal(work->stop.min_us, 500 * USEC_PER_MSEC);
    assert_int_equal(work->crash_ppm, 10000);
    assert_int_equal(work->start_failure_ppm, 20000);
    assert_int_equal(work->ignores_sigterm_ppm, 500000);
    assert_int_equal(s->jobs[1].work.kind, SIM_WORK_LIFETIME);
    assert_int_equal(s->jobs[1].work.lifetime.max_us, 60 * USEC_PER_SEC);
    assert_int_equal(s->services[0].n_steps, 2);
    assert_int_equal(s->services[0].steps[1].at_us, 9 * USEC_PER_SEC);
    (void)scenario_free(s);
}

TEST(test_refused)
{
    static const struct {
        const char *text, *pointer, *message;
    } rows[] = {
        { "jobs: []", "", "the nodes are missing" },
        { NODES "job: []", "/job", "unknown key \"job\"" },
        { NODES "policy: best", "/policy", "no policy is called \"best\"" },
        { NODES "plateau: 10s", "/plateau", "two times are expected" },
        { NODES "plateau: [20s, 10s]", "/plateau", "the first time is longer" },
        { NODES "max-load: 97", "/max-load", "a share from 0 to 1 is expected, found number 97" },
        { NODES "max-load: 0", "/max-load", "must be at least 0.001" },
        { NODES "latency: [1ms]", "/latency", "two of them" },
        { NODES "latency: [1ms, soon]", "/latency/1", "a time of at most 24h" },
        { NODES "duration: 0", "/duration", "outside" },
        { NODES "name: A_b", "/name", "is not a name" },
        { "nodes: [{cpus: 4}]", "/nodes/0/cpus", "unknown key \"cpus\"" },
        { "nodes: [{memory: 4Gi}]", "/nodes/0", "cpu is missing" },
        { "nodes: [{cpu: 1}, {cpu: 2}]", "/nodes/1", "two groups of nodes are called node" },
        { "nodes: [{cpu: 1, labels: {rack: a/b}}]", "/nodes/0/labels/rack", "" },
        { "nodes: [{cpu: 1, count: 60000}, {name: b, cpu: 1, count: 60000}]", "/nodes/1",
          "more than 100000 nodes" },
        { NODES "jobs: [{at: 1s}]", "/jobs/0", "the job's document is missing" },
        { NODES "jobs: [{job: {name: a, rolls: []}}]", "/jobs/0/job/rolls",
          "unknown key \"rolls\"" },
        { NODES "jobs: [{job: no-such.yaml}]", "/jobs/0/job", "no-such.yaml cannot be" },
        { NODES "jobs: [{" JOB ", work: {tasks: 3}}]", "/jobs/0/work", "belong together" },
        { NODES "jobs: [{" JOB ", work: {steps: 3}}]", "/jobs/0/work", "belong together" },
        { NODES "jobs: [{" JOB ", work: {steps: 3, tasks: 3, task: 1s}}]", "/jobs/0/work",
          "one of them" },
        { NODES "jobs: [{" JOB ", work: {lifetime: 2s, silent: true}}]", "/jobs/0/work",
          "there are none" },
        { NODES "jobs: [{" JOB ", work: {tasks: 3, task: 1s, lifetime: 2s}}]", "/jobs/0/work",
          "one of them" },
        { NODES "jobs: [{" JOB ", work: {lifetime: 2s, gpu-types: {A: 2}}}]", "/jobs/0/work",
          "there are none" },
        { NODES "jobs: [{" JOB ", work: {tasks: 3, task: 1s, gpu-types: {\"\": 2}}}]",
          "/jobs/0/work/gpu-types/", "the value of a label" },
        { NODES "jobs: [{" JOB ", work: {tasks: 3, task: 1s, gpu-types: {A: 50}}}]",
          "/jobs/0/work/gpu-types/A", "" },
        { NODES "jobs: [{" JOB ", work: {pace: 3}}]", "/jobs/0/work/pace", "unknown key" },
        { NODES "foreign: [{nodes: b, cpu: 1}]", "/foreign/0", "no group of nodes is called" },
        { NODES "services: [{cpu: 1, place: up, steps: [{at: 0, replicas: 1}]}]", "/services/0",
          "place is spread or pack" },
        { NODES "services: [{cpu: 1}]", "/services/0", "needs cpu" },
        { NODES "services: [{cpu: 1, steps: [{at: 3, replicas: 1}, {at: 3, replicas: 2}]}]",
          "/services/0/steps/1", "must be later" },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        struct scenario *scenario = NULL;
        struct edl_error error = { 0 };
        int r =
            scenario_parse(rows[i].text, strlen(rows[i].text), "/nonexistent", &scenario, &error);

        if (r >= 0)
            fail_msg("accepted: %s", rows[i].text);
        assert_null(scenario);
        if (strcmp(error.pointer, rows[i].pointer) != 0 ||
            strstr(error.text, rows[i].message) == NULL)
            fail_msg("%s: at %s: %s", rows[i].text, error.pointer, error.text);
    }
}

TEST(test_files)
{
    struct scenario *scenario = NULL;
    struct edl_error error = { 0 };

    if (scenario_load(EXAMPLES "/simulate.yaml", &scenario, &error) < 0)
        fail_msg("%s (%s)", error.text, error.pointer);
    assert_int_equal(scenario->submissions, 4);
    assert_string_equal(scenario->jobs[1].spec->name, "hostname");
    (void)scenario_free(scenario);
    assert_int_equal(scenario_load("/nonexistent/s.yaml", &scenario, &error), -EINVAL);
    assert_non_null(strstr(error.text, "/nonexistent/s.yaml cannot be opened"));
    assert_int_equal(scenario_load(EXAMPLES "/hostname.json", &scenario, &error), EDL_EBADSPEC);
    assert_non_null(strstr(error.text, "hostname.json: unknown key"));
}

/* ---- services ---- */

static uint64_t demand_at(const struct load_change *changes, size_t n, uint32_t node,
                          uint64_t at_us)
{
    uint64_t demand = 0;

    for (size_t i = 0; i < n && changes[i].at_us <= at_us; i++)
        if (changes[i].node == node)
            demand = changes[i].cpu_millicores;
    return demand;
}

TEST(test_services_spread_whole_replicas)
{
    /* 10 cores hold three replicas of three, 5 cores one */
    struct scenario *s = parse(
        "nodes: [{name: big, count: 2, cpu: 10, memory: 8Gi}, {name: low, cpu: 5}]\n"
        "services: [{cpu: 3, memory: 1Gi, steps: [{at: 0, replicas: 2}, {at: 10, replicas: 7},\n"
        "            {at: 20, replicas: 1}]}]\n"
        "foreign: [{at: 15, nodes: low, cpu: 1}]\n");
    struct load_change *changes = NULL;
    struct edl_error error = { 0 };
    size_t n = 0;

    assert_int_equal(scenario_load_changes(s, 1, &changes, &n, &error), 0);
    for (size_t i = 1; i < n; i++)
        assert_true(changes[i - 1].at_us <= changes[i].at_us);
    /* three of ten are less than three of five */
    assert_int_equal(demand_at(changes, n, 0, 0), 3000);
    assert_int_equal(demand_at(changes, n, 1, 0), 3000);
    assert_int_equal(demand_at(changes, n, 2, 0), 0);
    assert_int_equal(demand_at(changes, n, 0, 10 * USEC_PER_SEC), 9000);
    assert_int_equal(demand_at(changes, n, 1, 10 * USEC_PER_SEC), 9000);
    assert_int_equal(demand_at(changes, n, 2, 10 * USEC_PER_SEC), 3000);
    /* plain load comes on top */
    assert_int_equal(demand_at(changes, n, 2, 15 * USEC_PER_SEC), 4000);
    /* the fullest go first; one is left */
    uint64_t left = 0;

    for (uint32_t node = 0; node < 3; node++)
        left += demand_at(changes, n, node, 20 * USEC_PER_SEC);
    assert_int_equal(left, 4000);
    free(changes);
    (void)scenario_free(s);
}

TEST(test_services_pack)
{
    /* the second machine is begun when the first is full, and left first */
    struct scenario *s = parse("nodes: [{count: 3, cpu: 10}]\n"
                               "services: [{cpu: 3, place: pack, steps: [{at: 0, replicas: 5}, "
                               "{at: 10, replicas: 3}]}]\n");
    struct load_change *changes = NULL;
    uint64_t most = 0, least = UINT64_MAX;
    size_t n = 0;

    assert_int_equal(scenario_load_changes(s, 1, &changes, &n, NULL), 0);
    for (uint32_t node = 0; node < 3; node++) {
        most = MAX_OF(most, demand_at(changes, n, node, 0));
        least = MIN_OF(least, demand_at(changes, n, node, 0));
    }
    assert_int_equal(most, 9000);
    assert_int_equal(least, 0);
    assert_int_equal(n, 3); /* two machines, then one of them is empty again */
    assert_int_equal(changes[2].cpu_millicores, 0);
    free(changes);
    (void)scenario_free(s);
}

TEST(test_services_without_room)
{
    struct scenario *s = parse("nodes: [{count: 2, cpu: 5}]\n"
                               "services: [{name: web, cpu: 3, steps: [{at: 0, replicas: 3}]}]\n");
    struct load_change *changes = NULL;
    struct edl_error error = { 0 };
    size_t n = 0;

    assert_int_equal(scenario_load_changes(s, 1, &changes, &n, &error), EDL_EBADSPEC);
    assert_non_null(strstr(error.text, "only 2 of 3 replicas of web"));
    (void)scenario_free(s);
}

static bool same_changes(const struct load_change *a, const struct load_change *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (a[i].at_us != b[i].at_us || a[i].node != b[i].node ||
            a[i].cpu_millicores != b[i].cpu_millicores)
            return false;
    return true;
}

TEST(test_services_follow_the_seed)
{
    struct scenario *s = parse("nodes: [{count: 50, cpu: 4}]\n"
                               "services: [{cpu: 3, steps: [{at: 0, replicas: 20}]}]\n");
    struct load_change *a = NULL, *b = NULL, *c = NULL;
    size_t n_a = 0, n_b = 0, n_c = 0;

    assert_int_equal(scenario_load_changes(s, 1, &a, &n_a, NULL), 0);
    assert_int_equal(scenario_load_changes(s, 1, &b, &n_b, NULL), 0);
    assert_int_equal(scenario_load_changes(s, 2, &c, &n_c, NULL), 0);
    assert_int_equal(n_a, 20);
    assert_int_equal(n_b, 20);
    assert_int_equal(n_c, 20);
    assert_true(same_changes(a, b, n_a));
    assert_false(same_changes(a, c, n_a));
    free(a);
    free(b);
    free(c);
    (void)scenario_free(s);
}

/* ---- experiments ---- */

TEST(test_experiments)
{
    static const struct {
        const char *name;
        uint32_t nodes, jobs, min, max;
        uint64_t cores;
    } rows[] = {
        { "case1", 133, 20, 2, 60, 2348 },        { "case1-mixed", 133, 20, 2, 60, 2348 },
        { "case1-fixed", 133, 20, 60, 60, 2348 }, { "case2", 133, 6, 2, 60, 2348 },
        { "case2-mixed", 133, 6, 2, 60, 2348 },   { "case2-packed", 133, 6, 2, 60, 2348 },
        { "case2-fixed", 133, 6, 15, 15, 2348 },  { "tutorial", 1, 3, 2, 10, 10 },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        const struct experiment *experiment = experiment_find(rows[i].name);

        assert_non_null(experiment);
        assert_ptr_equal(experiment_at(i), experiment);

        struct scenario *s = parse(experiment->document);
        const struct job_spec *spec = s->jobs[0].spec;
        const struct role_spec *trainer = &spec->roles[job_spec_role(spec, "trainer")];

        assert_string_equal(s->name, rows[i].name);
        assert_int_equal(s->nodes, rows[i].nodes);
        assert_int_equal(s->cpu_millicores, rows[i].cores * 1000);
        assert_int_equal(s->submissions, rows[i].jobs);
        assert_int_equal(trainer->min, rows[i].min);
        assert_int_equal(trainer->max, rows[i].max);
        (void)scenario_free(s);
    }
    assert_null(experiment_at(ELEMENTS(rows)));
    assert_null(experiment_find("case3"));
}

static double first_of(const struct scenario_result *result)
{
    return result->utilisation;
}

TEST(test_goals)
{
    struct scenario_result rounds[] = { { .utilisation = 1 }, { .utilisation = 5 } };
    struct experiment_figure figure = { .of = first_of, .at_most = 3, .at_least = NAN };

    assert_near(experiment_figure(&figure, rounds, 2), 3);
    assert_true(experiment_met(&figure, 3));
    assert_false(experiment_met(&figure, 3.01));
    figure.worst = true;
    assert_near(experiment_figure(&figure, rounds, 2), 5);
    figure.at_most = NAN;
    assert_false(experiment_has_goal(&figure));
    assert_true(experiment_met(&figure, 1e9));
    figure.at_least = 4;
    assert_true(experiment_met(&figure, 4));
    assert_false(experiment_met(&figure, 3.99));
}

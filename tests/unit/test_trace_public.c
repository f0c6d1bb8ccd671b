/* SPDX-License-Identifier: Apache-2.0 */
/* test_trace_public.c - the figures of somebody else's simulator, where its public files are
 *
 * EDL_TRACES_DIR: a folder with pollux/workloads/workload-N.csv and pollux/models (petuum/adaptdl,
 * branch osdi21-artifact, simulator/workloads and simulator/traces). Without it there is nothing to
 * test. */
#define TEST_OWN_MAIN

#include <stdio.h>
#include <unistd.h>

#include "simulator/trace/import.h"
#include "tests/unit/test.h"
#include "tests/unit/trace_world.h"

#define SKIPPED 77

static const char *folder;

/* Average completion over 160 jobs on 16 nodes with 4 GPUs, as published. */
static const struct {
    int workload;
    const char *policy;
    double avg_s, tolerance_s;
} published[] = {
    { 6, "optimus", 5301.875, 0.01 }, { 6, "tiresias", 3469.694, 0.01 },
    { 1, "optimus", 4087, 0.5 },      { 1, "tiresias", 2474, 0.5 },
    { 2, "optimus", 6914, 0.5 },      { 2, "tiresias", 5145, 0.5 },
    { 3, "optimus", 3944, 0.5 },      { 3, "tiresias", 3876, 0.5 },
};

static struct trace *workload_of(int number)
{
    char path[4096], dir[4096];
    struct import_options options = { .dir = dir };
    struct edl_error error = { 0 };
    struct trace *trace = NULL;

    (void)snprintf(path, sizeof(path), "%s/pollux/workloads/workload-%d.csv", folder, number);
    (void)snprintf(dir, sizeof(dir), "%s/pollux/models", folder);
    if (pollux_import(path, &options, &trace, &error) < 0)
        fail_msg("%s; %s", error.text, error.remedy);
    return trace;
}

TEST(test_published_figures)
{
    for (size_t i = 0; i < ELEMENTS(published); i++) {
        struct trace *trace = workload_of(published[i].workload);
        struct run_config config = cluster_of(16, 4);
        struct run_result result;
        struct figures figures;

        config.round_s = 60;
        result = run_of(trace, policy_of(published[i].policy), &config);
        assert_int_equal(figures_of(trace, &config, &result, &figures, NULL), 0);
        print_message("workload %d, %s: %.3f s, published %g s\n", published[i].workload,
                      published[i].policy, figures.completion_avg_s, published[i].avg_s);
        assert_near_within(figures.completion_avg_s, published[i].avg_s, published[i].tolerance_s,
                           published[i].policy, __LINE__);
        run_result_done(&result);
        (void)trace_free(trace);
    }
}

int main(int argc, char **argv)
{
    char path[4096];

    folder = getenv("EDL_TRACES_DIR");
    if (folder == NULL) {
        (void)puts("EDL_TRACES_DIR does not say where the public traces are");
        return SKIPPED;
    }
    (void)snprintf(path, sizeof(path), "%s/pollux/workloads/workload-6.csv", folder);
    if (access(path, R_OK) < 0) {
        (void)printf("EDL_TRACES_DIR has no %s\n", path);
        return SKIPPED;
    }
    return tests_main(argc, argv);
}

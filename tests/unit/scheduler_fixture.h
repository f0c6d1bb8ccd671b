/* SPDX-License-Identifier: Apache-2.0 */
/* scheduler_fixture.h - a folder for a test, and a job that runs on one node of a small cluster */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "scheduler/core/core.h"
#include "shared/error.h"
#include "shared/job_document.h"
#include "shared/macro.h"

static const struct instant start = { .now_us = 1000 * USEC_PER_SEC,
                                      .wall_us = 1700000000 * USEC_PER_SEC };

static const char job_text[] = "apiVersion: paddlepaddle.org/v1\n"
                               "kind: TrainingJob\n"
                               "metadata: {name: example}\n"
                               "spec:\n"
                               "  fault_tolerant: true\n"
                               "  passes: 2\n"
                               "  ports_num: 2\n"
                               "  env: {FLAVOUR: sour, RANK: mine, EDL_JOB: forged,\n"
                               "        CUDA_VISIBLE_DEVICES: all}\n"
                               "  trainer:\n"
                               "    entrypoint: \"python train.py --x 1\"\n"
                               "    min-instance: 2\n"
                               "    max-instance: 4\n"
                               "    resources: {requests: {cpu: 1500m, memory: 100Mi}}\n"
                               "  pserver:\n"
                               "    entrypoint: \"serve\"\n"
                               "    min-instance: 1\n"
                               "    max-instance: 1\n"
                               "    resources: {requests: {cpu: 500m, memory: 200Mi}}\n";

static inline struct job_spec *parse_job(const char *text)
{
    struct edl_error error = { 0 };
    struct job_spec *spec = NULL;
    json_t *document = NULL;

    if (job_document_parse(text, strlen(text), &job_document_bounds, &document, &error) < 0 ||
        job_spec_from_document(document, &spec, NULL, &error) < 0)
        fail_msg("the job of the test: %s", error.text);
    json_decref(document);
    return spec;
}

static inline struct cluster *new_cluster(void)
{
    const struct cluster_config config = {
        .policy = &policy_fulfilment,
        .max_load_permille = 1000,
        .lease_us = 20 * USEC_PER_SEC,
        .lease_margin_us = USEC_PER_SEC,
    };

    return cluster_new(&config);
}

static inline struct node_report node_says(const struct process_report *processes, size_t n)
{
    return (struct node_report){
        .boot_id = "boot",
        .offer = { .address = "10.0.0.7",
                   .cpu_millicores = 4000,
                   .memory_bytes = UINT64_C(4) << 30,
                   .port_first = 20000,
                   .port_last = 20099 },
        .processes = processes,
        .n_processes = n,
        .complete = true,
    };
}

/* One node that takes everything, one job that was planned onto it. */
static inline struct job *run_text(struct cluster *cluster, const char *text)
{
    struct edl_error error = { 0 };
    struct node_report report = node_says(NULL, 0);
    struct node *node;
    struct job *job;

    assert_int_equal(cluster_join_node(cluster, "n1", "c0ffee", &report.offer, start, &node,
                                       &error),
                     0);
    assert_int_equal(cluster_report(cluster, node, &report, start, &error), 0);
    assert_int_equal(cluster_submit(cluster, parse_job(text), "me", start, &job, &error), 0);
    cluster_plan(cluster, start);
    assert_int_equal(job_count(job, 1, true), 2);
    return job;
}

static inline struct job *run_job(struct cluster *cluster)
{
    return run_text(cluster, job_text);
}

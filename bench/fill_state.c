/* SPDX-License-Identifier: Apache-2.0 */
/* fill_state.c - a state directory as years of work leave it
 *
 * Jobs of one process are submitted, run and succeed, through the same core and store that
 * edl-scheduler has; then others are submitted that stay: half of them run, half wait. No server is
 * needed, and a hundred thousand jobs take seconds.
 *
 * Usage: fill_state --ended N --live N DIR */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <utlist.h>

#include "scheduler/core/core.h"
#include "scheduler/core/model/archive.h"
#include "scheduler/store/store.h"
#include "shared/error.h"
#include "shared/job_document.h"
#include "shared/macro.h"
#include "shared/parse.h"

#define BATCH 512 /* jobs at a time, and in one transaction */
#define NODE_SLOTS 64
#define ENDED_IN_CORE 1000 /* jobs, as edl-scheduler has it */

struct fill {
    struct store *store;     /* owned */
    struct cluster *cluster; /* owned */
    struct instant now;
    uint64_t ended, live, submitted, nodes;
};

static _Noreturn void die(const struct edl_error *error)
{
    (void)fprintf(stderr, "fill_state: %s\n", error->text);
    exit(1);
}

static void commit(struct fill *fill)
{
    struct turn_records records = { 0 };
    struct edl_error error = { 0 };

    while (cluster_archive_ended(fill->cluster, fill->now) > 0)
        continue;
    records.effects = cluster_effects(fill->cluster, &records.n_effects);
    if (store_commit(fill->store, &records, &error) < 0)
        die(&error);
    cluster_effects_clear(fill->cluster);
    fill->now.now_us += USEC_PER_SEC;
    fill->now.wall_us += USEC_PER_SEC;
}

/* Of its node: all that was ordered runs, or has ended with success. */
static void report(struct fill *fill, struct node *node, bool ended)
{
    struct process_report list[NODE_SLOTS];
    struct node_report say = { .boot_id = "boot", .offer = node->offer, .complete = true };
    struct edl_error error = { 0 };
    const struct process *process;

    DL_FOREACH2(node->processes, process, node_next)
    {
        if (say.n_processes == NODE_SLOTS)
            break;
        list[say.n_processes++] = (struct process_report){
            .job_id = process->job->id,
            .role = process->job->spec->roles[process->role].name,
            .index = process->index,
            .incarnation = process->incarnation,
            .state = ended ? PROCESS_EXITED : PROCESS_RUNNING,
            .pid = 4711,
            .cpu_used_us = 900,
        };
    }
    say.processes = list;
    if (cluster_report(fill->cluster, node, &say, fill->now, &error) < 0)
        die(&error);
}

static void report_all(struct fill *fill, bool ended)
{
    for (struct node *node = cluster_nodes(fill->cluster); node != NULL; node = node->hh.next)
        report(fill, node, ended);
    cluster_plan(fill->cluster, fill->now);
    commit(fill);
}

static void add_node(struct fill *fill)
{
    struct node_offer offer = { .address = "10.0.0.1",
                                .cpu_millicores = UINT64_C(1000) * NODE_SLOTS,
                                .memory_bytes = UINT64_C(256) << 30,
                                .port_first = 20000,
                                .port_last = 20999,
                                .numa_nodes = 2 };
    struct edl_error error = { 0 };
    struct node *node;
    char name[32];

    (void)snprintf(name, sizeof name, "node-%" PRIu64, ++fill->nodes);
    if (cluster_join_node(fill->cluster, name, "-", &offer, fill->now, &node, &error) < 0)
        die(&error);
}

static void submit(struct fill *fill)
{
    struct edl_error error = { 0 };
    struct job_spec *spec = NULL;
    struct job *job;
    char name[32];
    json_t *document;

    (void)snprintf(name, sizeof name, "train-%" PRIu64, ++fill->submitted);
    document = json_pack("{s:{s:s},s:{s:{s:[s,s,s],s:i,s:i,s:{s:{s:s,s:s}}}}}", "metadata", "name",
                         name, "spec", "trainer", "command", "/usr/bin/python3",
                         "/srv/models/train.py", "--epochs=90", "min-instance", 1, "max-instance",
                         1, "resources", "requests", "cpu", "1", "memory", "1Gi");
    if (job_spec_from_document(document, &spec, NULL, &error) < 0 ||
        cluster_submit(fill->cluster, spec, "bench", fill->now, &job, &error) < 0)
        die(&error);
    json_decref(document);
}

static void run(struct fill *fill)
{
    uint64_t nodes = MAX_OF(fill->live / 2, (uint64_t)BATCH) / NODE_SLOTS;

    for (uint64_t i = 0; i < nodes; i++)
        add_node(fill);
    report_all(fill, false);
    for (uint64_t done = 0; done < fill->ended; done += BATCH) {
        for (uint64_t i = 0; i < MIN_OF((uint64_t)BATCH, fill->ended - done); i++)
            submit(fill);
        cluster_plan(fill->cluster, fill->now);
        commit(fill);
        report_all(fill, false);
        report_all(fill, true);
    }
    for (uint64_t i = 0; i < fill->live; i++)
        submit(fill);
    cluster_plan(fill->cluster, fill->now);
    commit(fill);
    report_all(fill, false);
    do /* what is over leaves the core a few at a time */
        commit(fill);
    while (cluster_count_ended(fill->cluster) > ENDED_IN_CORE);
}

static bool read_options(struct fill *fill, int argc, char **argv)
{
    static const struct option longs[] = { { "ended", required_argument, NULL, 'e' },
                                           { "live", required_argument, NULL, 'l' },
                                           { NULL, 0, NULL, 0 } };
    int c;

    while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1)
        if ((c != 'e' && c != 'l') || parse_u64(optarg, c == 'e' ? &fill->ended : &fill->live) < 0)
            return false;
    return optind + 1 == argc;
}

int main(int argc, char **argv)
{
    struct cluster_config config = { .policy = policy_find("fulfilment"),
                                     .max_load_permille = 1000,
                                     .lease_us = 20 * USEC_PER_SEC,
                                     .lease_margin_us = 5 * USEC_PER_SEC,
                                     .keep_ended_jobs = ENDED_IN_CORE };
    struct fill fill = { .now = clock_instant() };
    struct edl_error error = { 0 };
    char path[4096];

    if (!read_options(&fill, argc, argv)) {
        (void)fprintf(stderr, "usage: fill_state --ended N --live N DIR\n");
        return 2;
    }
    (void)snprintf(path, sizeof path, "%s/edl.db", argv[optind]);
    if (mkdir(argv[optind], 0700) == -1)
        (void)edl_error_errno(&error, -errno, "making %s", argv[optind]);
    if (error.code < 0 || store_open(path, &fill.store, &error) < 0)
        die(&error);
    fill.cluster = cluster_new(&config);
    run(&fill);
    (void)printf("{\"jobs\":%" PRIu64 ",\"active\":%" PRIu64 ",\"nodes\":%" PRIu64 "}\n",
                 fill.submitted, fill.live, fill.nodes);
    (void)cluster_free(fill.cluster);
    (void)store_free(fill.store);
    return 0;
}

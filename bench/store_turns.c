/* SPDX-License-Identifier: Apache-2.0 */
/* store_turns.c - how long a turn of submissions takes to be stored, by either engine
 *
 * Each submission has its job, its event, the answer to its Idempotency-Key and its line of the
 * audit log, as in edl-scheduler. They are queued: no node is there. Each turn waits for its
 * commit.
 *
 * Usage: store_turns [--turns N] FILE|URL... */
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/samples.h"
#include "scheduler/core/core.h"
#include "scheduler/leadership/store_url.h"
#include "scheduler/store/postgresql/postgresql.h"
#include "scheduler/store/store.h"
#include "shared/error.h"
#include "shared/job_document.h"
#include "shared/macro.h"
#include "shared/parse.h"

#define MOST 16 /* submissions in a turn */

struct bench {
    struct store *store;     /* owned */
    struct cluster *cluster; /* owned */
    struct instant now;
    uint64_t submitted;
    struct stored_answer answers[MOST];
    struct account_change lines[MOST];
    char keys[MOST][40];
};

static _Noreturn void die(const struct edl_error *error)
{
    (void)fprintf(stderr, "store_turns: %s\n", error->text);
    exit(1);
}

static void submit(struct bench *bench, size_t at)
{
    static char digest[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    static char user[] = "ann", none[] = "", via[] = "token 3", method[] = "POST";
    static char target[] = "/jobs", request[] = "0123456789abcdef";
    static char body[] =
        "{\"id\":12345,\"name\":\"train-12345\",\"state\":\"queued\",\"user\":\"ann\"}";
    struct edl_error error = { 0 };
    struct job_spec *spec = NULL;
    struct job *job;
    char name[32];
    json_t *document;

    (void)snprintf(name, sizeof name, "train-%" PRIu64, ++bench->submitted);
    document = json_pack("{s:{s:s},s:{s:{s:[s,s,s],s:i,s:i,s:{s:{s:s,s:s}}}}}", "metadata", "name",
                         name, "spec", "trainer", "command", "/usr/bin/python3",
                         "/srv/models/train.py", "--epochs=90", "min-instance", 1, "max-instance",
                         1, "resources", "requests", "cpu", "1", "memory", "1Gi");
    if (job_spec_from_document(document, &spec, NULL, &error) < 0 ||
        cluster_submit(bench->cluster, spec, user, bench->now, &job, &error) < 0)
        die(&error);
    json_decref(document);
    (void)snprintf(bench->keys[at], sizeof bench->keys[at], "key-%" PRIu64, bench->submitted);
    bench->answers[at] = (struct stored_answer){ .user = user,
                                                 .key = bench->keys[at],
                                                 .digest = digest,
                                                 .status = 201,
                                                 .location = none,
                                                 .etag = none,
                                                 .body = body,
                                                 .wall_us = bench->now.wall_us };
    bench->lines[at] = (struct account_change){ .kind = ACCOUNT_AUDIT,
                                                .name = user,
                                                .via = via,
                                                .method = method,
                                                .target = target,
                                                .request_id = request,
                                                .status = 201,
                                                .created_wall_us = bench->now.wall_us };
}

static double turn(struct bench *bench, size_t n)
{
    struct turn_records records = { .answers = bench->answers,
                                    .n_answers = n,
                                    .accounts = bench->lines,
                                    .n_accounts = n,
                                    .wall_us = bench->now.wall_us };
    struct edl_error error = { 0 };
    uint64_t start_us;

    for (size_t i = 0; i < n; i++)
        submit(bench, i);
    records.effects = cluster_effects(bench->cluster, &records.n_effects);
    start_us = clock_read_us(CLOCK_MONOTONIC);
    if (store_commit(bench->store, &records, &error) < 0)
        die(&error);
    start_us = clock_read_us(CLOCK_MONOTONIC) - start_us;
    cluster_effects_clear(bench->cluster);
    bench->now.now_us += USEC_PER_SEC;
    bench->now.wall_us += USEC_PER_SEC;
    return (double)start_us;
}

static void measure(struct bench *bench, size_t n, uint64_t turns)
{
    struct samples samples = { 0 };
    struct sample_figures figures;

    for (uint64_t i = 0; i < turns / 10 + 1; i++) /* the first ones prepare statements */
        (void)turn(bench, n);
    for (uint64_t i = 0; i < turns; i++)
        samples_add(&samples, turn(bench, n));
    figures = samples_figures(&samples);
    (void)printf(",\"turn_%zu_p50_ms\":%.3f,\"turn_%zu_p99_ms\":%.3f", n, figures.p50 / 1000, n,
                 figures.p99 / 1000);
    samples_free(&samples);
}

static void measure_store(const char *place, uint64_t turns)
{
    struct cluster_config config = { .policy = policy_find("fulfilment"),
                                     .max_load_permille = 1000,
                                     .lease_us = 20 * USEC_PER_SEC,
                                     .lease_margin_us = 5 * USEC_PER_SEC };
    struct bench bench = { .now = clock_instant() };
    struct edl_error error = { 0 };
    bool is_url = store_url_is_known(place);
    int r = is_url ? postgresql_open(place, 0, &bench.store, &error)
                   : store_open(place, &bench.store, &error);
    uint64_t term;

    if (r == 0 && is_url)
        r = postgresql_lead(bench.store, "bench", "", 0, NULL, &term, &error);
    if (r < 0)
        die(&error);
    bench.cluster = cluster_new(&config);
    (void)printf("{\"engine\":\"%s\"", is_url ? "postgresql" : "sqlite");
    measure(&bench, 1, turns);
    measure(&bench, MOST, turns);
    (void)printf("}\n");
    (void)cluster_free(bench.cluster);
    (void)store_free(bench.store);
}

int main(int argc, char **argv)
{
    static const struct option longs[] = { { "turns", required_argument, NULL, 't' },
                                           { NULL, 0, NULL, 0 } };
    uint64_t turns = 200;
    int c;

    while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1)
        if (c != 't' || parse_u64(optarg, &turns) < 0)
            argc = 0;
    if (optind >= argc) {
        (void)fprintf(stderr, "usage: store_turns [--turns N] FILE|URL...\n");
        return 2;
    }
    for (; optind < argc; optind++)
        measure_store(argv[optind], turns);
    return 0;
}

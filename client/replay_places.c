/* SPDX-License-Identifier: Apache-2.0 */
/* replay_places.c - how many instances fit on the nodes that there are */
#include <errno.h>
#include <inttypes.h>

#include "client/json_read.h"
#include "client/replay.h"
#include "client/report.h"
#include "client/server.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/job_spec.h"
#include "shared/macro.h"
#include "shared/parse.h"

#define SPECS_MAX 500 /* jobs that are asked for what an instance of theirs requests */

enum { CPU, MEMORY, GPUS, KINDS };

static const char *const offers[KINDS] = { "cpu_millicores", "memory_bytes", "gpus" };

struct requests {
    uint64_t *values[KINDS];
    size_t n;
};

static void add_requests(struct requests *requests, const json_t *whole)
{
    size_t i;
    const json_t *role;

    json_array_foreach(json_object_get(json_object_get(whole, "spec"), "roles"), i, role)
    {
        uint64_t millicores = 0;

        if (i == JOB_ROLES_MAX)
            return;
        (void)parse_cpu(json_text(role, "cpu"), &millicores);
        requests->values[CPU][requests->n] = millicores;
        requests->values[MEMORY][requests->n] = json_u64(role, "memory");
        requests->values[GPUS][requests->n++] = json_u64(role, "gpus");
    }
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* read_requests - of all roles of jobs that are spread evenly over all; medians */
static int read_requests(struct replay *replay, struct server *server, uint64_t medians[KINDS],
                         size_t *ret_n)
{
    size_t n_jobs = json_array_size(replay->jobs), n = MIN_OF(n_jobs, (size_t)SPECS_MAX);
    struct requests requests = { .n = 0 };
    int status = STATUS_OK;

    for (int kind = 0; kind < KINDS; kind++)
        requests.values[kind] = xcalloc(n, JOB_ROLES_MAX * sizeof(uint64_t));
    for (size_t i = 0; status == STATUS_OK && i < n; i++) {
        const json_t *job = json_array_get(replay->jobs, i * n_jobs / n);
        _cleanup_json_ json_t *whole = NULL;

        status = replay_read_job(server, json_u64(job, "id"), &whole);
        if (whole != NULL)
            add_requests(&requests, whole);
    }
    for (int kind = 0; kind < KINDS; kind++) {
        qsort(requests.values[kind], requests.n, sizeof(uint64_t), by_value);
        medians[kind] = requests.n > 0 ? requests.values[kind][requests.n / 2] : 0;
        free(requests.values[kind]);
    }
    *ret_n = requests.n;
    return status;
}

static uint64_t fits(const json_t *node, const uint64_t medians[KINDS])
{
    uint64_t n = UINT32_MAX;

    for (int kind = 0; kind < KINDS; kind++)
        if (medians[kind] > 0)
            n = MIN_OF(n, json_u64(node, offers[kind]) / medians[kind]);
    return n;
}

static int no_places(const char *why)
{
    struct edl_error error = { 0 };

    (void)edl_error_set(&error, -EINVAL, "how many instances fit cannot be told: %s", why);
    (void)edl_error_remedy(&error, "--nodes NODESxINSTANCES");
    return report_error(&error);
}

int replay_places(struct replay *replay, struct server *server)
{
    uint64_t medians[KINDS], places = 0, n_nodes = 0;
    size_t n_specs, i;
    const json_t *node;
    int status = read_requests(replay, server, medians, &n_specs);

    if (status != STATUS_OK)
        return status;
    if (n_specs == 0 || medians[CPU] + medians[MEMORY] + medians[GPUS] == 0)
        return no_places("no job requests anything");
    json_array_foreach(replay->nodes, i, node)
    {
        uint64_t n = streq(json_text(node, "state"), "ready") ? fits(node, medians) : 0;

        n_nodes += n > 0;
        places += n;
    }
    if (n_nodes == 0)
        return no_places("on no ready node one of the median request does");
    /* nodes of the laboratory are equal: as many places each as the mean, without the rest */
    replay->n_nodes = (uint32_t)n_nodes;
    replay->per_node = (uint32_t)(places / n_nodes);
    (void)snprintf(replay->places, sizeof(replay->places),
                   "%" PRIu64 "m CPU, %" PRIu64 " MiB, %" PRIu64 " GPU%s: the median of %zu role%s",
                   medians[CPU], medians[MEMORY] >> 20, medians[GPUS], PLURAL(medians[GPUS]),
                   n_specs, PLURAL(n_specs));
    return STATUS_OK;
}

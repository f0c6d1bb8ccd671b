/* SPDX-License-Identifier: Apache-2.0 */
/* log_rank.c - see log_rank.h */
#include "client/log_rank.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "client/job_view.h"
#include "client/json_read.h"
#include "client/report.h"
#include "client/server.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/parse.h"

#define WORKING "trainer"
#define RANKS_SHOWN 200

/* working_role - NULL: the job has no such role */
static const json_t *working_role(const json_t *job, const char *wanted)
{
    const json_t *roles = json_object_get(json_object_get(job, "spec"), "roles");
    const char *name = wanted != NULL ? wanted : WORKING;
    size_t i;
    json_t *role;

    json_array_foreach(roles, i, role)
    {
        if (streq(json_text(role, "role"), name))
            return role;
    }
    return wanted != NULL ? NULL : json_array_get(roles, 0);
}

static int compare(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* ranks_of - of the processes that there are or were: each once, rising, the caller's */
static uint64_t *ranks_of(const json_t *role, const json_t *processes, size_t *ret_n)
{
    uint64_t *ranks = xcalloc(json_array_size(processes) + 1, sizeof *ranks);
    size_t n = 0, kept = 0, i;
    json_t *process;

    json_array_foreach(processes, i, process)
    {
        if (streq(json_text(process, "role"), json_text(role, "role")))
            ranks[n++] = json_u64(process, "index");
    }
    qsort(ranks, n, sizeof *ranks, compare);
    for (i = 0; i < n; i++)
        if (kept == 0 || ranks[kept - 1] != ranks[i])
            ranks[kept++] = ranks[i];
    *ret_n = kept;
    return ranks;
}

/* say_ranks - "0 to 3, 5" */
static void say_ranks(const uint64_t *ranks, size_t n, char text[RANKS_SHOWN])
{
    size_t used = 0, last;

    text[0] = '\0';
    for (size_t i = 0; i < n && used + 64 < RANKS_SHOWN; i = last + 1) {
        const char *comma = i > 0 ? ", " : "";

        for (last = i; last + 1 < n && ranks[last + 1] == ranks[last] + 1; last++)
            ;
        used +=
            (size_t)(last == i
                         ? snprintf(text + used, RANKS_SHOWN - used, "%s%" PRIu64, comma, ranks[i])
                         : snprintf(text + used, RANKS_SHOWN - used, "%s%" PRIu64 " to %" PRIu64,
                                    comma, ranks[i], ranks[last]));
    }
}

static int check(const struct log_request *request, const json_t *role, const json_t *processes,
                 uint64_t rank, struct edl_error *error)
{
    _cleanup_free_ uint64_t *ranks = NULL;
    char text[RANKS_SHOWN];
    size_t n;

    if (role == NULL)
        return edl_error_set(error, -ENOENT, "job %.80s has no role \"%.40s\"", request->job,
                             request->role != NULL ? request->role : WORKING);
    ranks = ranks_of(role, processes, &n);
    for (size_t i = 0; i < n; i++)
        if (ranks[i] == rank)
            return 0;
    if (n == 0 && rank < json_u64(role, "max"))
        return 0; /* it is to come */
    say_ranks(ranks, n, text);
    if (n == 0)
        (void)snprintf(text, sizeof text, "0 to %" PRIu64, json_u64(role, "max") - 1);
    (void)edl_error_set(error, -ENOENT, "job %.80s has no rank %" PRIu64 " of role %.40s",
                        request->job, rank, json_text(role, "role"));
    return edl_error_remedy(error, "its ranks are %s", text);
}

int log_rank_find(struct server *server, const struct log_request *request, const char *rank,
                  struct log_rank *ret)
{
    _cleanup_free_ char *path = job_path(request->job, ""),
                        *list = job_path(request->job, "/processes?state=all");
    _cleanup_json_ json_t *job = NULL, *processes = NULL;
    const json_t *role;
    struct edl_error error = { 0 };
    uint64_t number = 0;
    int status = server_get(server, &job, "%s", path);

    if (status == STATUS_OK)
        status = server_get(server, &processes, "%s", list);
    if (status != STATUS_OK)
        return status;
    (void)parse_u64(rank, &number); /* which was checked */
    role = working_role(job, request->role);
    if (check(request, role, json_object_get(processes, "processes"), number, &error) < 0)
        return report_error(&error);
    ret->role = xstrdup(json_text(role, "role"));
    ret->index = text_format("%" PRIu64, number);
    return STATUS_OK;
}

void log_rank_clear(struct log_rank *rank)
{
    free(rank->role);
    free(rank->index);
}

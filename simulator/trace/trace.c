/* SPDX-License-Identifier: Apache-2.0 */
/* trace.c - jobs as they were submitted */
#include "simulator/trace/trace.h"

#include "shared/macro.h"
#include "simulator/trace/profile.h"

struct trace *trace_new(const char *name)
{
    const char *slash = strrchr(name, '/');
    struct trace *trace = xcalloc(1, sizeof(*trace));

    trace->name = xstrdup(slash != NULL && slash[1] != '\0' ? slash + 1 : name);
    return trace;
}

struct trace *trace_free(struct trace *trace)
{
    if (trace == NULL)
        return NULL;
    for (size_t i = 0; i < trace->n; i++) {
        free(trace->jobs[i].name);
        free(trace->jobs[i].family);
        free(trace->jobs[i].user);
        (void)profile_unref(trace->jobs[i].profile);
    }
    free(trace->jobs);
    free(trace->name);
    free(trace);
    return NULL;
}

struct trace_job *trace_add(struct trace *trace)
{
    struct trace_job *job;

    if (trace->n == trace->cap) {
        trace->cap = trace->cap ? 2 * trace->cap : 256;
        trace->jobs = xreallocarray(trace->jobs, trace->cap, sizeof(*trace->jobs));
    }
    job = &trace->jobs[trace->n++];
    *job = (struct trace_job){ .weight = 1 };
    return job;
}

/* merge - two sorted halves; the first one's jobs go first where both were submitted at once */
static void merge(struct trace_job *jobs, size_t half, size_t n, struct trace_job *room)
{
    size_t a = 0, b = half, out = 0;

    while (a < half || b < n)
        if (b == n || (a < half && jobs[a].submit_s <= jobs[b].submit_s))
            room[out++] = jobs[a++];
        else
            room[out++] = jobs[b++];
    memcpy(jobs, room, n * sizeof(*jobs));
}

static void sort(struct trace_job *jobs, size_t n, struct trace_job *room)
{
    if (n < 2)
        return;
    sort(jobs, n / 2, room);
    sort(jobs + n / 2, n - n / 2, room);
    merge(jobs, n / 2, n, room);
}

void trace_sort(struct trace *trace)
{
    struct trace_job *room = xcalloc(trace->n, sizeof(*room));

    sort(trace->jobs, trace->n, room);
    free(room);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* trace.h - jobs as they were submitted, with the figures that decide how long each takes */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct edl_error;
struct profile;

#define TRACE_JOBS_MAX 10000000

struct trace_job {
    char *name, *family, *user;
    double submit_s;
    double work_steps; /* of profiles without bounds of their own */
    double weight;     /* 1: as others */
    double deadline_s; /* after submission; 0: none */
    uint32_t requested, min, max;
    uint32_t batch;          /* the owner's; 0: not told */
    struct profile *profile; /* referenced */
};

struct trace {
    char *name; /* of the file, for tables */
    struct trace_job *jobs;
    size_t n, cap;
};

struct trace *trace_new(const char *name);
struct trace *trace_free(struct trace *trace);

/* trace_add - an empty job with weight 1 */
struct trace_job *trace_add(struct trace *trace);

/* trace_sort - by submission; those of one moment stay as they were */
void trace_sort(struct trace *trace);

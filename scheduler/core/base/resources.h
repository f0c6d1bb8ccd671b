/* SPDX-License-Identifier: Apache-2.0 */
/* resources.h - amounts that nodes offer and processes ask for; plain values */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/macro.h"

struct resources {
    int64_t cpu_millicores, memory_bytes, gpus, ports; /* signed: a node may owe */
};

/* Searches for room call these most of all: inline. */
static inline bool resources_covers_one(int64_t have, int64_t need)
{
    return need == 0 || have >= need;
}

/* resources_fit - have covers need; a resource that is not needed cannot be short: a node that owes
 * memory still takes an instance that asks for none */
static inline bool resources_fit(const struct resources *have, const struct resources *need)
{
    return resources_covers_one(have->cpu_millicores, need->cpu_millicores) &&
           resources_covers_one(have->memory_bytes, need->memory_bytes) &&
           resources_covers_one(have->gpus, need->gpus) &&
           resources_covers_one(have->ports, need->ports);
}

static inline void resources_add(struct resources *to, const struct resources *what, int64_t times)
{
    to->cpu_millicores += times * what->cpu_millicores;
    to->memory_bytes += times * what->memory_bytes;
    to->gpus += times * what->gpus;
    to->ports += times * what->ports;
}

/* each figure of `to` is at least that figure of `what` afterwards */
static inline void resources_raise(struct resources *to, const struct resources *what)
{
    to->cpu_millicores = MAX_OF(to->cpu_millicores, what->cpu_millicores);
    to->memory_bytes = MAX_OF(to->memory_bytes, what->memory_bytes);
    to->gpus = MAX_OF(to->gpus, what->gpus);
    to->ports = MAX_OF(to->ports, what->ports);
}

/* each figure is the lesser one of both */
static inline struct resources resources_lesser(const struct resources *a,
                                                const struct resources *b)
{
    return (struct resources){ .cpu_millicores = MIN_OF(a->cpu_millicores, b->cpu_millicores),
                               .memory_bytes = MIN_OF(a->memory_bytes, b->memory_bytes),
                               .gpus = MIN_OF(a->gpus, b->gpus),
                               .ports = MIN_OF(a->ports, b->ports) };
}

static inline bool resources_equal(const struct resources *a, const struct resources *b)
{
    return a->cpu_millicores == b->cpu_millicores && a->memory_bytes == b->memory_bytes &&
           a->gpus == b->gpus && a->ports == b->ports;
}

/* resources_missing - the part of need that have lacks, each figure for itself */
struct resources resources_missing(const struct resources *have, const struct resources *need);
/* resources_times - how often need goes into have; INT64_MAX: it needs nothing */
int64_t resources_times(const struct resources *have, const struct resources *need);
/* some figure of a is larger than that of b */
bool resources_exceed(const struct resources *a, const struct resources *b);
/* some figure is below zero */
bool resources_owe(const struct resources *what);
/* "1400m CPU, 2.0 GiB memory, 1 GPU" */
void resources_describe(const struct resources *what, char *buffer, size_t size);

/* gpus_mask - of the devices 0..n-1, a bit for each; 64 at most */
static inline uint64_t gpus_mask(uint32_t n)
{
    return n >= 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

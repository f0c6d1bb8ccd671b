/* SPDX-License-Identifier: Apache-2.0 */
/* servers.h - with how many parameter servers a job is started */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/base/resources.h"
#include "scheduler/core/speed/servers.h"

struct demand;
struct job;
struct placed;
struct plan;

/* The room for more servers than the fewest (plan/servers.c). */
struct spare {
    bool known;
    struct resources left; /* below 0: those that wait lack so much for their minima */
    uint32_t n_jobs;       /* elastic ones, which share it */
};

struct servers_choice {
    uint32_t placed;               /* 0: its document says how many */
    struct goodput_servers wanted; /* why: the wanted thing */
    bool bound; /* its owners have a limit: they may hold its minimum, and that is sure */
};

/* plan_more_servers - as many more than its minimum a job may be started with */
uint32_t plan_more_servers(const struct job *job);

/* plan_place_servers - behind the n places of its gang, which are taken, those of more servers,
 * which are taken as well; how many places there are then */
size_t plan_place_servers(struct plan *plan, const struct job *job, struct placed *placed, size_t n,
                          struct servers_choice *ret);

/* plan_promise_servers - its gang fits now with the fewest: true when others give way for more,
 * whose places are promised with those of the gang. Nothing when as many as it wants fit already */
bool plan_promise_servers(struct plan *plan, struct job *job, const struct demand *demands,
                          size_t n);

/* plan_promised_servers - places that it is promised beyond its gang; all of them or none count */
size_t plan_promised_servers(const struct job *job, size_t gang);

/* plan_promised_beyond - what those need */
struct resources plan_promised_beyond(const struct job *job, size_t gang);

/* plan_fix_servers - it is started with those, and is told why */
void plan_fix_servers(struct plan *plan, struct job *job, const struct servers_choice *choice);

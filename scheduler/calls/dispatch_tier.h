/* SPDX-License-Identifier: Apache-2.0 */
/* dispatch_tier.h - the kinds of callers, in the order in which they are served */
#pragma once

enum dispatch_tier {
    DISPATCH_NODES,     /* calls that keep a node in the cluster (ROUTE_FIRST): always at once */
    DISPATCH_PROCESSES, /* the other calls of processes and agents: fair among users, and nodes */
    DISPATCH_PEOPLE,    /* all others: fair among users, and the addresses of strangers */
    DISPATCH_POLLS,     /* long polls that have news, as people: thousands may wait for the same */
    DISPATCH_FORECASTS, /* ?dry_run=1: one after the other, beside the loop (api/forecast.c) */
    DISPATCH_TIERS,
};

/* dispatch_tier_to_string - "node", "process", "person", "poll", "forecast" */
const char *dispatch_tier_to_string(enum dispatch_tier tier);

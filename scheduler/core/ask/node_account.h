/* SPDX-License-Identifier: Apache-2.0 */
/* node_account.h - what one node has for an instance, and why it does not take it now
 *
 * For people who ask; plans do not look at it. Tests: tests/unit/test_account.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "scheduler/core/base/resources.h"

struct want;

/* Why a node does not take an instance now, the nearest first. */
enum account_verdict {
    ACCOUNT_FITS,      /* it does, but not for all that has to start at once */
    ACCOUNT_FOREIGN,   /* it would if nothing but jobs ran there */
    ACCOUNT_FULL,      /* something is granted or promised that it needs */
    ACCOUNT_TOO_SMALL, /* even when it is empty */
    ACCOUNT_UNFIT,     /* it cannot run it: node_account.unfit */
    ACCOUNT_LABELS,    /* it does not carry the labels that the role wants */
    ACCOUNT_UNHEARD,   /* it has not told yet what runs there, or something stale still does */
    ACCOUNT_DISK_FULL, /* nothing starts there: there is no room on its disk */
    ACCOUNT_CLOSED,    /* cordoned, draining, lost, quarantined, or has never reported */
    ACCOUNT_VERDICTS
};
const char *account_verdict_to_string(enum account_verdict verdict); /* "fits", "too-small", ... */

struct node_account {
    const struct node *node; /* borrowed */
    enum account_verdict verdict;
    struct resources free;  /* the room that is not granted, promised to others nor foreign load */
    struct resources lacks; /* of one instance */
    struct resources foreign;       /* foreign load, and so not free */
    const struct unfit_node *unfit; /* UNFIT: its agent's words; borrowed */
    uint32_t fits;                  /* instances that it would take now */
};

/* node_account_of - what a node has for one of these. promised: to the job itself, which may have
 * taken it */
struct node_account node_account_of(const struct node *node, const struct want *want,
                                    bool promised);

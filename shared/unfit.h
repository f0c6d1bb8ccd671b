/* SPDX-License-Identifier: Apache-2.0 */
/* unfit.h - why a node cannot run a process at all, even with room: said by its agent, and passed
 * by from then on by the scheduler */
#pragma once

#include <stdbool.h>

enum unfit {
    UNFIT_NOT,             /* it can, or something else is in the way */
    UNFIT_NO_ACCOUNT,      /* there is no account there that it could run as */
    UNFIT_ACCOUNT_REFUSED, /* the node's owner does not let this account run processes */
    UNFIT_ACCOUNT_DIFFERS, /* it has another number there than at the scheduler: another person's */
    UNFIT_NO_WORKSPACE,    /* the folder that it is to run in is not there, or not open to it */
    /* the scheduler's words for what start_fault.h told: it is tried there again, later */
    UNFIT_START_FAILED, /* the node could not start it */
    UNFIT_DISK_FULL,    /* likewise, as its disk is full */
    UNFIT_NO_PROGRAM,   /* likewise, as what it is to execute is not there */
    _UNFITS
};

/* unfit_to_string - "no-account"; "" for UNFIT_NOT */
const char *unfit_to_string(enum unfit why);
/* unfit_is_refusal - the node said that it cannot run it, whatever else is there */
static inline bool unfit_is_refusal(enum unfit why)
{
    return why != UNFIT_NOT && why < UNFIT_START_FAILED;
}
/* unfit_from_string - what an agent says. UNFIT_NOT also for a word of a later version, and for
 * NULL */
enum unfit unfit_from_string(const char *word);

/* SPDX-License-Identifier: Apache-2.0 */
/* unfit.h - why a node cannot run a process at all, whatever room it has: said by its agent, and
 * passed by from then on by the scheduler */
#pragma once

enum unfit {
    UNFIT_NOT,             /* it can, or something else is in the way */
    UNFIT_NO_ACCOUNT,      /* there is no account there that it could run as */
    UNFIT_ACCOUNT_REFUSED, /* the node's owner does not let this account run processes */
    UNFIT_NO_WORKSPACE,    /* the folder that it is to run in is not there, or not open to it */
    _UNFITS
};

/* unfit_to_string - "no-account"; "" for UNFIT_NOT */
const char *unfit_to_string(enum unfit why);
/* unfit_from_string - UNFIT_NOT also for a word of a later version, and for NULL */
enum unfit unfit_from_string(const char *word);

/* SPDX-License-Identifier: Apache-2.0 */
/* exit_cause.h - why a process ended, as its supervisor writes it down and its agent reports it
 *
 * The scheduler decides by this word: an end by its node is no failure of the program. The sentence
 * beside it (reason) is for people. Whose fault a failed start is, start_fault.h tells. Used by:
 * agent, scheduler, simulator. Tests: tests/unit/test_causes.c. */
#pragma once

enum exit_cause {
    EXIT_CAUSE_NONE,    /* nothing is told: by a version before, or start_fault and unfit tell it */
    EXIT_CAUSE_PROGRAM, /* its program ended by itself */
    EXIT_CAUSE_STOPPED, /* it was asked to stop: by its agent, or as the machine goes down */
    EXIT_CAUSE_LEASE,   /* its node was cut off for longer than the lease allows */
    EXIT_CAUSE_REBOOTED,    /* its machine was restarted, and nobody saw the end */
    EXIT_CAUSE_UNSEEN,      /* its supervisor vanished, and nobody saw the end */
    EXIT_CAUSE_STOOD_STILL, /* it broke its promise to say that it is alive, and was killed */
    _EXIT_CAUSES
};

/* exit_cause_to_string - "lease-ended"; "" for EXIT_CAUSE_NONE */
const char *exit_cause_to_string(enum exit_cause cause);

/* exit_cause_from_string - EXIT_CAUSE_NONE for NULL, "" and a word of a later version */
enum exit_cause exit_cause_from_string(const char *word);

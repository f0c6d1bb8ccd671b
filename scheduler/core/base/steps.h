/* SPDX-License-Identifier: Apache-2.0 */
/* steps.h - what a process has told of its training steps, and how fast it is by the last ones
 *
 * Reports bring sums. The work since the last note is a note of its own once it lasted
 * STEPS_NOTE_US: enough of it that a report more or less makes no difference. All is the program's
 * word. So a note is bounded, and figures that nobody can believe (sums that fall, no time that
 * passed) are a new beginning. Nothing of it is remembered; a restart reads it from the next
 * reports. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "shared/step_sums.h"

#define STEPS_NOTE_US UINT64_C(5000000)
/* In one note no more is believed: the sums of a cluster stay figures, for any words of one job. */
#define STEPS_NOTE_SAMPLES_MAX (UINT64_C(1) << 40)

/* As a report has it. */
struct steps_told {
    bool any;
    struct step_sums sums; /* since the process, or its agent, began */
    uint64_t age_us;       /* since it told the last of them */
};

struct process_steps {
    struct step_sums total;  /* since the process began, as far as this run knows */
    struct step_sums told;   /* as its agent last said */
    uint64_t at_us;          /* when it told that */
    struct step_sums last;   /* the last note; before there is one, the work so far */
    uint64_t last_us;        /* so long it took */
    struct step_sums undone; /* told since, no note yet */
    uint64_t since_us;       /* since then */
};

/* steps_begin - the first that is heard of it */
void steps_begin(struct process_steps *steps, const struct steps_told *told, uint64_t now_us);
/* steps_take - what a further report says: 0, or how long the note took that it completed, in
 * microseconds: steps->last. ret_new: the work since the report before, for a caller that counts.
 * O(1)
 */
uint64_t steps_take(struct process_steps *steps, const struct steps_told *told, uint64_t now_us,
                    struct step_sums *ret_new);
/* steps_begin_note - what was told so far is part of no note: the next one begins now */
void steps_begin_note(struct process_steps *steps, uint64_t now_us);
/* steps_samples_per_s - by the last note; less when nothing was told for longer than that took */
double steps_samples_per_s(const struct process_steps *steps, uint64_t now_us);

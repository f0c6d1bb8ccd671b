/* SPDX-License-Identifier: Apache-2.0 */
/* steps.c - see steps.h */
#include "scheduler/core/base/steps.h"

#include "shared/clock.h"

static uint64_t told_at(const struct steps_told *told, uint64_t now_us)
{
    return now_us - MIN_OF(told->age_us, now_us);
}

void steps_begin(struct process_steps *steps, const struct steps_told *told, uint64_t now_us)
{
    *steps = (struct process_steps){ .at_us = told_at(told, now_us) };
    step_sums_add(&steps->total, &told->sums);
    steps->told = steps->total;
    steps->since_us = steps->at_us;
}

static bool has_fallen(const struct step_sums *sums, const struct step_sums *before)
{
    return sums->steps < before->steps || sums->samples < before->samples ||
           sums->compute_us < before->compute_us || sums->wait_us < before->wait_us;
}

/* The work between the two: all of it where they have fallen, as its agent began anew. */
static struct step_sums since(const struct step_sums *sums, const struct step_sums *before)
{
    struct step_sums more = { 0 };

    step_sums_add(&more, sums);
    if (has_fallen(&more, before))
        return more;
    more.steps -= before->steps;
    more.samples -= before->samples;
    more.compute_us -= before->compute_us;
    more.wait_us -= before->wait_us;
    return more;
}

uint64_t steps_take(struct process_steps *steps, const struct steps_told *told, uint64_t now_us,
                    struct step_sums *ret_new)
{
    uint64_t at_us = MAX_OF(told_at(told, now_us), steps->at_us);
    bool fell = has_fallen(&told->sums, &steps->told);
    struct step_sums note;

    *ret_new = since(&told->sums, &steps->told);
    steps->told = (struct step_sums){ 0 };
    step_sums_add(&steps->told, &told->sums);
    steps->total.step = steps->told.step; /* also where the sums tell of nothing new */
    if (ret_new->steps == 0 && !fell)
        return 0;
    step_sums_add(&steps->total, ret_new);
    steps->at_us = at_us;
    if (fell) { /* nobody knows when that began */
        steps->undone = (struct step_sums){ 0 };
        steps->since_us = at_us;
        return 0;
    }
    step_sums_add(&steps->undone, ret_new);
    note = steps->undone;
    if (at_us - steps->since_us < STEPS_NOTE_US)
        return 0;
    note.samples = MIN_OF(note.samples, STEPS_NOTE_SAMPLES_MAX);
    steps->last = note;
    steps->last_us = at_us - steps->since_us;
    steps->undone = (struct step_sums){ 0 };
    steps->since_us = at_us;
    return steps->last_us;
}

void steps_begin_note(struct process_steps *steps, uint64_t now_us)
{
    steps->undone = (struct step_sums){ 0 };
    steps->at_us = MAX_OF(steps->at_us, now_us);
    steps->since_us = steps->at_us;
}

double steps_samples_per_s(const struct process_steps *steps, uint64_t now_us)
{
    /* before the first note: by the sums so far */
    const struct step_sums *sums = steps->last_us > 0 ? &steps->last : &steps->undone;
    uint64_t us = steps->last_us > 0 ? steps->last_us : steps->at_us - steps->since_us;
    uint64_t silent_us = now_us - MIN_OF(steps->at_us, now_us);

    us = MAX_OF(us, silent_us);
    return us > 0 ? (double)sums->samples * USEC_PER_SEC / (double)us : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* elapsed_clock.c - see elapsed_clock.h */
#include "shared/elapsed_clock.h"

#include <string.h>

#include "shared/macro.h"

static int64_t difference(uint64_t a_us, uint64_t b_us)
{
    return (int64_t)(a_us - b_us);
}

static uint64_t distance(int64_t a_us, int64_t b_us)
{
    return a_us > b_us ? (uint64_t)a_us - (uint64_t)b_us : (uint64_t)b_us - (uint64_t)a_us;
}

static bool is_same_boot(const struct elapsed_record *stored, const struct clock_reading *now)
{
    return !streq(now->boot_id, ELAPSED_BOOT_UNKNOWN) && streq(stored->boot_id, now->boot_id) &&
           now->boot_us >= stored->boot_us;
}

/* gap_us - since it was stored. Another boot of the same machine takes no less time than it lasts
 * by now; a machine that stands by for one that fails has been up for any time */
static uint64_t gap_us(const struct elapsed_record *stored, const struct clock_reading *now)
{
    uint64_t least_us = now->is_shared ? 0 : now->boot_us;
    uint64_t shown_us = now->real_us - MIN_OF(now->real_us, stored->real_us);

    if (is_same_boot(stored, now))
        return now->boot_us - stored->boot_us;
    return MIN_OF(MAX_OF(shown_us, least_us), ELAPSED_GAP_MAX_US);
}

int64_t elapsed_clock_begin(struct elapsed_clock *clock, const struct elapsed_record *stored,
                            const struct clock_reading *now)
{
    struct elapsed_record known = { .elapsed_us = now->real_us };

    if (stored != NULL) {
        known = *stored;
        known.elapsed_us += gap_us(stored, now);
    }
    (void)memset(known.boot_id, 0, sizeof known.boot_id);
    memcpy(known.boot_id, now->boot_id, MIN_OF(strlen(now->boot_id), sizeof known.boot_id - 1));
    known.boot_us = now->boot_us;
    known.real_us = now->real_us;
    clock->known = known;
    return elapsed_clock_look(clock, now);
}

uint64_t elapsed_clock_at(const struct elapsed_clock *clock, uint64_t boot_us)
{
    const struct elapsed_record *known = &clock->known;

    if (boot_us >= known->boot_us)
        return known->elapsed_us + (boot_us - known->boot_us);
    return known->elapsed_us - MIN_OF(known->elapsed_us, known->boot_us - boot_us);
}

void elapsed_clock_reach(struct elapsed_clock *clock, uint64_t elapsed_us)
{
    clock->known.elapsed_us = MAX_OF(clock->known.elapsed_us, elapsed_us);
}

int64_t elapsed_clock_ahead_us(const struct elapsed_clock *clock, uint64_t elapsed_us)
{
    const struct elapsed_record *known = &clock->known;
    int64_t ahead_us = 0;

    for (size_t i = 0; i < known->n_steps && known->steps[i].from_us <= elapsed_us; i++)
        ahead_us = known->steps[i].ahead_us;
    return ahead_us;
}

/* undo_step - true: the last step was taken back soon, and is forgotten */
static bool undo_step(struct elapsed_record *known, uint64_t at_us, int64_t ahead_us)
{
    size_t n = known->n_steps;
    int64_t before_us = n > 1 ? known->steps[n - 2].ahead_us : 0;

    if (n == 0 || at_us - known->steps[n - 1].from_us >= ELAPSED_GAP_MAX_US ||
        distance(before_us, ahead_us) >= ELAPSED_STEP_US)
        return false;
    known->n_steps--;
    return true;
}

/* add_step - when there are too many, what is told of the oldest time is told by the step after it
 */
static void add_step(struct elapsed_record *known, uint64_t at_us, int64_t ahead_us)
{
    if (known->n_steps == ELAPSED_STEPS_MAX) {
        known->steps[1].from_us = known->steps[0].from_us;
        (void)memmove(known->steps, known->steps + 1,
                      (ELAPSED_STEPS_MAX - 1) * sizeof known->steps[0]);
        known->n_steps--;
    }
    known->steps[known->n_steps++] = (struct clock_step){ at_us, ahead_us };
}

int64_t elapsed_clock_look(struct elapsed_clock *clock, const struct clock_reading *now)
{
    struct elapsed_record *known = &clock->known;
    uint64_t at_us = elapsed_clock_at(clock, now->boot_us);
    int64_t was_us = elapsed_clock_ahead_us(clock, at_us);
    int64_t ahead_us = difference(now->real_us, at_us);

    if (distance(was_us, ahead_us) < ELAPSED_STEP_US)
        return 0;
    if (!undo_step(known, at_us, ahead_us))
        add_step(known, at_us, ahead_us);
    return ahead_us - was_us;
}

struct elapsed_record elapsed_clock_record(const struct elapsed_clock *clock,
                                           const struct clock_reading *now)
{
    struct elapsed_record record = clock->known;

    record.elapsed_us = elapsed_clock_at(clock, now->boot_us);
    record.boot_us = now->boot_us;
    record.real_us = now->real_us;
    return record;
}

void elapsed_record_reach(struct elapsed_record *record, uint64_t elapsed_us)
{
    uint64_t later_us = elapsed_us - MIN_OF(elapsed_us, record->elapsed_us);

    if (later_us >
        ELAPSED_GAP_MAX_US) /* of a wall clock that was ahead, before this clock was kept */
        return;
    record->elapsed_us += later_us;
    record->boot_us += later_us;
    record->real_us += later_us;
}

bool elapsed_record_is_valid(const struct elapsed_record *record)
{
    const uint64_t most_us = INT64_MAX / 4;

    if (record->boot_us > most_us || record->real_us > most_us || record->elapsed_us > most_us ||
        record->n_steps > ELAPSED_STEPS_MAX)
        return false;
    for (size_t i = 0; i < record->n_steps; i++)
        if (record->steps[i].from_us > record->elapsed_us ||
            distance(record->steps[i].ahead_us, 0) > most_us ||
            (i > 0 && record->steps[i].from_us < record->steps[i - 1].from_us))
            return false;
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* time_left.c - see time_left.h */
#include "trainer/run/time_left.h"

#include <inttypes.h>
#include <stdio.h>

#include "shared/macro.h"

#define FIRST_US (10 * USEC_PER_SEC)
#define LONGEST_GAP_US (60 * USEC_PER_SEC)

void time_left_begin(struct time_left *left, uint64_t of, uint64_t now_us)
{
    *left =
        (struct time_left){ .of = of, .began_us = now_us, .told_us = now_us, .gap_us = FIRST_US };
}

/* In the largest unit of which there are two: nobody counts the seconds of an hour. */
static void describe(const struct time_left *left, uint64_t seconds, char ret[TIME_LEFT_TEXT])
{
    static const struct {
        const char *name;
        uint64_t seconds;
    } units[] = { { "days", 86400 }, { "hours", 3600 }, { "minutes", 60 }, { "seconds", 1 } };
    size_t i = 0;

    while (i + 1 < ELEMENTS(units) && seconds < 2 * units[i].seconds)
        i++;
    (void)snprintf(ret, TIME_LEFT_TEXT, "%d %% of the training is done, about %" PRIu64 " %s left",
                   (int)(100.0 * (double)left->done / (double)left->of), seconds / units[i].seconds,
                   seconds == 1 ? "second" : units[i].name);
}

bool time_left_done(struct time_left *left, uint64_t n, uint64_t now_us, char ret[TIME_LEFT_TEXT])
{
    double took_us = (double)(now_us - left->began_us);
    uint64_t seconds;

    left->done = MIN_OF(left->done + n, left->of);
    if (left->done == 0 || now_us - left->told_us < left->gap_us)
        return false;
    seconds =
        (uint64_t)(took_us / (double)left->done * (double)(left->of - left->done) / USEC_PER_SEC);
    if (seconds == 0)
        return false;
    left->told_us = now_us;
    left->gap_us = MIN_OF(2 * left->gap_us, LONGEST_GAP_US);
    describe(left, seconds, ret);
    return true;
}

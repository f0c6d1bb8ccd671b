/* SPDX-License-Identifier: Apache-2.0 */
/* time_left.h - how long a training still takes, now and then (pure) */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define TIME_LEFT_TEXT 80

struct time_left {
    uint64_t of, done; /* parts of the whole training: samples, or pieces of a dataset */
    uint64_t began_us, told_us;
    uint64_t gap_us; /* between this line and the next one */
};

/* time_left_begin - of: the parts that are to be done from now on; 0: nobody knows, and nothing is
 * told */
void time_left_begin(struct time_left *left, uint64_t of, uint64_t now_us);

/* time_left_done - n more parts are done; returns whether it is time to tell, and then what in
 * *ret. The first line comes after ten seconds, and later ones each minute. A short training
 * says nothing, nor does one in its last second. The rest is assumed to go on at the mean speed so
 * far. */
bool time_left_done(struct time_left *left, uint64_t n, uint64_t now_us, char ret[TIME_LEFT_TEXT]);

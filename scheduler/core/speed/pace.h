/* SPDX-License-Identifier: Apache-2.0 */
/* pace.h - how fast one instance of a job works, and its others
 *
 * It keeps the time for each unit of work of its last tasks; their median is its pace, so that one
 * task that was cut short or held up says nothing. Paces are compared as logarithms: half and twice
 * as fast are equally far from the others, and the others are their median.
 *
 * Pure, no allocation; small enough to be part of a process and to be copied with it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GOODPUT_PACE_KEPT 5  /* tasks */
#define GOODPUT_PACE_LEAST 3 /* of them, before anything is said */
#define GOODPUT_PACE_MOST                                                                          \
    8 /* times as fast, or as slow, as its others: the most that is believed */

struct goodput_pace {
    float unit_s[GOODPUT_PACE_KEPT]; /* of its last tasks, a ring */
    uint8_t n, next;
    bool warm;            /* its first task, or the one in which the size changed, is over */
    uint32_t sizes;       /* goodput_learned.sizes of those tasks */
    uint64_t finished_us; /* its last task; 0: none */
};

/* goodput_pace_note - a task of so many units was finished that it has worked on for so long. The
 * first one of a size only warms it up. True when that can be compared. O(1) */
bool goodput_pace_note(struct goodput_pace *pace, uint32_t sizes, double units, double busy_s);
/* goodput_pace_is_known - it has finished enough tasks at this size */
bool goodput_pace_is_known(const struct goodput_pace *pace, uint32_t sizes);
/* goodput_pace_log_s - logarithm of its seconds per unit. Only of one that is known. O(1) */
double goodput_pace_log_s(const struct goodput_pace *pace);
/* goodput_pace_of_others - the median of all but the i-th of n >= 2 sorted numbers. O(1) */
double goodput_pace_of_others(const double *sorted, size_t n, size_t i);

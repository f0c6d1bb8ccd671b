/* SPDX-License-Identifier: Apache-2.0 */
/* pace.c - how fast one instance of a job works, and its others */
#include "scheduler/core/speed/pace.h"

#include <math.h>
#include <string.h>

#include "shared/macro.h"

bool goodput_pace_note(struct goodput_pace *pace, uint32_t sizes, double units, double busy_s)
{
    if (pace->sizes != sizes) {
        pace->sizes = sizes;
        pace->n = pace->next = 0;
        pace->warm = false;
    }
    if (!pace->warm || !(units > 0) || !(busy_s > 0)) {
        pace->warm = true;
        return false;
    }
    pace->unit_s[pace->next] = (float)(busy_s / units);
    pace->next = (uint8_t)((pace->next + 1) % GOODPUT_PACE_KEPT);
    if (pace->n < GOODPUT_PACE_KEPT)
        pace->n++;
    return goodput_pace_is_known(pace, sizes);
}

bool goodput_pace_is_known(const struct goodput_pace *pace, uint32_t sizes)
{
    return pace->sizes == sizes && pace->n >= GOODPUT_PACE_LEAST;
}

/* The smaller one of the two in the middle when their number is even: a task may have been held up,
 * none is done faster than its machine is. */
double goodput_pace_log_s(const struct goodput_pace *pace)
{
    float sorted[GOODPUT_PACE_KEPT];

    for (int i = 0; i < pace->n; i++) {
        int at = i;

        for (; at > 0 && sorted[at - 1] > pace->unit_s[i]; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = pace->unit_s[i];
    }
    return log((double)sorted[(pace->n - 1) / 2]);
}

static double without(const double *sorted, size_t i, size_t at)
{
    return sorted[at < i ? at : at + 1];
}

double goodput_pace_of_others(const double *sorted, size_t n, size_t i)
{
    size_t middle = (n - 1) / 2;

    if ((n - 1) % 2 == 1)
        return without(sorted, i, middle);
    return (without(sorted, i, middle - 1) + without(sorted, i, middle)) / 2;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* sample.h - how far a job is at this moment, by the words of its processes
 *
 * How much is done: records of its data, or the "done" that a program tells. Its speed: samples of
 * edl.step(), else records, else the step or the samples that edl.progress() tells. Its cost: the
 * mean of the "cost" or "loss" that processes tell. Used by: job_series.c. Tests:
 * tests/unit/test_history.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "shared/clock.h"

struct job;
struct progresses;
struct series;
struct series_point;

/* What the next sample is compared with. All 0: nothing. */
struct sampling {
    double counted; /* of the series' rate_of */
    uint64_t at_us; /* then, boot time; 0: it was not counted */
};

/* sample_take - false: the job tells nothing. names: of the series, set when they are first known.
 * Linear in the job's processes */
bool sample_take(struct sampling *sampling, struct series *names, const struct job *job,
                 const struct progresses *progresses, struct instant now, struct series_point *ret);

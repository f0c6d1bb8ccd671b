/* SPDX-License-Identifier: Apache-2.0 */
/* series.h - how a job went: a bounded number of points over all its time
 *
 * Pure. A point stands for the time since the one before. When there are as many as may be, each
 * two become one, and points come half as often from then on: a job of a week has the whole week,
 * in as many points as one of an hour. Used by: job_series.c, reads.c. Tests:
 * tests/unit/test_history.c. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SERIES_POINTS_MAX 512
#define SERIES_POINTS_LEAST 32 /* of each of very many jobs */
#define SERIES_PERIOD_US (5 * UINT64_C(1000000))
#define SERIES_NAME_SIZE 16

/* NAN: not known. */
struct series_point {
    uint64_t time_us; /* of the wall clock that nobody sets */
    double done;      /* of all that is to do, 0 to 1 */
    double rate;      /* of rate_of, a second */
    double cost;
};

struct series {
    char rate_of[SERIES_NAME_SIZE];   /* "records", "samples", "step"; "" nothing */
    char cost_name[SERIES_NAME_SIZE]; /* "cost", "loss"; "" none */
    uint64_t period_us;
    struct series_point *points; /* owned */
    size_t n, size;
};

/* series_add - most: how many there may be, SERIES_POINTS_LEAST to SERIES_POINTS_MAX. A moment that
 * is not later than the last one is left out: false */
bool series_add(struct series *series, const struct series_point *point, size_t most);
void series_done(struct series *series);

/* series_to_text, series_from_text - its points as they are stored; the caller's. From a text that
 * is not of ours: -EINVAL, and the series is empty */
char *series_to_text(const struct series *series);
int series_from_text(const char *text, struct series *series);

/* series_to_json - as the API shows it, in columns; times are as stored */
json_t *series_to_json(const struct series *series);

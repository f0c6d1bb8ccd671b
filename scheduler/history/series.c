/* SPDX-License-Identifier: Apache-2.0 */
/* series.c - see series.h */
#include "scheduler/history/series.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "shared/macro.h"

#define DIGITS 6 /* of a stored number */

/* What is known of two. */
static double mean_of(double a, double b)
{
    if (isnan(a))
        return b;
    return isnan(b) ? a : (a + b) / 2;
}

static struct series_point merged(const struct series_point *first,
                                  const struct series_point *second)
{
    return (struct series_point){ .time_us = second->time_us,
                                  .done = isnan(second->done) ? first->done : second->done,
                                  .rate = mean_of(first->rate, second->rate),
                                  .cost = mean_of(first->cost, second->cost) };
}

/* The newest of an odd number stays as it is. */
static void halve(struct series *series)
{
    size_t n = 0;

    for (size_t i = 0; i + 1 < series->n; i += 2)
        series->points[n++] = merged(&series->points[i], &series->points[i + 1]);
    if (series->n % 2 == 1)
        series->points[n++] = series->points[series->n - 1];
    series->n = n;
    series->period_us *= 2;
}

static void append(struct series *series, const struct series_point *point)
{
    if (series->n == series->size) {
        series->size = MAX_OF(2 * series->size, (size_t)8);
        series->points = xreallocarray(series->points, series->size, sizeof *series->points);
    }
    series->points[series->n++] = *point;
}

bool series_add(struct series *series, const struct series_point *point, size_t most)
{
    if (series->period_us == 0)
        series->period_us = SERIES_PERIOD_US;
    if (series->n > 0 && point->time_us <= series->points[series->n - 1].time_us)
        return false;
    while (series->n >= most)
        halve(series);
    append(series, point);
    return true;
}

void series_done(struct series *series)
{
    free(series->points);
    *series = (struct series){ .n = 0 };
}

static json_t *number_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

char *series_to_text(const struct series *series)
{
    json_t *all = json_array();
    char *text;

    for (size_t i = 0; i < series->n; i++) {
        const struct series_point *point = &series->points[i];

        (void)json_array_append_new(all, json_pack("[I,o,o,o]", (json_int_t)point->time_us,
                                                   number_or_null(point->done),
                                                   number_or_null(point->rate),
                                                   number_or_null(point->cost)));
    }
    text = json_dumps(all, JSON_COMPACT | JSON_REAL_PRECISION(DIGITS));
    json_decref(all);
    if (text == NULL)
        abort(); /* why: only out of memory gets here; see macro.h */
    return text;
}

static bool read_number(const json_t *value, double *ret)
{
    *ret = json_is_null(value) ? NAN : json_number_value(value);
    return json_is_null(value) || json_is_number(value);
}

static bool read_point(const json_t *row, struct series_point *ret)
{
    const json_t *time = json_array_get(row, 0);

    if (json_array_size(row) != 4 || !json_is_integer(time) || json_integer_value(time) < 0)
        return false;
    ret->time_us = (uint64_t)json_integer_value(time);
    return read_number(json_array_get(row, 1), &ret->done) &&
           read_number(json_array_get(row, 2), &ret->rate) &&
           read_number(json_array_get(row, 3), &ret->cost);
}

int series_from_text(const char *text, struct series *series)
{
    json_t *all = json_loads(text, 0, NULL);
    bool good = json_is_array(all) && json_array_size(all) <= SERIES_POINTS_MAX;
    size_t i;
    json_t *row;

    series->n = 0;
    json_array_foreach(all, i, row)
    {
        struct series_point point;

        good = good && read_point(row, &point) &&
               (i == 0 || point.time_us > series->points[i - 1].time_us);
        if (!good)
            break;
        append(series, &point);
    }
    json_decref(all);
    if (good)
        return 0;
    series->n = 0;
    return -EINVAL;
}

static json_t *column(const struct series *series, size_t offset)
{
    json_t *values = json_array();

    for (size_t i = 0; i < series->n; i++) {
        const char *point = (const char *)&series->points[i];
        double value = *(const double *)(const void *)(point + offset);

        (void)json_array_append_new(values, number_or_null(value));
    }
    return values;
}

static json_t *text_or_null(const char *text)
{
    return *text != '\0' ? json_string(text) : json_null();
}

json_t *series_to_json(const struct series *series)
{
    json_t *times = json_array();

    for (size_t i = 0; i < series->n; i++)
        (void)json_array_append_new(times, json_integer((json_int_t)series->points[i].time_us));
    return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o}", "rate_of", text_or_null(series->rate_of),
                     "cost_name", text_or_null(series->cost_name), "time_us", times, "done",
                     column(series, offsetof(struct series_point, done)), "rate_per_s",
                     column(series, offsetof(struct series_point, rate)), "cost",
                     column(series, offsetof(struct series_point, cost)));
}

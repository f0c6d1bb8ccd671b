/* SPDX-License-Identifier: Apache-2.0 */
/* exposition_parse.h - a strict reader of the Prometheus text format, for tests
 *
 * Stricter than Prometheus: no comments but HELP and TYPE, both before the samples of their family,
 * each family in one piece; no series twice; escapes that the format knows; histograms that rise
 * and end with +Inf, sum and count; counters, and only they, end in _total. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define SERIES_MAX 2000
#define FAMILIES_MAX 200

struct series {
    char key[400]; /* name{label="value",...} as it stands there */
    double value;
};

struct family {
    char name[100];
    char type[20];
};

struct exposition {
    struct series series[SERIES_MAX];
    size_t n_series;
    struct family families[FAMILIES_MAX];
    size_t n_families;
    char error[300]; /* "" when the text is good */
};

/* exposition_parse - free() it */
struct exposition *exposition_parse(const char *text);

/* exposition_value - of a series; NULL: there is none such */
const double *exposition_value(const struct exposition *exposition, const char *key);

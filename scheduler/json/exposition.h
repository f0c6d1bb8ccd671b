/* SPDX-License-Identifier: Apache-2.0 */
/* exposition.h - writes the Prometheus text exposition format, version 0.0.4
 *
 * Families one after the other, each with its HELP and TYPE before its samples. Values are whole
 * numbers in our own units. They are scaled by a power of ten to the base units that readers expect
 * (seconds, bytes, cores, ratios), so that nothing is rounded. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct histogram;

#define EXPOSITION_TYPE "text/plain; version=0.0.4; charset=utf-8"

enum exposition_type { EXPOSE_GAUGE, EXPOSE_COUNTER, EXPOSE_HISTOGRAM };

/* How many decimal digits of the value are behind the point. */
enum { SCALE_ONE = 0, SCALE_MILLI = 3, SCALE_MICRO = 6 };

struct exposition_label {
    const char *name;
    const char *value; /* any UTF-8; escaped */
};

/* exposition_family - begins a family; its samples follow */
void exposition_family(FILE *out, const char *name, enum exposition_type type, const char *help);

/* exposition_sample - value / 10^digits */
void exposition_sample(FILE *out, const char *name, const struct exposition_label *labels,
                       size_t n_labels, uint64_t value, unsigned digits);

/* exposition_histogram - the buckets, sum and count of one series, in seconds */
void exposition_histogram(FILE *out, const char *name, const struct exposition_label *label,
                          const struct histogram *histogram);

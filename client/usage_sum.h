/* SPDX-License-Identifier: Apache-2.0 */
/* usage_sum.h - the usage of many jobs added up, by a name: pure */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

enum usage_by { USAGE_BY_USER, USAGE_BY_GROUP, USAGE_BY_JOB, _USAGE_BY };

/* usage_by_to_string - "user", "group", "job": also the key in the JSON of a row */
const char *usage_by_to_string(enum usage_by by);
/* usage_by_read - -EINVAL for another word */
int usage_by_read(const char *word, enum usage_by *ret);

/* usage_since_read - a time from now back ("7d", "12h"), a day ("2026-11-01": its local midnight)
 * or an instant (RFC 3339), to microseconds since 1970. -EINVAL: none of these; -ERANGE: to come */
int usage_since_read(const char *text, uint64_t now_us, uint64_t *ret_us);

/* usage_part - which part of the time of a job (GET /jobs) lies behind an instant, 0 to 1 */
double usage_part(const json_t *job, uint64_t since_us, uint64_t now_us);

struct usage_sum;

struct usage_sum *usage_sum_new(void);
struct usage_sum *usage_sum_free(struct usage_sum *sum);
/* usage_sum_add - so many jobs of that name; usage: as the API tells it, of which this part counts.
 * facts: members of the row, of the first call for a name; borrowed, may be NULL. O(1) */
void usage_sum_add(struct usage_sum *sum, const char *name, uint64_t n_jobs, const json_t *usage,
                   double part, const json_t *facts);
/* usage_sum_rows - a new array of {KEY: name, "jobs": N, "usage": {...}, facts...}. By name, or in
 * the order in which they came */
json_t *usage_sum_rows(struct usage_sum *sum, const char *key, bool by_name);

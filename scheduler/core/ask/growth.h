/* SPDX-License-Identifier: Apache-2.0 */
/* growth.h - why a job that runs has no more instances than it has
 *
 * Used by: scheduler (api/why.c). Tests: tests/unit/test_growth.c. */
#pragma once

#include <stddef.h>

struct cluster;
struct job;

/* cluster_explain_growth - a sentence with what keeps its elastic role from one more instance; ""
 * when it does not run, has all that it may have, or grows no more since it is about to be over.
 * Returns buffer. O(log n) */
char *cluster_explain_growth(const struct cluster *cluster, const struct job *job, char *buffer,
                             size_t size);

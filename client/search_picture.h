/* SPDX-License-Identifier: Apache-2.0 */
/* search_picture.h - a search as a picture, SVG: how the metric went over time, and which values
 * led to which results (parallel coordinates)
 *
 * Used by: cmd_search.c. Tests: tests/unit/test_search_jobs.c. */
#pragma once

#include <stdio.h>

struct search_jobs;
struct search_trials;

/* search_picture - one document; trials without a result are left out */
void search_picture(const struct search_jobs *jobs, const struct search_trials *trials, FILE *out);

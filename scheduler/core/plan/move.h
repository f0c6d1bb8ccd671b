/* SPDX-License-Identifier: Apache-2.0 */
/* move.h - a job that stands in its own way */
#pragma once

#include <stdbool.h>

struct job;
struct plan;
struct want;

/* plan_move - stops one of the job's own processes that fits elsewhere, so that want fits later in
 * its place, which is reserved; false: there is none such */
bool plan_move(struct plan *plan, struct job *job, const struct want *want);

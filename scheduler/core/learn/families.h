/* SPDX-License-Identifier: Apache-2.0 */
/* families.h - how much of families of jobs is kept, and how they are named */
#pragma once

#include "scheduler/core/model/job.h"

#define JOB_FAMILY_SIZE (sizeof(((struct job *)0)->user) + 18)

/* The core knows so many families of jobs at most; for more the user with the most loses his
 * oldest. Of each the lengths of so many jobs, written whenever one ends. */
#define CLUSTER_FAMILIES_MAX 1000
#define CLUSTER_FAMILY_ENDED_MAX 128

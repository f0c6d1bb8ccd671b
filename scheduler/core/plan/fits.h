/* SPDX-License-Identifier: Apache-2.0 */
/* fits.h - whether a gang fits the nodes that are known, taken for empty and present */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "scheduler/core/base/resources.h"
#include "scheduler/core/plan/queue.h"

struct capacity;
struct cluster;
struct demand;
struct job_spec;

/* spec_fits_ever - its minimum fits all nodes that are known, taken for empty and present; false:
 * it has to wait for another node or ask for less. A search in the index */
bool spec_fits_ever(const struct cluster *cluster, const struct job_spec *spec);

/* whether the class fits these nodes when they are empty; found out once per change of an offer */
enum queue_fit queue_fits_ever(const struct cluster *cluster, struct queue_class *class);
enum queue_fit demands_fit_ever(const struct cluster *cluster, const struct demand *demands,
                                size_t n);

/* fits_alone - one demand with no other beside it
 * fits_offered - the sum of what those nodes offer that could run some of them */
bool fits_alone(struct capacity *offered, const struct demand *demand);
struct resources fits_offered(const struct cluster *cluster, const struct demand *demands,
                              size_t n);

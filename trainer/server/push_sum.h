/* SPDX-License-Identifier: Apache-2.0 */
/* push_sum.h - the gradients of several pushes as one
 *
 * Added in the order in which they are given, so that the bits do not depend on which came first. A
 * sparse row is there once. Pure but for its memory, which is used again. */
#pragma once

#include "trainer/parameters/shard.h"
#include "trainer/wire/wire.h"

struct edl_error;
struct push_sum;

/* push_sum_new - shape: borrowed until push_sum_free */
struct push_sum *push_sum_new(const struct shard_shape *shape);
struct push_sum *push_sum_free(struct push_sum *sum);

/* push_sum_make - of checked requests, one at least; *ret, which points into the sum and into them,
 * is for table_push. -ENOMEM */
int push_sum_make(struct push_sum *sum, const struct wire_push_pull *const *pushes, size_t n,
                  struct wire_push_pull *ret, struct edl_error *error);

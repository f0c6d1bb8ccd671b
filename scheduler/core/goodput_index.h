/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_index.h - the division of goodput_allocate.h, kept up to date event by event
 *
 * A job that comes, changes or goes costs its own segments; the price follows from the sums in
 * goodput_buckets.h; and only jobs that have a segment between the old and the new price are looked
 * at and named as changed. Weights are those of the closed form by rank (goodput_weights.h): one
 * more job before a thousand others moves each of them by a thousandth, so a few jobs are looked at
 * in turn with each event and weighed anew when their rank has drifted.
 *
 * Every job holds its smallest configuration (or what its deadline requires): whether there is
 * enough for that is the caller's affair; when there is not, `goodput_index_settle` says so and
 * nobody holds more. Tenants are not known here. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/goodput_allocate.h"

struct goodput_index; /* private */

struct goodput_index_tuning {
    double drift;   /* of a rank, after which a job is weighed anew: 0.05 */
    uint32_t sweep; /* jobs that are looked at for that with an event: 16 */
    uint32_t looks; /* segments that the rest of the budget is offered to at most: 256 */
};

extern const struct goodput_index_tuning goodput_index_tuning;

/* goodput_index_new - with options.weights being GOODPUT_WEIGHTS_RANK whatever they say */
struct goodput_index *goodput_index_new(const struct goodput_options *options,
                                        const struct goodput_index_tuning *tuning, double budget);
struct goodput_index *goodput_index_free(struct goodput_index *index);
void goodput_index_set_budget(struct goodput_index *index, double budget);

/* goodput_index_put - a job that is new or changed; the curve is borrowed until the drop of it, and
 * may change before the next put only. O(segments x log). */
void goodput_index_put(struct goodput_index *index, const struct goodput_request *request);
/* goodput_index_drop - unknown ids are ignored */
void goodput_index_drop(struct goodput_index *index, uint64_t id);

struct goodput_settled {
    double price; /* what a bundle more would be worth; 0: there is room */
    double left;  /* bundles that nobody could use */
    bool short_of_floors;
    size_t changed; /* jobs that were named */
};

/* goodput_index_settle - the price after what was put and dropped; names each job whose target is
 * another than at the last call. `each` must not call the index. */
struct goodput_settled goodput_index_settle(struct goodput_index *index,
                                            void (*each)(uint64_t id, int point, void *userdata),
                                            void *userdata);
/* goodput_index_target - of a job at the last settlement; false: it is not known */
bool goodput_index_target(const struct goodput_index *index, uint64_t id,
                          struct goodput_target *ret_target);
/* goodput_index_value - the most that a budget would make of all segments, smallest configurations
 * aside; to the resolution of a bucket */
double goodput_index_value(const struct goodput_index *index, double budget);

/* SPDX-License-Identifier: Apache-2.0 */
/* lag_rule.h - asynchronous SGD: a gradient of values that others have changed too often since is
 * dropped
 *
 * Each push raises the version. The lag of a push is by how much it rose since the same trainer's
 * push before. Source: ParameterServer2::asyncGrdientCommitCheckAndStat of PaddlePaddle 0.11. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define LAG_RATIO_DEFAULT 1.5

/* Of one trainer; all 0 at first. */
struct lag_record {
    bool has_pushed;
    uint64_t version; /* after its last push */
    uint64_t committed, discarded;
};

/* lag_threshold - a push of that lag is dropped: the whole part of trainers times ratio; a ratio
 * that is not above 1 is LAG_RATIO_DEFAULT. 0: no trainers are counted, and none is dropped */
uint64_t lag_threshold(uint64_t trainers, double ratio);

/* lag_take - whether this push is applied; version: of now. It is counted, and raises the version
 * only when it is applied. */
bool lag_take(struct lag_record *record, uint64_t version, uint64_t threshold);

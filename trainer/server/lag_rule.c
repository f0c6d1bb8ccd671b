/* SPDX-License-Identifier: Apache-2.0 */
/* lag_rule.c - see lag_rule.h */
#include "trainer/server/lag_rule.h"

uint64_t lag_threshold(uint64_t trainers, double ratio)
{
    return (uint64_t)((double)trainers * (ratio > 1 ? ratio : LAG_RATIO_DEFAULT));
}

bool lag_take(struct lag_record *record, uint64_t version, uint64_t threshold)
{
    bool taken = threshold == 0 || !record->has_pushed || version - record->version < threshold;

    record->has_pushed = true;
    record->version = version + taken;
    record->committed += taken;
    record->discarded += !taken;
    return taken;
}

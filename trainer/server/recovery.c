/* SPDX-License-Identifier: Apache-2.0 */
/* recovery.c - see recovery.h */
#include "trainer/server/recovery.h"

#include "shared/macro.h"

void recovery_init(struct recovery *recovery, uint64_t life, bool restored, uint64_t base)
{
    *recovery =
        (struct recovery){ .life = life,
                           .restored = restored,
                           .source = restored && base > 0 ? RECOVERED_CHECKPOINT : RECOVERED_START,
                           .base = base };
}

bool recovery_meet(struct recovery *recovery, const struct wire_past *past,
                   const struct recovery_now *now)
{
    if (past->life == recovery->life)
        return false;
    if (past->life != 0)
        recovery->seen = MAX_OF(recovery->seen, past->updates);
    return recovery->source == RECOVERED_START && now->updates == 0 && past->trained > 0;
}

enum wire_wish recovery_wish(const struct recovery *recovery, const struct wire_past *past,
                             const struct recovery_now *now)
{
    const bool has_older = past->holds > 0 && past->life != 0 && past->life != recovery->life;

    if (recovery->source == RECOVERED_CHECKPOINT)
        return WISH_NOTHING;
    if (has_older && (past->updates > now->updates || (now->awaits && !past->trained)))
        return WISH_VALUES;
    if (now->awaits)
        return WISH_WAIT;
    return has_older && recovery->source == RECOVERED_TRAINERS && now->rows_missing > 0
               ? WISH_ROWS
               : WISH_NOTHING;
}

void recovery_seeded(struct recovery *recovery, const struct wire_past *past,
                     uint64_t updates_replaced)
{
    recovery->dropped += updates_replaced - MIN_OF(recovery->base, updates_replaced);
    recovery->source = RECOVERED_TRAINERS;
    recovery->base = past->updates;
}

uint64_t recovery_lost(const struct recovery *recovery, uint64_t *ret_of)
{
    *ret_of = MAX_OF(recovery->seen, recovery->base) + recovery->dropped;
    return recovery->seen - MIN_OF(recovery->base, recovery->seen) + recovery->dropped;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* fair_share.h - a bounded number of something among callers whose number nobody knows
 *
 * Each may hold as many as are still free. One who takes all he gets then holds half, two hold a
 * third each, n of them 1/(n+1). As much is always left for somebody who comes: no number of greedy
 * ones keeps out another, as long as they are fewer than there is to share. (Choudhury and Hahne,
 * "Dynamic queue length thresholds for shared-memory packet switches", 1998, with alpha 1.) Pure.
 * Tests: tests/unit/test_http_tls.c, tests/integration/161-socket-siege.sh. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* fair_share_has_room - for one more of somebody who holds mine, when all together hold held */
static inline bool fair_share_has_room(uint64_t mine, uint64_t held, uint64_t most)
{
    return held < most && mine < most - held;
}

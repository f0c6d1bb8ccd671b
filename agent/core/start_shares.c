/* SPDX-License-Identifier: Apache-2.0 */
/* start_shares.c - see start_shares.h */
#include "agent/core/start_shares.h"

#include <uthash.h>

#include "shared/fair_share.h"
#include "shared/macro.h"

struct start_share {
    uint64_t owner;
    size_t n;
    UT_hash_handle hh;
};

static struct start_share *find(const struct start_shares *shares, uint64_t owner)
{
    struct start_share *share;

    HASH_FIND(hh, shares->table, &owner, sizeof owner, share);
    return share;
}

bool start_shares_has_room(const struct start_shares *shares, uint64_t owner, size_t most)
{
    const struct start_share *share = find(shares, owner);

    return fair_share_has_room(share != NULL ? share->n : 0, shares->n, most);
}

void start_shares_add(struct start_shares *shares, uint64_t owner)
{
    struct start_share *share = find(shares, owner);

    if (share == NULL) {
        share = xcalloc(1, sizeof *share);
        share->owner = owner;
        HASH_ADD(hh, shares->table, owner, sizeof share->owner, share);
    }
    share->n++;
    shares->n++;
}

void start_shares_drop(struct start_shares *shares, uint64_t owner)
{
    struct start_share *share = find(shares, owner);

    shares->n--;
    if (--share->n > 0)
        return;
    HASH_DEL(shares->table, share);
    free(share);
}

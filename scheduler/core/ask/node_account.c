/* SPDX-License-Identifier: Apache-2.0 */
/* node_account.c - see node_account.h */
#include "scheduler/core/ask/node_account.h"

#include "scheduler/core/base/resources.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/node.h"
#include "scheduler/core/model/states.h"
#include "scheduler/core/model/unfit_nodes.h"
#include "scheduler/core/plan/capacity.h"
#include "scheduler/core/ask/foreign_wait.h"
#include "scheduler/core/ask/reason.h"

static const char *const verdicts[ACCOUNT_VERDICTS] = {
    [ACCOUNT_FITS] = "fits",       [ACCOUNT_FOREIGN] = "foreign-load",
    [ACCOUNT_FULL] = "full",       [ACCOUNT_TOO_SMALL] = "too-small",
    [ACCOUNT_UNFIT] = "unfit",     [ACCOUNT_LABELS] = "labels",
    [ACCOUNT_UNHEARD] = "unheard", [ACCOUNT_DISK_FULL] = "disk-full",
    [ACCOUNT_CLOSED] = "closed",
};

const char *account_verdict_to_string(enum account_verdict verdict)
{
    return verdicts[verdict];
}

struct node_account node_account_of(const struct node *node, const struct want *want, bool promised)
{
    struct node_account account = { .node = node };
    struct resources empty = node->empty_room->now;
    struct resources ours; /* free but for other jobs */

    if (!node_takes_processes(node)) {
        account.verdict =
            node->state == NODE_READY && node->disk_full ? ACCOUNT_DISK_FULL : ACCOUNT_CLOSED;
        return account;
    }
    if (node->n_stale > 0 || !node->heard) {
        account.verdict = ACCOUNT_UNHEARD;
        return account;
    }
    account.free = promised ? node->room->facts.now : node->room->now;
    account.lacks = resources_missing(&account.free, &want->need);
    account.foreign = plan_foreign_of(node);
    account.unfit = unfit_nodes_find(want->unfit, node);
    ours = account.free;
    resources_add(&ours, &account.foreign, 1);
    if (want->selector != NULL && !labels_cover(&node->offer.labels, want->selector))
        account.verdict = ACCOUNT_LABELS;
    else if (unfit_nodes_hold(want->unfit, node, want->unfit_roles))
        account.verdict = ACCOUNT_UNFIT;
    else if (!resources_fit(&empty, &want->need))
        account.verdict = ACCOUNT_TOO_SMALL;
    else if (!resources_fit(&account.free, &want->need))
        account.verdict = resources_fit(&ours, &want->need) ? ACCOUNT_FOREIGN : ACCOUNT_FULL;
    else
        account.fits = (uint32_t)MIN_OF(resources_times(&account.free, &want->need), INT32_MAX);
    return account;
}

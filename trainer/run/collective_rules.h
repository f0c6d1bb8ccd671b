/* SPDX-License-Identifier: Apache-2.0 */
/* collective_rules.h - the batch of a group, as the options of a trainer say it: --micro-batches,
 * --batch-rule, --batch-most, --batch-warm-up, --batches */
#pragma once

#include <stdint.h>

#include "shared/batch_history.h"
#include "shared/batch_plan.h"

struct edl_error;
struct network_job;

struct collective_rules {
    struct batch_rules rules;
    struct batch_history batches; /* of another training, in place of the rule's; n is 0: none */
};

/* collective_rules_read - of a training whose first batch has so many samples
 * -EINVAL names the option; what reading --batches gives */
int collective_rules_read(const struct network_job *job, uint64_t batch,
                          struct collective_rules *ret, struct edl_error *error);

/* SPDX-License-Identifier: Apache-2.0 */
/* batch_plan.c - how large a global batch is with n ranks, in which parts, and at which rate */
#include "shared/batch_plan.h"

#include <errno.h>
#include <math.h>

#include "shared/error.h"
#include "shared/macro.h"

#define BATCH_MAX (1u << 24)

static const char *const names[BATCH_RULES] = {
    [BATCH_CONSTANT] = "constant", [BATCH_LINEAR] = "linear", [BATCH_GOODPUT] = "goodput"
};

int batch_rule_of(const char *name)
{
    for (int i = 0; i < BATCH_RULES; i++)
        if (streq(name, names[i]))
            return i;
    return -EINVAL;
}

const char *batch_rule_to_string(enum batch_rule rule)
{
    return names[rule];
}

int batch_rules_check(const struct batch_rules *rules, struct edl_error *error)
{
    if (rules->micro_batch == 0 || rules->start == 0 || rules->start > BATCH_MAX)
        return edl_error_set(error, -EINVAL,
                             "a batch of %u in micro-batches of %u; 1 to %u are possible",
                             rules->start, rules->micro_batch, BATCH_MAX);
    if (rules->start % rules->micro_batch != 0) {
        (void)edl_error_set(error, -EINVAL, "a batch of %u is not made of micro-batches of %u",
                            rules->start, rules->micro_batch);
        return edl_error_remedy(error, "name a multiple: %u",
                                (rules->start / rules->micro_batch + 1) * rules->micro_batch);
    }
    if (rules->rule != BATCH_CONSTANT && (rules->most < rules->start || rules->most > BATCH_MAX))
        return edl_error_set(error, -EINVAL,
                             "the largest batch is %u; %u (the first one) to %u are possible",
                             rules->most, rules->start, BATCH_MAX);
    return 0;
}

static uint64_t samples_of(const struct batch_rules *rules, uint32_t n, uint32_t best)
{
    switch (rules->rule) {
    case BATCH_LINEAR:
        return MIN_OF((uint64_t)rules->start * n, (uint64_t)rules->most);
    case BATCH_GOODPUT:
        return MIN_OF((uint64_t)MAX_OF(best, rules->start), (uint64_t)rules->most);
    default:
        return rules->start;
    }
}

static struct batch_plan plan_of(const struct batch_rules *rules, uint32_t n,
                                 uint32_t micro_batches)
{
    const double times = (double)micro_batches * rules->micro_batch / rules->start;

    return (struct batch_plan){
        .batch = micro_batches * rules->micro_batch,
        .micro_batches = micro_batches,
        .busiest = micro_batches / n + (micro_batches % n > 0),
        .idle = n > micro_batches ? n - micro_batches : 0,
        .factor = rules->rule == BATCH_GOODPUT ? sqrt(times) : times,
    };
}

struct batch_plan batch_plan(const struct batch_rules *rules, uint32_t n, uint32_t best)
{
    return plan_of(rules, n, (uint32_t)(samples_of(rules, n, best) / rules->micro_batch));
}

struct batch_plan batch_plan_of(const struct batch_rules *rules, uint32_t micro_batches)
{
    return plan_of(rules, 1, micro_batches);
}

double batch_factor(const struct batch_rules *rules, double from, double to, uint64_t steps)
{
    if (to <= from || steps + 1 >= rules->warm_up)
        return to;
    return from + (to - from) * (double)(steps + 1) / rules->warm_up;
}

struct batch_numbers batch_numbers(const struct batch_rules *rules, const struct batch_plan *plan,
                                   double factor, bool sees_scale)
{
    const double times = (double)plan->batch / rules->start; /* V / V0 */

    return (struct batch_numbers){ .rate = sees_scale ? factor / times : factor,
                                   .beside_the_sum = times };
}

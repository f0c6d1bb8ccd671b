/* SPDX-License-Identifier: Apache-2.0 */
/* idle_rule.c - see idle_rule.h */
#include "agent/idle/idle_rule.h"

#include "shared/macro.h"

#define LOOKS 40 /* in a limit, at least */
#define EVERY_LEAST_US (25 * USEC_PER_MSEC)
#define EVERY_MOST_US (30 * USEC_PER_SEC)
#define WORK_PART 100 /* of the time that has passed */
#define VISIT_US 1000 /* CPU time of somebody who came and left between two looks */
#define TENTHS 10

void idle_rule_begin(struct idle_rule *rule, uint64_t idle_us, uint64_t sessions_us)
{
    *rule = (struct idle_rule){ .counts = { [IDLE_WORK] = { .limit_us = idle_us },
                                            [IDLE_COMPANY] = { .limit_us = sessions_us } } };
}

uint64_t idle_rule_every(const struct idle_rule *rule)
{
    uint64_t every_us = EVERY_MOST_US;

    for (size_t i = 0; i < IDLE_KINDS; i++)
        if (rule->counts[i].limit_us > 0)
            every_us = MIN_OF(every_us, rule->counts[i].limit_us / LOOKS);
    return MAX_OF(every_us, EVERY_LEAST_US);
}

/* count_on - quiet since the look before, or not. It says what there is to say. */
static struct idle_verdict count_on(struct idle_count *count, bool quiet, uint64_t passed_us)
{
    struct idle_verdict verdict = { .quiet_us = 0 };
    unsigned tenths;

    if (count->limit_us == 0)
        return verdict;
    if (!quiet) {
        verdict.is_over = count->told > 0;
        count->quiet_us = 0;
        count->told = 0;
        return verdict;
    }
    count->quiet_us = MIN_OF(count->quiet_us + passed_us, count->limit_us);
    tenths = (unsigned)(count->quiet_us * TENTHS / count->limit_us);
    verdict.quiet_us = count->quiet_us;
    verdict.left_us = count->limit_us - count->quiet_us;
    verdict.ends = verdict.left_us == 0;
    verdict.tells = !verdict.ends && tenths > count->told;
    count->told = MAX_OF(count->told, tenths);
    return verdict;
}

void idle_rule_look(struct idle_rule *rule, const struct idle_look *look,
                    struct idle_verdict ret[static IDLE_KINDS])
{
    const struct idle_look *last = rule->has_last ? &rule->last : look;
    bool known = !look->used_is_unknown && !last->used_is_unknown;
    uint64_t passed_us = look->now_us - last->now_us;
    /* what a process used that has ended may be gone from the sum */
    uint64_t used_us = look->used_us - MIN_OF(last->used_us, look->used_us);
    uint64_t seen_us = MIN_OF(passed_us, 2 * idle_rule_every(rule));

    ret[IDLE_WORK] =
        count_on(&rule->counts[IDLE_WORK],
                 known && !look->gpu_works && used_us <= passed_us / WORK_PART, seen_us);
    ret[IDLE_COMPANY] =
        count_on(&rule->counts[IDLE_COMPANY], !look->has_company && used_us < VISIT_US, seen_us);
    rule->last = *look;
    rule->has_last = true;
}

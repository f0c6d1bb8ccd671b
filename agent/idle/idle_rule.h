/* SPDX-License-Identifier: Apache-2.0 */
/* idle_rule.h - when a program has been idle for long enough, and a place empty
 *
 * A process that works for less than a hundredth of a core between two looks is idle. Time in which
 * nobody looked counts as one look: a process that is frozen with its group, or sleeps with its
 * machine, is not idle meanwhile.
 *
 * Pure. Used by: idle.c. Tests: tests/unit/test_idle.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum idle_kind {
    IDLE_WORK,    /* nothing works: --idle */
    IDLE_COMPANY, /* no other process is there: --sessions */
    IDLE_KINDS
};

/* One look at the group. */
struct idle_look {
    uint64_t now_us;      /* of a clock that only goes on */
    uint64_t used_us;     /* CPU time of the others, since any moment */
    bool used_is_unknown; /* then something works */
    bool gpu_works;
    bool has_company; /* another process is in the group */
};

struct idle_count {
    uint64_t limit_us; /* 0: it does not end by that */
    uint64_t quiet_us; /* for so long */
    unsigned told;     /* tenths of the limit that were told of */
};

struct idle_rule {
    struct idle_count counts[IDLE_KINDS];
    struct idle_look last;
    bool has_last;
};

/* What follows from a look, for one kind of limit. All false without a limit. */
struct idle_verdict {
    bool ends;    /* its limit is reached */
    bool tells;   /* how long is left: another tenth is over */
    bool is_over; /* it was told of, and something works since, or somebody came */
    uint64_t quiet_us, left_us;
};

/* idle_rule_begin - 0: no such limit */
void idle_rule_begin(struct idle_rule *rule, uint64_t idle_us, uint64_t sessions_us);

/* idle_rule_every - between two looks */
uint64_t idle_rule_every(const struct idle_rule *rule);

void idle_rule_look(struct idle_rule *rule, const struct idle_look *look,
                    struct idle_verdict ret[static IDLE_KINDS]);

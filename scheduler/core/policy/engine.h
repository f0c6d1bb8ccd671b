/* SPDX-License-Identifier: Apache-2.0 */
/* engine.h - carries out a policy that is an order of the jobs (struct policy_scoring)
 *
 * While there is room below the limits the job with the lowest score grows by one. While the
 * cluster is over a limit, of the jobs that hold something of that resource the one with the
 * highest score shrinks by one. When there is neither, one instance goes from the highest to the
 * lowest as long as the giver stays ahead by more than a margin. A job that is better off with less
 * shrinks, even if no other wants it. Between groups of users the one that is furthest below its
 * guarantee grows first, before all scores. */
#pragma once

#include "scheduler/core/policy/index.h"

/* policy_engine_decide - policy.decide. O((1 + moves) x log n). */
void policy_engine_decide(struct policy_state *state, const struct policy_totals *totals,
                          const struct policy_ops *ops, void *userdata);
/* policy_engine_note_taker - for an explanation: ", for group X" when an instance is taken away for
 * another group; else nothing is written */
void policy_engine_note_taker(const struct policy_state *state, char *buffer, size_t size);

/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_view.h - what the laboratory knows of a job, in the words of the policy goodput
 *
 * For each job a curve over the amounts that are worth a try, and the rest of its work. */
#pragma once

#include "scheduler/core/policy/allocate.h"
#include "simulator/trace/policy.h"

struct goodput_history; /* private: what was seen of families so far */

struct goodput_history *goodput_history_new(void);
/* goodput_history_free - accepts NULL; returns NULL */
struct goodput_history *goodput_history_free(struct goodput_history *history);
/* goodput_history_look - who came and who ended since the last look; before each decision */
void goodput_history_look(struct goodput_history *history, const struct view *view);

/* goodput_view_curve - held: an amount that is to be among its points; 0: none */
void goodput_view_curve(const struct view *view, size_t job, uint32_t held,
                        struct goodput_curve *ret_curve);
/* goodput_view_work - what is left, in seconds with the smallest amount, by whoever knows */
struct goodput_work goodput_view_work(struct goodput_history *history, const struct view *view,
                                      size_t job);

/* SPDX-License-Identifier: Apache-2.0 */
/* push_counts.h - how many pushes the parameter servers of one process have told of
 *
 * A row of progress says what one server took from one trainer in all. Reports repeat it, may leave
 * it out, and say it in any order, so the highest of each row is kept. A program may say anything,
 * so the addition of one report is bounded. Tests: test_metrics.c. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PUSHES_COMMITTED, PUSHES_DISCARDED, PUSHES_KINDS };

struct push_count;

struct push_counts {          /* all 0: of none */
    struct push_count *items; /* owned; by server and trainer; PROGRESS_PUSHES_MAX at most */
    size_t n;
    bool counted_before; /* by a scheduler before this one: the first of each row adds nothing */
};

/* push_counts_take - adds to sums what is more than was told before, most in all
 * rows: NULL or checked (process_progress.h). A row without room is not counted, and one beyond
 * most never is. */
void push_counts_take(struct push_counts *counts, const json_t *rows, uint64_t most,
                      uint64_t sums[PUSHES_KINDS]);
void push_counts_done(struct push_counts *counts);

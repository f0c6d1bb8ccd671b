/* SPDX-License-Identifier: Apache-2.0 */
/* start_mark.h - when a process started here, by the clocks of this node
 *
 * Files of a job are told from older ones by their times, which this node gave them. So they are
 * compared with moments that this node noted, and never with a time of the scheduler's. A mark is
 * a link beside the log of its process, and goes with that.
 *
 * Used by: process.c, file_reads.c, log_trim.c. Tests: tests/unit/test_node_clock.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct layout;
struct process_id;

#define START_MARK_SUFFIX ".began"

/* One moment. */
struct start_mark {
    uint64_t real_us;    /* as the kernel gives files their times: CLOCK_REALTIME_COARSE */
    uint64_t elapsed_us; /* node_clock.h */
};

struct start_mark start_mark_now(void);

/* start_mark_write - the process is about to start; a failure is logged */
void start_mark_write(const struct layout *layout, const struct process_id *id);

/* start_mark_real_us - what the wall clock shows of it, now or then: the earlier, so that a file
 * which was written after it counts though the clock was set since. Pure */
uint64_t start_mark_real_us(const struct start_mark *mark, const struct start_mark *now);

/* start_mark_since - from when on files are of the job: waited_us before the start of this process,
 * and no later than the first start of a process of the job here. 0 with false: there is no mark */
bool start_mark_since(const struct layout *layout, const struct process_id *id, uint64_t waited_us,
                      uint64_t *ret_us);

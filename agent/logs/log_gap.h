/* SPDX-License-Identifier: Apache-2.0 */
/* log_gap.h - lines that the disk had no room for: how many they are, and where the log goes on
 *
 * A log goes on at the beginning of a line, behind a line of ours that tells what is missing. Pure.
 * Used by: agent/supervisor/log_pump.c. Tests: tests/unit/test_log_gap.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOG_GAP_BYTES 192 /* of the line that tells it */

struct log_gap {
    int error; /* errno of the write that failed; 0: nothing is missing */
    uint64_t lines, bytes;
    bool in_line; /* the line that was begun last has not ended yet */
};

/* log_gap_begin - a write has failed; in_line: the log ends in the middle of a line */
void log_gap_begin(struct log_gap *gap, int error, bool in_line);

/* log_gap_lose - these bytes will not be in the log */
void log_gap_lose(struct log_gap *gap, const char *data, size_t n);

/* log_gap_skip - so many of these bytes belong to a line that has lost its beginning; n: all do */
size_t log_gap_skip(const struct log_gap *gap, const char *data, size_t n);

/* log_gap_end - nothing follows: a line that was begun counts as well */
void log_gap_end(struct log_gap *gap);

/* log_gap_describe - "7 lines of 420 bytes: No space left on device" */
void log_gap_describe(const struct log_gap *gap, char ret[LOG_GAP_BYTES]);

/* log_gap_say - the line that stands in the place of what is missing
 * in_line: the log ends in the middle of a line. Returns its length. */
size_t log_gap_say(const struct log_gap *gap, bool in_line, char ret[LOG_GAP_BYTES]);

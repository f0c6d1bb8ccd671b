/* SPDX-License-Identifier: Apache-2.0 */
/* log_missing.h - what of a log cannot be had, and why, in one sentence
 *
 * Used by: log_source.c. Tests: tests/unit/test_log_missing.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct http_answer;
struct log_reading;
struct log_source;

/* log_missing_known - why the node of this process gives nothing, if that was found out; else NULL;
 * borrowed from reading */
const char *log_missing_known(const struct log_reading *reading, const struct log_source *source);

/* log_missing_why - looks why the node gave nothing, into source->why */
void log_missing_why(struct log_reading *reading, struct log_source *source,
                     const struct http_answer *answer);

/* log_missing_say - of the bytes from `from` up to `to` (LOG_NO_END: whatever follows): "bytes 0 to
 * 1,048,575 of trainer-0 are on node n1, which is lost". Pure. */
void log_missing_say(const struct log_source *source, uint64_t from, uint64_t to, char *text,
                     size_t size);

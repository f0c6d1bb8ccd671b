/* SPDX-License-Identifier: Apache-2.0 */
/* log_line.h - the beginning of a line of a log
 *
 * Used by: file_reader.c. Tests: tests/unit/test_log_times.c. */
#pragma once

#include <stdint.h>

/* A reader gets a longer line in parts; so far back and on its ends are looked for. */
#define LOG_LINE_BYTES (UINT64_C(1) << 20)

/* log_line_begin - of the line that goes on at offset; where that began too far before, the
 * beginning of the next one, and offset itself where no line ends near it */
uint64_t log_line_begin(int fd, uint64_t offset);

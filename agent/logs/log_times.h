/* SPDX-License-Identifier: Apache-2.0 */
/* log_times.h - when the bytes of a log were written, in a file beside it
 *
 * A log is a program's bytes and nothing else, so no line of it has a time. Its supervisor notes
 * marks while it writes: the bytes from this offset to the next one were written between these
 * times. Marks are at least LOG_TIMES_EVERY_US apart. When LOG_TIMES_MAX are there, those that are
 * close for their age go: a time is known to a fiftieth of its age at least.
 *
 * The file is the account's, as the log is. So its marks are checked when they are read.
 *
 * Used by: log_pump.c writes it; logs.c and file_reader.c read it. Tests:
 * tests/unit/test_log_times.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define LOG_TIMES_SUFFIX ".times"
#define LOG_TIMES_MAX 4096
#define LOG_TIMES_EVERY_US (UINT64_C(100) * 1000)

struct log_time {
    uint64_t offset, wall_us, last_us;
};

struct log_times {
    struct log_time *marks; /* owned; offsets rise, times do not fall */
    size_t n;
    uint64_t noted_us; /* boot time of the last one */
};

/* log_times_name - of the log at path: the file beside it; new string */
char *log_times_name(const char *log_path);

/* log_times_note - bytes from offset on are written now (two clocks); how many marks, counted from
 * the last one back, are to be written: 0: none, SIZE_MAX: all of them anew. Pure. */
size_t log_times_note(struct log_times *times, uint64_t offset, uint64_t now_us, uint64_t wall_us);

/* log_times_write - so many of them; a disk that refuses costs times, and nothing else */
void log_times_write(const struct log_times *times, size_t n, int fd);

/* log_times_read - what fd (-1: nothing) holds, up to the first mark that makes no sense */
void log_times_read(int fd, struct log_times *ret);

/* log_times_at - the time of the byte at offset; 0: unknown. *ret_end: up to where it holds */
uint64_t log_times_at(const struct log_times *times, uint64_t offset, uint64_t *ret_end);

/* log_times_since - from where on bytes may have been written at wall_us or later; UINT64_MAX:
 * none was. Without marks: 0 */
uint64_t log_times_since(const struct log_times *times, uint64_t wall_us);

void log_times_clear(struct log_times *times);

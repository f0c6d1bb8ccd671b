/* SPDX-License-Identifier: Apache-2.0 */
/* log_trim.h - keeps the logs of a node within their bounds, beneath programs that hold them open
 *
 * The part beyond the bound is given back to the file system from the
 * front (fallocate(2), FALLOC_FL_PUNCH_HOLE). Offsets stay as they are, and a reader finds a hole
 * where the oldest part was. May take as long as the disk does: run by edl-workspace, never in the
 * agent. Tests: tests/unit/test_log_trim.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct edl_error;
struct stat;

/* exit status of edl-workspace trim: a file system could give nothing back */
#define LOG_TRIM_REFUSED 4
#define LOG_MAX_LEAST_BYTES (UINT64_C(256) * 1024) /* of which the end is sent, see logs.h */

struct log_bounds {
    uint64_t each_bytes; /* of one process, at least LOG_MAX_LEAST_BYTES */
    uint64_t old_bytes;  /* of all processes together that are gone; shared by their accounts */
};

struct log_trimmed {
    size_t shortened, removed;
    size_t refused; /* beyond the bound, and their file system can give nothing back */
};

/* log_held_from - the first byte of a log of this size that is still there; size: none is */
uint64_t log_held_from(int fd, uint64_t size);

/* log_cost - what a log counts: what its file system holds for it, however long it says to be */
uint64_t log_cost(const struct stat *st);

/* log_drop_before - what is before this offset is to go; 0: nothing. Pure.
 * An eighth of the bound goes at a time, so that a log at its bound is not dealt with at each line.
 */
uint64_t log_drop_before(uint64_t each_bytes, uint64_t size, uint64_t held_from);

/* log_shorten - drops the oldest part of a log of this size, open for writing, if it is beyond the
 * bound: 1 if it did, 0 if it need not; -EOPNOTSUPP: its file system gives nothing back; -errno */
int log_shorten(int fd, uint64_t each_bytes, uint64_t size);

/* log_trim - shortens what is too long in logs_dir, then removes the oldest logs of processes that
 * have no folder in processes_dir (layout.h), of the account whose logs hold most first. Goes on
 * after a failure, which is reported. */
int log_trim(const char *logs_dir, const char *processes_dir, const struct log_bounds *bounds,
             struct log_trimmed *ret, struct edl_error *error);

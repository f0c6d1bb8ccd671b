/* SPDX-License-Identifier: Apache-2.0 */
/* log_pump.h - what a program writes, from its pipe into its log
 *
 * A pipe has no end that an open(2) of /dev/stderr could cut off, and a full disk is no error of
 * the program: lines are dropped, and the log tells how many. A disk may hold up its writers,
 * and a supervisor has a lease to keep. So a thread moves the bytes; it is made when the first
 * ones are there. The supervisor moves them itself when its program is over, or no thread can be
 * had.
 *
 * The log belongs to the pump: all other words for it go through the pump. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct account;
struct edl_error;
struct log_pump;

/* log_pump_new - most_bytes: of the log, beyond which its oldest part goes; 0: no bound. The log is
 * open for reading and writing, and not for appending (splice(2)). times: where the times of its
 * bytes are noted (log_times.h); -1: nowhere */
struct log_pump *log_pump_new(int take_log_fd, int take_times_fd, uint64_t most_bytes);

/* log_pump_open - the pipe; *ret is its end for the program, the caller's to close
 * account: whose processes open it by its name (/dev/stderr); NULL: ours */
int log_pump_open(struct log_pump *pump, const struct account *account, int *ret,
                  struct edl_error *error);

/* log_pump_fd - readable: log_pump_run is due; -1: it is not */
int log_pump_fd(const struct log_pump *pump);

/* log_pump_run - never waits for a disk, unless there is no thread to do so */
void log_pump_run(struct log_pump *pump);

/* log_pump_end - its program is over: what it wrote is in the log now. Others who hold the pipe,
 * and a disk that does not answer, are waited for until a deadline. */
void log_pump_end(struct log_pump *pump);

/* log_pump_lost - behind log_pump_end: what the log could not even be told that it misses; false:
 * nothing */
bool log_pump_lost(const struct log_pump *pump, char *text, size_t size);

/* log_pump_tell_lost - likewise, told in the journal, and as the reason of the end if there is none
 */
void log_pump_tell_lost(const struct log_pump *pump, char *reason, size_t size);

/* log_pump_say - before log_pump_open or behind log_pump_end: a line of ours */
void log_pump_say(struct log_pump *pump, const char *text);

/* log_pump_log - its log; borrowed; -1: it does not answer */
int log_pump_log(const struct log_pump *pump);

/* log_pump_age - behind log_pump_end: how long ago the byte at offset was written; 0: not known */
uint64_t log_pump_age(const struct log_pump *pump, uint64_t offset);

/* log_pump_times - likewise, of the times of its bytes; -1: there are none */
int log_pump_times(const struct log_pump *pump);

/* log_pump_free - a thread that waits for its disk keeps its part of the memory */
struct log_pump *log_pump_free(struct log_pump *pump);

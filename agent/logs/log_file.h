/* SPDX-License-Identifier: Apache-2.0 */
/* log_file.h - a process' log as others may have left it in its place: read without trust */
#pragma once

#include <sys/stat.h>

/* A log is made before it is known whether its process may run, and marked once that is so. Its
 * account can change the mode of its own log, but not of root's. */
#define LOG_MODE_BEGUN 0600
#define LOG_MODE_RUNS 0640

struct layout;
struct log_times;
struct process_id;

/* log_file_open - for reading, never waiting: the descriptor and what it is, or -ENOENT when there
 * is no regular file there (none at all, a pipe, a device), else -errno */
int log_file_open(const struct layout *layout, const struct process_id *id, struct stat *ret);

/* log_file_times - likewise the times of its bytes; none: no marks; *ret is the caller's to clear
 */
void log_file_times(const struct layout *layout, const struct process_id *id,
                    struct log_times *ret);

/* log_file_make - for its supervisor: the descriptor, or -errno. What another process of its
 * account may have put there is no log (-EEXIST). The folder of a job may be removed while it is
 * empty (log_trim.c); it is made again. */
int log_file_make(const char *path);

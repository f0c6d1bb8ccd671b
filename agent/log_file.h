/* SPDX-License-Identifier: Apache-2.0 */
/* log_file.h - a process' log as others may have left it in its place: read without trust */
#pragma once

#include <sys/stat.h>

struct layout;
struct process_id;

/* log_file_open - for reading, never waiting: the descriptor and what it is, or -ENOENT when there
 * is no regular file there (none at all, a pipe, a device), else -errno */
int log_file_open(const struct layout *layout, const struct process_id *id, struct stat *ret);

/* SPDX-License-Identifier: Apache-2.0 */
/* supervise.h - one process, from its order to its exit record */
#pragma once

/* supervise_folder - becomes the supervisor of the process ordered in the folder at path, and
 * returns when its end is on record: 0, or -errno, told in the log, when the folder is in use, was
 * used before, or nothing can be recorded. For a process of its own with a single thread
 * and signals at their defaults (but SIGCHLD): the umask and the signal mask are changed. */
int supervise_folder(const char *path);

/* supervise_block_signals - the signals that supervise_folder reads are kept until it does; to be
 * called before the process is made, so that an early stop is not lost */
void supervise_block_signals(void);

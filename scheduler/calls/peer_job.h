/* SPDX-License-Identifier: Apache-2.0 */
/* peer_job.h - whether a process of a job is at the other end of a Unix socket
 *
 * On that socket the kernel's word is enough: a caller is its account. A process of a job has that
 * account too, and is not its owner: its work there would outlive the job. It has edl-supervisor
 * above it after every fork, as supervisors are child subreapers (prctl(2)); a program of a session
 * inside it has edl-session. */
#pragma once

#include <stdbool.h>

/* peer_is_of_job - of a connected Unix socket; false for any other socket
 * Also true when the process that connected is gone: nobody can tell any more whose it was. False
 * where /proc does not show processes of other accounts, and for supervisors that the scheduler
 * itself is below. */
bool peer_is_of_job(int fd);

/* SPDX-License-Identifier: Apache-2.0 */
/* one_reader.h - one client of an incarnation takes tasks: a second one would be given the tasks
 * that the first one holds
 *
 * The agent knows an incarnation and not its processes. So the client that reads records holds a
 * lock on a byte of a file in the output folder, which is the job's own. The byte stands for role,
 * index and incarnation; python/edl/_one_reader.py locks the same one. For records.c; tests:
 * tests/unit/test_libedl_dealt.c. */
#pragma once

#include <sys/types.h>

#include "shared/error.h"

struct one_reader {
    int fd;    /* has the lock until it is closed; -1: not claimed */
    pid_t pid; /* of the process that claimed it */
};

/* one_reader_claim - for this client until one_reader_release; again is fine
 * -EBUSY: another process, or another client of this one, has claimed it; so has the process that
 * this one was forked from. Where no lock is possible stderr says so, and it is claimed. */
int one_reader_claim(struct one_reader *reader, struct edl_error *error);
void one_reader_release(struct one_reader *reader);

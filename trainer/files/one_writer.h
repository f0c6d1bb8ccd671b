/* SPDX-License-Identifier: Apache-2.0 */
/* one_writer.h - one process at a time writes to a place; a second one is told the first one's name
 *
 * The writer holds a lock on a file beside what it writes. The file has its name, in the form of
 * python/edl/_writer.py. The kernel ends the lock with the process, also on another machine. A
 * newer incarnation of the same process of a job does not wait for an older one, which may stand
 * still: it renames a file of its own over that one's, and the older one finds that.
 *
 * Used by: the parameter server, the saved passes. Tests: tests/unit/test_one_writer.c. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct edl_error;

/* Who writes. */
struct writer_name {
    char job[65];   /* names the job, and does not tell its secret; "": none */
    char place[80]; /* role and index in it */
    uint64_t incarnation;
};

/* All 0: it holds nothing. */
struct one_writer {
    bool held;
    int fd; /* of the file, which is locked */
    dev_t device;
    ino_t inode; /* of the file */
    char path[PATH_MAX];
};

/* writer_name_of_environment - this process of its job, by the variables of the agent */
void writer_name_of_environment(struct writer_name *ret);

/* one_writer_claim - for this process until it releases it or ends; 0 as well when it holds it
 * path: of the file; its folder is made (one level) if need be. -EBUSY: another process writes
 * there, also when that has taken the place since the last call: the text names it, with what to
 * do. Else what opening the file gives. */
int one_writer_claim(struct one_writer *writer, const char *path, const struct writer_name *me,
                     struct edl_error *error);

/* one_writer_holds - it was claimed, and nobody has taken it over; also asked by a child that has
 * not its files */
bool one_writer_holds(const struct one_writer *writer);

/* one_writer_release - and nothing is left of it */
void one_writer_release(struct one_writer *writer);

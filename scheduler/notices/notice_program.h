/* SPDX-License-Identifier: Apache-2.0 */
/* notice_program.h - a program that is given files in memory, and ended when it takes too long
 *
 * Used by: notice_send.c, in its threads. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define PROGRAM_STOPPED (-1) /* nobody wants its result any more */
#define PROGRAM_LATE (-2)
#define PROGRAM_NOT_STARTED (-3)

struct program_run {
    const char *const *argv;
    int stop_fd; /* readable: it is ended */
    uint64_t timeout_us;
    const char *input;   /* of descriptor 0 */
    const char *body;    /* of descriptor 3; NULL: none */
    char output[64];     /* the beginning of what it wrote, ended by NUL */
    char complaint[200]; /* likewise, to its error output: a printable line */
};

/* program_run - waits for it. Its exit status, 256 for a signal, or one of the above. It has an
 * environment of its own, no descriptor but these, and is the first of a group that ends with it */
int program_run(struct program_run *run);

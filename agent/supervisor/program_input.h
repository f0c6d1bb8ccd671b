/* SPDX-License-Identifier: Apache-2.0 */
/* program_input.h - what a program reads, where its job says stdin: true
 *
 * A FIFO in the folder of the process. A session writes to it; a writer that leaves is no end of
 * input. A session whose person ends the input (Ctrl-D) says so to the supervisor by SIGUSR2. It
 * belongs to the account of the program, which may open /dev/stdin.
 *
 * Used by: supervise.c. A session writes by the name (PROGRAM_INPUT_FIFO). Tests:
 * tests/unit/test_program_input.c, tests/integration/357-stdin.sh. */
#pragma once

#include <jansson.h>

struct account;
struct edl_error;

#define PROGRAM_INPUT_FIFO "stdin" /* in the folder; mode 0600 */

/* What its supervisor has of it. */
struct program_input {
    int held_fd;    /* owned; a writer that stays as long as we do; -1: there is no FIFO */
    int program_fd; /* owned until the program has it; -1: it reads nothing (/dev/null) */
};

#define PROGRAM_INPUT_NONE                                                                         \
    {                                                                                              \
        .held_fd = -1, .program_fd = -1                                                            \
    }

/* program_input_open - makes the FIFO in folder dir_fd if the order says so; 0 also when it does
 * not. account: whose it is; NULL: ours. On failure nothing is open */
int program_input_open(int dir_fd, const json_t *order, const struct account *account,
                       struct program_input *ret, struct edl_error *error);

/* program_input_given - the program has its end */
void program_input_given(struct program_input *input);

/* program_input_end - the program reads an end of its input once the writers of now are gone */
void program_input_end(struct program_input *input);

void program_input_close(struct program_input *input);

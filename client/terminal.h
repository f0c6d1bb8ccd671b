/* SPDX-License-Identifier: Apache-2.0 */
/* terminal.h - the person's terminal: raw while a session has it, and as it was on every way out
 *
 * What cannot be caught apart (SIGKILL), each end of the process puts it back: a return, exit(), a
 * signal that is handled by the loop, and one that ends the process at once. */
#pragma once

#include <stdbool.h>

struct edl_error;
struct session_size;

/* terminal_enter - standard input becomes raw; again after it was stopped and continued
 * -errno with error when it is no terminal, or cannot be set */
int terminal_enter(struct edl_error *error);
void terminal_leave(void); /* also when nothing was entered */
bool terminal_is_raw(void);

/* terminal_size - of standard output, input or error; 24 x 80 where that is unknown or 0 */
void terminal_size(struct session_size *ret);

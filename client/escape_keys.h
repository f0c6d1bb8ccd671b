/* SPDX-License-Identifier: Apache-2.0 */
/* escape_keys.h - keys for edl and not for the program: ~. and its like, as ssh has them (pure)
 *
 * A tilde counts at the start of a line only. "~." ends the session, "~?" tells of them, "~~" is
 * one tilde; before anything else it is a tilde like any other. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum escape_wish { ESCAPE_NONE, ESCAPE_END, ESCAPE_HELP };

/* Begun by escape_keys_begin. */
struct escape_keys {
    bool at_start; /* of a line */
    bool tilde;    /* came, and nothing behind it yet */
};

#define ESCAPE_HELP_TEXT                                                                           \
    "~.  ends this session (the job goes on)\r\n"                                                  \
    "~~  sends one ~\r\n"                                                                          \
    "~?  shows this\r\n"                                                                           \
    "They count at the start of a line only.\r\n"

void escape_keys_begin(struct escape_keys *keys);

/* escape_keys_take - of what was typed, that which goes on to the program: into ret, which has room
 * for size + 1 bytes. *at moves on behind what was taken: all, or up to the first wish. */
enum escape_wish escape_keys_take(struct escape_keys *keys, const char *typed, size_t size,
                                  size_t *at, char *ret, size_t *ret_size);

/* SPDX-License-Identifier: Apache-2.0 */
/* output_mask.h - a program's output for the terminal of somebody else, as it comes
 *
 * Control characters are shown as escapes (shared/printable.h), but for line ends, tabs and
 * colours: a log is not to set titles, clipboards or answers of the reader's terminal. Pieces may
 * end anywhere. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { OUTPUT_MASK_HELD_MAX = 32 };

/* Zeroed at first. */
struct output_mask {
    char held[OUTPUT_MASK_HELD_MAX]; /* the beginning of a character or colour */
    size_t n_held;
};

/* output_mask_take - what is shown of a piece, new bytes; at_end: nothing comes behind it */
char *output_mask_take(struct output_mask *mask, const void *data, size_t size, bool at_end,
                       size_t *ret_size);

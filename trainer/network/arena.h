/* SPDX-License-Identifier: Apache-2.0 */
/* arena.h - places in one block of memory for pieces that live for a while each; pure */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct arena_piece {
    size_t bytes;
    uint32_t born, dead; /* alive from born to dead, both included */
    size_t offset;       /* set by arena_lay */
};

/* arena_lay - an offset for each piece, so that pieces alive at the same time do not overlap
 * Largest first, each at the lowest place that is free in its time. Returns the bytes of the block.
 * Sizes are rounded up to 64. */
size_t arena_lay(struct arena_piece *pieces, size_t n);

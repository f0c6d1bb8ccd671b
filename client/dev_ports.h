/* SPDX-License-Identifier: Apache-2.0 */
/* dev_ports.h - port ranges for the nodes of `edl dev`, never the same for two nodes of one machine
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct edl_error;

#define DEV_PORTS_PER_NODE 500

struct dev_ports {
    uint16_t first, last;
    int fd; /* holds the claim; safe_close gives it up */
};

/* dev_ports_block - the block of that number outside the ephemeral range [low, high]; -ENOENT past
 * the last When the ephemeral range leaves no room at all it is disregarded. Pure. */
int dev_ports_block(size_t number, uint32_t low, uint32_t high, uint16_t *ret_first);

/* dev_ports_claim - the first block that nobody on this machine holds; -EADDRINUSE when there is
 * none */
int dev_ports_claim(struct dev_ports *ret, struct edl_error *error);

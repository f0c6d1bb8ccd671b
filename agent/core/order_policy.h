/* SPDX-License-Identifier: Apache-2.0 */
/* order_policy.h - the bounds of an order to this node, by any sender; pure
 *
 * The scheduler keeps the sum within what the node offers. That no single process asks for more
 * than that, or for ports and devices that are others', is looked at here. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct edl_error;

struct node_limits { /* what the node offers */
    uint64_t cpu_millicores, memory_bytes, gpus;
    uint16_t port_first, port_last;
};

struct order_wants {
    uint64_t cpu_millicores, memory_bytes;
    uint64_t gpu_mask;    /* device n: bit n */
    const int64_t *ports; /* borrowed */
    size_t n_ports;
};

/* order_check - -EACCES with error when it asks for what the node does not offer */
int order_check(const struct node_limits *limits, const struct order_wants *wants,
                struct edl_error *error);

/* SPDX-License-Identifier: Apache-2.0 */
/* order_policy.c - see order_policy.h */
#include "agent/core/order_policy.h"

#include <errno.h>
#include <inttypes.h>

#include "shared/error.h"
#include "shared/macro.h"

#define DEVICES_MAX 64

int order_check(const struct node_limits *limits, const struct order_wants *wants,
                struct edl_error *error)
{
    const struct {
        const char *what;
        uint64_t wanted, offered;
    } sums[] = { { "millicores", wants->cpu_millicores, limits->cpu_millicores },
                 { "bytes of memory", wants->memory_bytes, limits->memory_bytes } };

    for (size_t i = 0; i < ELEMENTS(sums); i++)
        if (sums[i].wanted > sums[i].offered)
            return edl_error_set(error, -EACCES,
                                 "it asks for %" PRIu64 " %s, this node offers %" PRIu64,
                                 sums[i].wanted, sums[i].what, sums[i].offered);
    if (limits->gpus < DEVICES_MAX && wants->gpu_mask >> limits->gpus != 0)
        return edl_error_set(error, -EACCES, "it asks for a GPU that this node does not offer");
    for (size_t i = 0; i < wants->n_ports; i++)
        if (wants->ports[i] < limits->port_first || wants->ports[i] > limits->port_last)
            return edl_error_set(error, -EACCES,
                                 "it asks for port %" PRId64 ", this node offers %u-%u",
                                 wants->ports[i], limits->port_first, limits->port_last);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* dev_ports.c - port ranges for the nodes of `edl dev`, never the same for two nodes of one machine
 *
 * A claim is an abstract Unix socket with the block's name: it is as wide as ports are (the network
 * namespace, for all users) and leaves no file behind. The kernel drops it at any end of its
 * holder. The ephemeral range is avoided, since there any outgoing connection may sit on a port. So
 * is 20000-20999, which an agent that is installed on this machine offers by default. */
#include "client/dev_ports.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define PORT_LOWEST 12000
#define PORT_HIGHEST 65500
#define INSTALLED_FIRST 20000
#define INSTALLED_LAST 20999

static int usable(uint32_t first, uint32_t low, uint32_t high)
{
    uint32_t last = first + DEV_PORTS_PER_NODE - 1;

    return (last < low || first > high) && (last < INSTALLED_FIRST || first > INSTALLED_LAST);
}

/* Blocks are counted upwards; returns the number of them when `number` is not among them. */
static size_t find_block(size_t number, uint32_t low, uint32_t high, uint16_t *ret_first)
{
    size_t n = 0;

    for (uint32_t first = PORT_LOWEST; first + DEV_PORTS_PER_NODE - 1 <= PORT_HIGHEST;
         first += DEV_PORTS_PER_NODE) {
        if (!usable(first, low, high))
            continue;
        if (n++ == number) {
            *ret_first = (uint16_t)first;
            return SIZE_MAX;
        }
    }
    return n;
}

int dev_ports_block(size_t number, uint32_t low, uint32_t high, uint16_t *ret_first)
{
    size_t n = find_block(number, low, high, ret_first);

    if (n == 0)
        n = find_block(number, UINT32_MAX, UINT32_MAX, ret_first);
    return n == SIZE_MAX ? 0 : -ENOENT;
}

static void read_ephemeral(uint32_t *ret_low, uint32_t *ret_high)
{
    _cleanup_fclose_ FILE *file = fopen("/proc/sys/net/ipv4/ip_local_port_range", "re");

    if (file == NULL || fscanf(file, "%u %u", ret_low, ret_high) != 2) {
        *ret_low = 32768; /* the kernel's default */
        *ret_high = 60999;
    }
}

/* Descriptor that holds the claim, -EADDRINUSE when somebody else has it, or another code. */
static int claim(uint16_t first)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int n = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "edl-dev-ports-%u", first);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);

    if (fd == -1 || bind(fd, (const struct sockaddr *)&address, size) == -1)
        return -errno;
    return TAKE_FD(fd);
}

int dev_ports_claim(struct dev_ports *ret, struct edl_error *error)
{
    uint32_t low;
    uint32_t high;
    uint16_t first;

    read_ephemeral(&low, &high);
    for (size_t i = 0; dev_ports_block(i, low, high, &first) == 0; i++) {
        int fd = claim(first);

        if (fd == -EADDRINUSE)
            continue;
        if (fd < 0)
            return edl_error_errno(error, fd, "claiming ports from %u", first);
        *ret = (struct dev_ports){ .first = first,
                                   .last = (uint16_t)(first + DEV_PORTS_PER_NODE - 1),
                                   .fd = fd };
        return 0;
    }
    (void)edl_error_set(error, -EADDRINUSE,
                        "other dev clusters hold all port ranges of this machine");
    return edl_error_remedy(error, "end one of them, or use fewer --nodes");
}

/* SPDX-License-Identifier: Apache-2.0 */
/* ports.c - see ports.h
 *
 * The kernel lists the sockets that listen before all others (proc_net(5)): the many connections of
 * a busy machine are not read. */
#include "agent/machine/ports.h"

#include <stdio.h>
#include <string.h>

#include "agent/layout.h"
#include "shared/cleanup.h"
#include "shared/macro.h"

#define STATE_LISTEN 0x0A

static void read_list(const char *path, struct port_set *set)
{
    _cleanup_fclose_ FILE *file = fopen(path, "re");
    char line[256];

    if (file == NULL || fgets(line, sizeof line, file) == NULL) /* what the columns mean */
        return;
    while (fgets(line, sizeof line, file) != NULL) {
        unsigned port, state;

        /* sl: local address:port, remote address:port, state */
        if (sscanf(line, " %*u: %*32[0-9A-F]:%4x %*32[0-9A-F]:%*4x %2x", &port, &state) != 2 ||
            state != STATE_LISTEN)
            return;
        port_set_add(set, (uint16_t)port);
    }
}

void ports_listened(const char *folder, struct port_set *ret)
{
    static const char *const names[] = { "tcp", "tcp6" };

    *ret = (struct port_set){ 0 };
    for (size_t i = 0; i < ELEMENTS(names); i++) {
        _cleanup_free_ char *path = text_format("%s/%s", folder, names[i]);

        read_list(path, ret);
    }
}

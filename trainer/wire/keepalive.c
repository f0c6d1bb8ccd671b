/* SPDX-License-Identifier: Apache-2.0 */
/* keepalive.c - see keepalive.h */
#include "trainer/wire/keepalive.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "shared/macro.h"

void keepalive_set(int fd)
{
    static const struct {
        int level, option, value;
    } options[] = { { SOL_SOCKET, SO_KEEPALIVE, 1 },
                    { IPPROTO_TCP, TCP_KEEPIDLE, 4 },
                    { IPPROTO_TCP, TCP_KEEPINTVL, 2 },
                    { IPPROTO_TCP, TCP_KEEPCNT, 3 } };

    for (size_t i = 0; i < ELEMENTS(options); i++)
        (void)setsockopt(fd, options[i].level, options[i].option, &options[i].value,
                         sizeof options[i].value);
}

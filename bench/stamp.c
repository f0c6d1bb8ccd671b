/* SPDX-License-Identifier: Apache-2.0 */
/* stamp.c - the process that is started and killed: tells when its main began
 *
 * Usage: stamp SOCKET [--stay | --ignore-term | --tree N]
 * --stay: until it is killed; --ignore-term: the same, and SIGTERM is ignored; --tree: with N
 * children that stay and tell as well. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "bench/stamp.h"
#include "shared/macro.h"

static void tell(const char *path, const struct stamp *stamp)
{
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    (void)snprintf(to.sun_path, sizeof to.sun_path, "%s", path);
    if (fd == -1 ||
        sendto(fd, stamp, sizeof *stamp, 0, (const struct sockaddr *)&to, sizeof to) == -1)
        perror("stamp");
}

static uint64_t now_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

static _Noreturn void stay(void)
{
    for (;;)
        (void)pause();
}

int main(int argc, char **argv)
{
    struct stamp stamp = { now_ns() };
    const char *how = argc > 2 ? argv[2] : "";

    if (argc < 2)
        return 2;
    if (streq(how, "--ignore-term"))
        (void)signal(SIGTERM, SIG_IGN);
    for (long n = streq(how, "--tree") && argc > 3 ? strtol(argv[3], NULL, 10) : 0; n > 0; n--)
        if (fork() == 0) {
            tell(argv[1], &stamp);
            stay();
        }
    tell(argv[1], &stamp);
    if (how[0] != '\0')
        stay();
    return 0;
}

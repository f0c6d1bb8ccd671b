/* SPDX-License-Identifier: Apache-2.0 */
/* wire.c - what the clients in bench/ share (see wire.h) */
#include "bench/wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "shared/macro.h"
#include "shared/parse.h"

_Noreturn void wire_die(const char *what)
{
    (void)fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
    exit(1);
}

void wire_read_file(const char *path, char *ret, size_t size)
{
    FILE *file = fopen(path, "re");
    size_t n;

    if (file == NULL)
        wire_die(path);
    n = fread(ret, 1, size - 1, file);
    ret[n] = '\0';
    (void)fclose(file);
}

void wire_read_token(const char *path, char *ret, size_t size)
{
    wire_read_file(path, ret, size);
    ret[strcspn(ret, "\n")] = '\0';
}

int wire_server(const char *text, struct sockaddr_in *ret)
{
    const char *colon = strrchr(text, ':');
    char host[INET_ADDRSTRLEN];
    uint64_t port;

    if (colon == NULL || (size_t)(colon - text) >= sizeof host || parse_u64(colon + 1, &port) < 0 ||
        port > UINT16_MAX)
        return -EINVAL;
    (void)snprintf(host, sizeof host, "%.*s", (int)(colon - text), text);
    ret->sin_family = AF_INET;
    ret->sin_port = htons((uint16_t)port);
    return inet_pton(AF_INET, host, &ret->sin_addr) == 1 ? 0 : -EINVAL;
}

int wire_connect(const struct sockaddr_in *server)
{
    const int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd == -1 || connect(fd, (const struct sockaddr *)server, sizeof *server) == -1 ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == -1)
        wire_die("connecting");
    return fd;
}

size_t wire_whole_answer(const char *buffer, size_t used)
{
    const char *end = strstr(buffer, "\r\n\r\n");
    const char *length = strcasestr(buffer, "\r\nContent-Length:");
    size_t size;

    if (end == NULL || length == NULL || length > end)
        return 0;
    size = (size_t)(end + 4 - buffer) + strtoull(length + 17, NULL, 10);
    return used >= size ? size : 0;
}

unsigned wire_status(const char *buffer)
{
    return (unsigned)strtoul(buffer + strcspn(buffer, " "), NULL, 10);
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

uint64_t wire_percentile(uint64_t *values, size_t n, unsigned permille)
{
    if (n == 0)
        return 0;
    qsort(values, n, sizeof *values, compare);
    return values[MIN_OF(n * permille / 1000, n - 1)];
}

/* SPDX-License-Identifier: Apache-2.0 */
/* session_listeners.c - see session_listeners.h */
#include "agent/session/session_listeners.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "shared/cleanup.h"
#include "shared/macro.h"

#define STATE_LISTEN 10
#define LINE_SIZE 512
#define LINK_SIZE 64

/* parse_address - as the kernel prints it: each 4 bytes as a number of this machine */
static bool parse_address(const char *text, bool is_v6, struct in6_addr *ret)
{
    size_t n = is_v6 ? 4 : 1;
    uint32_t words[4] = { 0, 0, htonl(0xffff), 0 };

    if (strspn(text, "0123456789ABCDEFabcdef") != 8 * n)
        return false;
    for (size_t i = 0; i < n; i++) {
        char digits[9];

        (void)snprintf(digits, sizeof digits, "%.8s", text + 8 * i);
        words[is_v6 ? i : 3] = (uint32_t)strtoul(digits, NULL, 16);
    }
    memcpy(ret, words, sizeof words);
    return true;
}

void session_listeners_take(struct session_listeners *listeners, const char *line, bool is_v6,
                            uint16_t port)
{
    struct session_listener listener = { .is_v6 = is_v6 };
    char address[33];
    unsigned found, state;

    if (sscanf(line,
               " %*u: %32[0-9A-Fa-f]:%4x %*[0-9A-Fa-f]:%*x %2x %*x:%*x %*x:%*x %*x %*u %*u "
               "%" SCNu64,
               address, &found, &state, &listener.inode) != 4 ||
        state != STATE_LISTEN || found != port || listener.inode == 0 ||
        !parse_address(address, is_v6, &listener.address))
        return;
    if (listeners->n == SESSION_LISTENERS_MAX) {
        listeners->too_many = true;
        return;
    }
    listeners->list[listeners->n++] = listener;
}

/* is_any - at all addresses of the family, or of both: one at [::] may answer to version 4 */
static bool is_any(const struct session_listener *listener)
{
    struct in6_addr any_v4;

    (void)inet_pton(AF_INET6, "::ffff:0.0.0.0", &any_v4);
    return IN6_IS_ADDR_UNSPECIFIED(&listener->address) ||
           memcmp(&listener->address, &any_v4, sizeof any_v4) == 0;
}

static bool is_of_family(const struct session_listener *listener, const struct in6_addr *address)
{
    return IN6_IS_ADDR_V4MAPPED(address) ||
           (listener->is_v6 && !IN6_IS_ADDR_V4MAPPED(&listener->address));
}

void session_listeners_at(const struct session_listeners *listeners, const struct in6_addr *address,
                          struct session_listeners *ret)
{
    ret->n = 0;
    ret->too_many = listeners->too_many;
    for (size_t i = 0; i < listeners->n; i++)
        if (memcmp(&listeners->list[i].address, address, sizeof *address) == 0)
            ret->list[ret->n++] = listeners->list[i];
    if (ret->n > 0)
        return;
    for (size_t i = 0; i < listeners->n; i++)
        if (is_any(&listeners->list[i]) && is_of_family(&listeners->list[i], address))
            ret->list[ret->n++] = listeners->list[i];
}

static int read_table(pid_t pid, const char *name, bool is_v6, uint16_t port,
                      struct session_listeners *ret)
{
    char path[64], line[LINE_SIZE];
    _cleanup_fclose_ FILE *table = NULL;

    (void)snprintf(path, sizeof path, "/proc/%d/net/%s", (int)pid, name);
    table = fopen(path, "re");
    if (table == NULL)
        return -errno;
    while (fgets(line, sizeof line, table) != NULL)
        session_listeners_take(ret, line, is_v6, port);
    return 0;
}

int session_listeners_read(pid_t pid, uint16_t port, struct session_listeners *ret)
{
    int r;

    ret->n = 0;
    ret->too_many = false;
    r = read_table(pid, "tcp", false, port, ret);
    if (r == 0 && read_table(pid, "tcp6", true, port, ret) < 0 && errno != ENOENT)
        r = -errno;
    return r;
}

/* ---- whose they are ---- */

/* look_into - the descriptors of one process; each inode that is one of these is struck off */
static void look_into(pid_t pid, const struct session_listeners *listeners, bool *found)
{
    char path[64], target[LINK_SIZE];
    _cleanup_closedir_ DIR *folder = NULL;
    const struct dirent *entry;
    uint64_t inode;

    (void)snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    folder = opendir(path);
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        ssize_t n = readlinkat(dirfd(folder), entry->d_name, target, sizeof target - 1);

        target[MAX_OF(n, 0)] = '\0';
        if (n <= 0 || sscanf(target, "socket:[%" SCNu64 "]", &inode) != 1)
            continue;
        for (size_t i = 0; i < listeners->n; i++)
            found[i] = found[i] || listeners->list[i].inode == inode;
    }
}

static bool is_alive(int pidfd)
{
    struct pollfd end = { .fd = pidfd, .events = POLLIN };

    return poll(&end, 1, 0) == 0;
}

/* look_at - descriptors of a number that became another process's meanwhile count for nobody */
static void look_at(pid_t pid, const struct session_listeners *listeners, session_hold_fn hold,
                    const void *userdata, bool *found)
{
    _cleanup_close_ int pidfd = hold(pid, userdata);
    bool its[SESSION_LISTENERS_MAX] = { false };

    if (pidfd < 0)
        return;
    look_into(pid, listeners, its);
    if (!is_alive(pidfd))
        return;
    for (size_t i = 0; i < listeners->n; i++)
        found[i] = found[i] || its[i];
}

bool session_listeners_owned(const struct session_listeners *listeners, const pid_t *pids,
                             size_t n_pids, session_hold_fn hold, const void *userdata)
{
    bool found[SESSION_LISTENERS_MAX] = { false };
    size_t n = 0;

    if (listeners->n == 0 || listeners->too_many)
        return false;
    for (size_t i = 0; i < n_pids && n < listeners->n; i++) {
        look_at(pids[i], listeners, hold, userdata, found);
        n = 0;
        for (size_t j = 0; j < listeners->n; j++)
            n += found[j];
    }
    return n == listeners->n;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* notify.c - see notify.h */
#include "agent/supervisor/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "shared/cleanup.h"
#include "shared/log.h"

bool notify_wanted(void)
{
    return getenv("NOTIFY_SOCKET") != NULL;
}

void notify_ready(void)
{
    static const char message[] = "READY=1";
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    _cleanup_close_ int fd = -1;
    size_t length;

    if (path == NULL)
        return;
    length = strlen(path);
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd == -1 || length >= sizeof address.sun_path) {
        log_error("cannot tell the service manager at %s", path);
        return;
    }
    (void)memcpy(address.sun_path, path, length + 1);
    if (path[0] == '@')
        address.sun_path[0] = '\0'; /* an abstract name */
    if (sendto(fd, message, sizeof message - 1, MSG_NOSIGNAL, (const struct sockaddr *)&address,
               (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)) == -1)
        log_error("cannot tell the service manager at %s: %s", path, strerror(errno));
}

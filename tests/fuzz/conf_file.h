/* SPDX-License-Identifier: Apache-2.0 */
/* conf_file.h - for fuzz targets: bytes as a file without a name, readable by a path */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* conf_file - a descriptor; whose file is nobody else's to write, as conf_read wants it */
static inline int conf_file(const uint8_t *data, size_t size, char ret_path[32])
{
    int fd = memfd_create("conf", MFD_CLOEXEC);

    if (fd == -1 || write(fd, data, size) != (ssize_t)size || fchmod(fd, 0600) == -1)
        abort();
    (void)snprintf(ret_path, 32, "/proc/self/fd/%d", fd);
    return fd;
}

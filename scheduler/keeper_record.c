/* SPDX-License-Identifier: Apache-2.0 */
/* keeper_record.c - where the keeper of the last run was called (see keeper_record.h)
 *
 * One line: the boot, the socket (path, device, inode, when it was made), and the inode of the file
 * itself, which no copy of it has. A unit that hides /proc/sys cannot tell the boot; there the
 * socket is one that systemd makes anew in each. */
#include "scheduler/keeper_record.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define LINE_BYTES (PATH_MAX + 256)
#define BOOT_ID_BYTES 37 /* with the NUL */

static void read_boot(char ret[BOOT_ID_BYTES])
{
    _cleanup_close_ int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, ret, BOOT_ID_BYTES - 1) : 0;

    ret[n == BOOT_ID_BYTES - 1 ? n : 0] = '\0';
}

/* text - what is to be in the file fd; false: something of it cannot be seen */
static bool text(int fd, const char *path, char ret[LINE_BYTES])
{
    char boot[BOOT_ID_BYTES];
    struct stat own, its;

    if (fstat(fd, &own) == -1 || lstat(path, &its) == -1 || !S_ISSOCK(its.st_mode))
        return false;
    read_boot(boot);
    (void)snprintf(ret, LINE_BYTES, "boot %s record %ju:%ju socket %ju:%ju %jd.%09ld %s\n", boot,
                   (uintmax_t)own.st_dev, (uintmax_t)own.st_ino, (uintmax_t)its.st_dev,
                   (uintmax_t)its.st_ino, (intmax_t)its.st_ctim.tv_sec, its.st_ctim.tv_nsec, path);
    return true;
}

/* The boot itself, or a socket on another file system than the folder: that of /run, which begins
 * empty. */
static bool tells_the_boot(int fd, const char *path)
{
    char boot[BOOT_ID_BYTES];
    struct stat own, its;

    read_boot(boot);
    return boot[0] != '\0' ||
           (fstat(fd, &own) == 0 && lstat(path, &its) == 0 && own.st_dev != its.st_dev);
}

bool keeper_record_holds(const char *record, const char *path)
{
    _cleanup_close_ int fd = open(record, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    char wanted[LINE_BYTES], found[LINE_BYTES];
    ssize_t n;

    if (fd == -1 || !text(fd, path, wanted))
        return false;
    n = read(fd, found, sizeof found - 1);
    found[MAX_OF(n, 0)] = '\0';
    return streq(wanted, found) && tells_the_boot(fd, path);
}

/* In place: what is half written holds of nothing, and a loss of power begins another boot. */
int keeper_record_write(const char *record, const char *path, struct edl_error *error)
{
    _cleanup_close_ int fd = -1;
    char line[LINE_BYTES];

    if (keeper_record_holds(record, path))
        return 0;
    fd = open(record, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd == -1)
        return edl_error_errno(error, -errno, "%.200s", record);
    if (!text(fd, path, line))
        return edl_error_set(error, -ENOTSOCK, "there is no socket %.160s", path);
    if (write(fd, line, strlen(line)) != (ssize_t)strlen(line))
        return edl_error_set(error, -EIO, "%.200s cannot be written", record);
    return 0;
}

int keeper_record_remove(const char *record, struct edl_error *error)
{
    if (unlink(record) == 0 || errno == ENOENT)
        return 0;
    return edl_error_errno(error, -errno, "removing %.200s", record);
}

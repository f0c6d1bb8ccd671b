/* SPDX-License-Identifier: Apache-2.0 */
/* one_reader.c - one client of an incarnation takes tasks
 *
 * The lock is of the open file and not of the process. So two clients of a process exclude each
 * other as well, and closing one file does not end the lock of another. */
#include "libedl/one_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/macro.h"

#define LOCK_NAME ".edl-reader"
#define BYTE_MOST (UINT64_C(0x3fffffffffffffff)) /* an off_t has room for it */

/* lock_byte - FNV-1a, 64 bits, of who this is */
static off_t lock_byte(void)
{
    static const char *const names[] = { "EDL_JOB_ID", "EDL_ROLE", "EDL_INDEX", "EDL_INCARNATION" };
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < ELEMENTS(names); i++) {
        const char *value = getenv(names[i]);

        for (const char *c = value != NULL ? value : ""; *c != '\0'; c++)
            hash = (hash ^ (uint8_t)*c) * UINT64_C(0x100000001b3);
        hash = (hash ^ ' ') * UINT64_C(0x100000001b3);
    }
    return (off_t)(hash & BYTE_MOST);
}

static int refuse(const char *who, struct edl_error *error)
{
    (void)edl_error_set(error, -EBUSY, "%s the records of this process of the job", who);
    return edl_error_remedy(error, "read them through one client of one process, and hand them to "
                                   "the others");
}

static void cannot_be_seen(const char *folder)
{
    (void)fprintf(stderr,
                  "edl: whether other processes read the records of this one cannot be seen: %s: "
                  "%s\n",
                  folder, strerror(errno));
}

int one_reader_claim(struct one_reader *reader, struct edl_error *error)
{
    const char *folder = getenv("EDL_OUTPUT_DIR");
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
    _cleanup_free_ char *path = NULL;
    _cleanup_close_ int fd = -1;

    if (reader->pid == getpid())
        return 0;
    if (reader->pid != 0)
        return refuse("the process that this one was forked from takes", error);
    if (folder != NULL && *folder != '\0' && asprintf(&path, "%s/%s", folder, LOCK_NAME) >= 0)
        fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    lock.l_start = lock_byte();
    if (fd >= 0 && fcntl(fd, F_OFD_SETLK, &lock) == 0)
        reader->fd = TAKE_FD(fd);
    else if (fd >= 0 && (errno == EAGAIN || errno == EACCES))
        return refuse("another process, or another client of this one, takes", error);
    else if (path != NULL)
        cannot_be_seen(folder);
    reader->pid = getpid();
    return 0;
}

void one_reader_release(struct one_reader *reader)
{
    struct flock unlock = { .l_type = F_UNLCK, .l_whence = SEEK_SET, .l_len = 1 };

    /* a forked child may have the same open file, which would keep the lock */
    unlock.l_start = lock_byte();
    if (reader->fd >= 0 && reader->pid == getpid())
        (void)fcntl(reader->fd, F_OFD_SETLK, &unlock);
    reader->fd = safe_close(reader->fd);
    reader->pid = 0;
}

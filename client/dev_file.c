/* SPDX-License-Identifier: Apache-2.0 */
/* dev_file.c - where a running `edl dev` leaves word of itself, so that other verbs find it
 *
 * The file names a server and a token file, so a planted one would make us send a token to a
 * stranger. Hence the folder is opened without following links and must belong to us with no access
 * for others. Everything below it is reached through that descriptor. A lock tells a living cluster
 * from the file of one that was killed: the kernel drops it however its holder ends. */
#include "client/dev_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/text.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define FILE_MAX_BYTES 4096

char *dev_file_folder(void)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");

    if (runtime != NULL && runtime[0] == '/')
        return text_format("%s/edl", runtime);
    return text_format("/tmp/edl-%u", (unsigned)geteuid());
}

/* Descriptor of the folder, or a negative code. */
static int open_folder(bool create, struct edl_error *error)
{
    _cleanup_free_ char *path = dev_file_folder();
    struct stat st;

    if (create && mkdir(path, 0700) == -1 && errno != EEXIST)
        return edl_error_errno(error, -errno, "making the folder %s", path);

    _cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd == -1 && errno == ENOENT)
        return edl_error_set(error, -ENOENT, "%s does not exist", path);
    if (fd == -1)
        return edl_error_errno(error, -EPERM, "the folder %s cannot be used", path);
    if (fstat(fd, &st) == -1)
        return edl_error_errno(error, -errno, "looking at the folder %s", path);
    if (st.st_uid != geteuid() || (st.st_mode & 077) != 0) {
        (void)edl_error_set(error, -EPERM, "the folder %s is not private to you", path);
        return edl_error_remedy(error, "remove it, or set XDG_RUNTIME_DIR to a folder of your own");
    }
    return TAKE_FD(fd);
}

int dev_file_read(json_t **ret, struct edl_error *error)
{
    char text[FILE_MAX_BYTES];
    _cleanup_close_ int folder = open_folder(false, error);
    struct stat st;

    if (folder < 0)
        return folder;

    _cleanup_close_ int fd =
        openat(folder, "dev.json", O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

    if (fd == -1)
        return edl_error_errno(error, errno == ENOENT ? -ENOENT : -EPERM, "reading dev.json");
    if (fstat(fd, &st) == -1 || !S_ISREG(st.st_mode) || st.st_uid != geteuid())
        return edl_error_set(error, -EPERM, "dev.json is not a file of yours");

    ssize_t size = read(fd, text, sizeof(text));
    json_t *document = size > 0 ? json_loadb(text, (size_t)size, 0, NULL) : NULL;

    if (!json_is_object(document)) {
        json_decref(document);
        return edl_error_set(error, EDL_ECORRUPT, "dev.json is not readable");
    }
    *ret = document;
    return 0;
}

int dev_file_claim(int *ret_lock_fd, struct edl_error *error)
{
    _cleanup_close_ int folder = open_folder(true, error);

    if (folder < 0)
        return folder;

    _cleanup_close_ int fd =
        openat(folder, "dev.lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd == -1)
        return edl_error_errno(error, -errno, "opening dev.lock");
    if (flock(fd, LOCK_EX | LOCK_NB) == -1)
        return edl_error_set(error, errno == EWOULDBLOCK ? -EBUSY : -errno,
                             "another edl dev of yours is running and stays the default");
    *ret_lock_fd = TAKE_FD(fd);
    return 0;
}

int dev_file_write(const json_t *document, struct edl_error *error)
{
    _cleanup_close_ int folder = open_folder(true, error);

    if (folder < 0)
        return folder;
    (void)unlinkat(folder, "dev.json.new", 0);

    _cleanup_close_ int fd =
        openat(folder, "dev.json.new", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd == -1 || json_dumpfd(document, fd, JSON_COMPACT) == -1)
        return edl_error_errno(error, -errno, "writing dev.json");
    if (renameat(folder, "dev.json.new", folder, "dev.json") == -1)
        return edl_error_errno(error, -errno, "writing dev.json");
    return 0;
}

void dev_file_remove(void)
{
    _cleanup_close_ int folder = open_folder(false, NULL);

    if (folder >= 0)
        (void)unlinkat(folder, "dev.json", 0);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_known_files.c - files of known_hosts: read for a judgement, and a new key added */
#include "client/ssh/ssh_known_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define FILE_BYTES_MAX ((off_t)16 * 1024 * 1024)

/* read_all - an absent file is empty */
static int read_all(const char *path, char **ret, size_t *ret_size, struct edl_error *error)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    _cleanup_free_ char *bytes = NULL;
    struct stat st;
    size_t used = 0;
    ssize_t n = 1;

    *ret_size = 0;
    if (fd == -1 && (errno == ENOENT || errno == ENOTDIR))
        return 0;
    if (fd == -1 || fstat(fd, &st) == -1)
        return edl_error_errno(error, -errno, "reading %s", path);
    if (!S_ISREG(st.st_mode))
        return 0; /* /dev/null, as people write it for none */
    if (st.st_size > FILE_BYTES_MAX)
        return edl_error_set(error, -E2BIG, "%s is larger than %lld bytes", path,
                             (long long)FILE_BYTES_MAX);
    bytes = xcalloc((size_t)st.st_size, 1);
    while (n > 0 && used < (size_t)st.st_size) {
        n = read(fd, bytes + used, (size_t)st.st_size - used);
        if (n == -1)
            return edl_error_errno(error, -errno, "reading %s", path);
        used += (size_t)n;
    }
    *ret = TAKE_PTR(bytes);
    *ret_size = used;
    return 0;
}

static int judge_list(const struct ssh_list *list, struct ssh_known_hosts *known,
                      struct edl_error *error)
{
    for (unsigned int i = 0; i < list->n; i++) {
        _cleanup_free_ char *bytes = NULL;
        size_t size;
        int r = read_all(list->items[i], &bytes, &size, error);

        if (r < 0)
            return r;
        ssh_known_hosts_read(known, list->items[i], bytes, size);
    }
    return 0;
}

int ssh_known_files_judge(const struct ssh_config *config, const char *name, const uint8_t *key,
                          size_t size, struct ssh_known_hosts *known, struct edl_error *error)
{
    int r;

    ssh_known_hosts_begin(known, name, key, size);
    r = judge_list(&config->user_known_hosts, known, error);
    return r < 0 ? r : judge_list(&config->global_known_hosts, known, error);
}

/* make_folder - ~/.ssh, as ssh makes it */
static void make_folder(const char *path)
{
    _cleanup_free_ char *folder = xstrdup(path);
    char *slash = strrchr(folder, '/');

    if (slash != NULL && slash != folder) {
        *slash = '\0';
        (void)mkdir(folder, 0700); /* opening the file tells what is wrong */
    }
}

/* lacks_newline - whether a file's last line has none */
static bool lacks_newline(int fd)
{
    off_t size = lseek(fd, 0, SEEK_END);
    char last;

    return size > 0 && pread(fd, &last, 1, size - 1) == 1 && last != '\n';
}

int ssh_known_files_add(const struct ssh_config *config, const char *name, const uint8_t *key,
                        size_t size, struct edl_error *error)
{
    const char *path = config->user_known_hosts.n > 0 ? config->user_known_hosts.items[0] : NULL;
    _cleanup_free_ char *line = NULL, *text = NULL;
    _cleanup_close_ int fd = -1;
    uint8_t salt[SSH_SHA1_BYTES];
    ssize_t n;

    if (path == NULL)
        return edl_error_set(error, -ENOENT, "UserKnownHostsFile of ssh_config is none");
    if (getrandom(salt, sizeof salt, 0) != (ssize_t)sizeof salt)
        abort(); /* so few bytes come at once, or never */
    line = ssh_known_hosts_line(name, key, size, config->hash_known_hosts ? salt : NULL);
    make_folder(path);
    fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd == -1 || line == NULL)
        return edl_error_errno(error, line == NULL ? -ENOTSUP : -errno, "adding a key to %s", path);
    /* one write: another program may add a line at the same time */
    if (asprintf(&text, "%s%s", lacks_newline(fd) ? "\n" : "", line) < 0)
        abort();
    n = write(fd, text, strlen(text));
    if (n != (ssize_t)strlen(text))
        return edl_error_errno(error, n == -1 ? -errno : -ENOSPC, "adding a key to %s", path);
    return 0;
}

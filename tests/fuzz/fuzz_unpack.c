/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_unpack.c - any bytes as the archive of a workspace
 *
 * It is unpacked into a folder beside which lies a file. With any archive, that file and the
 * folder's name are all there is above it afterwards. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/workspace/workspace_sweep.h"
#include "shared/cleanup.h"
#include "shared/workspace_unpack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char root[64], copies[80], processes[80];

static void remove_root(void)
{
    static const char *const parts[] = { "/copies", "/processes", "/beside", "" };

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        char path[96];

        (void)snprintf(path, sizeof path, "%s%s", root, parts[i]);
        (void)remove(path);
    }
}

static void make_root(void)
{
    char path[96];

    (void)snprintf(root, sizeof root, "/tmp/edl-fuzz-unpack-XXXXXX");
    if (mkdtemp(root) == NULL)
        abort();
    (void)atexit(remove_root);
    (void)snprintf(copies, sizeof copies, "%s/copies", root);
    (void)snprintf(processes, sizeof processes, "%s/processes", root);
    (void)snprintf(path, sizeof path, "%s/beside", root);
    if (mkdir(copies, 0700) == -1 || mkdir(processes, 0700) == -1 || mkdir(path, 0700) == -1)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct unpack_limits limits = { .bytes = 1 << 20, .entries = 1000, .ratio = 100 };
    _cleanup_close_ int fd = memfd_create("archive", MFD_CLOEXEC);
    _cleanup_close_ int dir_fd = -1;
    _cleanup_close_ int here_fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char folder[96];
    struct stat st;
    size_t removed;

    if (root[0] == '\0')
        make_root();
    (void)snprintf(folder, sizeof folder, "%s/one", copies);
    if (fd == -1 || write(fd, data, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET) != 0 ||
        mkdir(folder, 0700) == -1)
        abort();
    dir_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd == -1)
        abort();
    (void)workspace_unpack(fd, dir_fd, NULL, &limits, NULL);
    if (fchdir(here_fd) == -1 || stat(root, &st) == -1 ||
        st.st_nlink != 5) /* ".", "..", three folders */
        abort();
    if (workspace_sweep(copies, processes, &removed, NULL) < 0 || removed != 1)
        abort();
    return 0;
}

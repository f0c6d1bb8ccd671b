/* SPDX-License-Identifier: Apache-2.0 */
/* launch.c - instance 0: files of hosts, the command in its environment, the end of the others */
#include "mpi/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mpi/call.h"
#include "mpi/settings.h"
#include "mpi/slot.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/text_format.h"
#include "shared/whole_file.h"

#define RSH "edl-mpi-rsh"
#define OPEN_FOLDERS_MAX 16

char *mpi_folder_make(struct edl_error *error)
{
    const char *base = getenv("TMPDIR");
    char *folder = text_format("%s/edl-mpi-XXXXXX", base != NULL && *base == '/' ? base : "/tmp");

    if (mkdtemp(folder) != NULL && setenv("TMPDIR", folder, 1) == 0)
        return folder;
    (void)edl_error_errno(error, -errno, "cannot make the folder %s", folder);
    free(folder);
    return NULL;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)at;
    (void)(kind == FTW_DP ? rmdir(path) : unlink(path));
    return 0;
}

char *mpi_folder_remove(char *folder)
{
    if (folder != NULL)
        (void)nftw(folder, remove_one, OPEN_FOLDERS_MAX, FTW_DEPTH | FTW_PHYS);
    free(folder);
    return NULL;
}

/* It is beside this program. */
static char *find_rsh(struct edl_error *error)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - sizeof RSH);
    char *slash;

    if (n <= 0) {
        (void)edl_error_errno(error, -errno, "cannot tell where this program is");
        return NULL;
    }
    path[n] = '\0';
    slash = strrchr(path, '/');
    (void)snprintf(slash + 1, sizeof RSH, RSH);
    return xstrdup(path);
}

static int write_file(const char *path, char *take_text, struct edl_error *error)
{
    _cleanup_free_ char *text = take_text;
    _cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    size_t n = strlen(text);

    if (fd == -1 || write(fd, text, n) != (ssize_t)n)
        return edl_error_errno(error, errno != 0 ? -errno : -EIO, "cannot write %s", path);
    return 0;
}

pid_t mpi_launch(const struct mpi_hosts *hosts, const char *folder, const char *interface,
                 uint64_t slots, char *const *argv, struct edl_error *error)
{
    _cleanup_free_ char *table = text_format("%s/hosts", folder);
    _cleanup_free_ char *open_mpi = text_format("%s/hostfile", folder);
    _cleanup_free_ char *mpich = text_format("%s/hostfile.mpich", folder);
    _cleanup_free_ char *rsh = find_rsh(error);
    struct mpi_place place = { .rsh = rsh,
                               .hosts = table,
                               .open_mpi = open_mpi,
                               .mpich = mpich,
                               .interface = interface,
                               .root = geteuid() == 0 };
    pid_t pid;

    if (rsh == NULL || write_file(table, mpi_hosts_write(hosts), error) < 0 ||
        write_file(open_mpi, mpi_hosts_list(hosts, " slots=", slots), error) < 0 ||
        write_file(mpich, mpi_hosts_list(hosts, ":", slots), error) < 0)
        return error->code;
    pid = fork();
    if (pid == -1)
        return edl_error_errno(error, -errno, "cannot fork");
    if (pid > 0)
        return pid;
    mpi_slot_free_signals();
    mpi_settings_command(&place);
    (void)execvp(argv[0], argv);
    (void)fprintf(stderr, "edl-mpi: cannot execute %s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

void mpi_warn_unused(const struct mpi_hosts *hosts, const char *folder)
{
    _cleanup_free_ char *used = text_format("%s/used", folder);

    if (hosts->n_instances > 1 && access(used, F_OK) == -1)
        (void)fprintf(stderr,
                      "edl-mpi: the command ended and had started nothing on %zu other "
                      "instance%s: does it start mpirun?\n",
                      hosts->n_instances - 1, PLURAL(hosts->n_instances - 1));
}

void mpi_end_slots(const struct mpi_hosts *hosts, struct mpi_meeting *meeting, uint64_t own_index)
{
    const struct mpi_order order = { .end = true };
    struct edl_error error;

    for (size_t i = 0; i < hosts->n_instances; i++)
        if (hosts->rows[i].place.index != own_index &&
            mpi_call(meeting, &hosts->rows[i].place, &order, &error) < 0)
            (void)fprintf(stderr, "edl-mpi: %s was not told of the end: %s\n", hosts->rows[i].name,
                          error.text);
}

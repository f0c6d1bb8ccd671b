/* SPDX-License-Identifier: Apache-2.0 */
/* gather_machine.c - identity, kernel, limits; the clock as the kernel sees it */
#include "agent/doctor/gather.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/macro.h"

static void read_id(const char *path, char ret[static 64])
{
    _cleanup_fclose_ FILE *file = fopen(path, "re");

    if (file == NULL || fgets(ret, 64, file) == NULL)
        ret[0] = '\0';
    ret[strcspn(ret, "\r\n")] = '\0';
}

/* Of our own process: that it is no child tells that the kernel understands the question. */
static bool has_pidfd(void)
{
    _cleanup_close_ int fd = pidfd_open(getpid(), 0);
    siginfo_t info;

    return fd != -1 &&
           (waitid(P_PIDFD, (id_t)fd, &info, WEXITED | WNOHANG) == 0 || errno == ECHILD);
}

static uint64_t limit(int which, bool hard)
{
    struct rlimit limits;

    if (getrlimit((unsigned)which, &limits) == -1)
        return UINT64_MAX;
    return hard ? limits.rlim_max : limits.rlim_cur; /* RLIM_INFINITY is the largest number */
}

void gather_machine(const struct doctor_context *context, struct doctor_facts *all)
{
    struct machine_facts *ret = &all->machine;
    _cleanup_fclose_ FILE *pid_max = fopen("/proc/sys/kernel/pid_max", "re");
    struct utsname system;

    (void)context;
    read_id("/etc/machine-id", ret->machine_id);
    read_id("/var/lib/dbus/machine-id", ret->dbus_id);
    ret->has_pidfd = has_pidfd();
    if (uname(&system) == 0)
        (void)snprintf(ret->kernel, sizeof ret->kernel, "%.63s", system.release);
    ret->files_soft = limit(RLIMIT_NOFILE, false);
    ret->files_hard = limit(RLIMIT_NOFILE, true);
    ret->processes = limit(RLIMIT_NPROC, false);
    ret->locked_bytes = limit(RLIMIT_MEMLOCK, true);
    if (pid_max == NULL || fscanf(pid_max, "%" SCNu64, &ret->pid_max) != 1)
        ret->pid_max = UINT64_MAX;
}

/* adjtimex with no mode set changes nothing */
void gather_clock(const struct doctor_context *context, struct doctor_facts *all)
{
    struct timex state = { 0 };
    int r = adjtimex(&state);

    (void)context;
    all->clock.is_known = r != -1;
    all->clock.is_synchronised = r != -1 && r != TIME_ERROR && (state.status & STA_UNSYNC) == 0;
}

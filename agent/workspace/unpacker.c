/* SPDX-License-Identifier: Apache-2.0 */
/* unpacker.c - edl-workspace as a child of a supervisor: the archive of a workspace into its folder
 *
 * The folder is a new one of this incarnation alone. So a folder whose unpacking breaks off is
 * never used: the program starts only after a success. One folder for all processes of a job is not
 * made here: edl-workspace does that, with the rights of the account (workspace_share.h). */
#include "agent/workspace/unpacker.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/machine/account.h"
#include "agent/workspace/workspace_share.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/json_read.h"
#include "shared/macro.h"
#include "shared/workspace_unpack.h"

#define EXIT_CANNOT_EXECUTE 127

static const char *text_of(const json_t *order, const char *key)
{
    return json_text(json_object_get(order, "unpack"), key);
}

static void fail(const char *what)
{
    (void)dprintf(STDERR_FILENO, "%s: %s\n", what, strerror(errno));
    _exit(EXIT_CANNOT_EXECUTE);
}

/* become - whose program will run: it can write nowhere else, whatever the archive says */
static void become(const struct account *account)
{
    int r = account_become(account);

    if (r == 0)
        return;
    errno = -r;
    fail("cannot become the account of the process");
}

static void run_child(const char *const *argv, const char *folder, const struct account *account,
                      pid_t supervisor, int archive_fd, int status_fd)
{
    char *const no_environment[] = { NULL };
    sigset_t none;

    child_be_killable();
    if (dup2(status_fd, STDERR_FILENO) == -1 || dup2(status_fd, STDOUT_FILENO) == -1 ||
        dup2(archive_fd, STDIN_FILENO) == -1 || setsid() == -1 ||
        close_range(STDERR_FILENO + 1, UINT_MAX, CLOSE_RANGE_CLOEXEC) == -1)
        fail("cannot prepare edl-workspace");
    if (account != NULL && account->is_other)
        become(account);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == -1) /* a change of account forgets it (prctl(2)) */
        fail("cannot prepare edl-workspace");
    if (getppid() != supervisor) /* it died before the line above */
        _exit(EXIT_CANNOT_EXECUTE);
    if (chdir(folder) == -1)
        fail(folder);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)execve(argv[0], (char *const *)(uintptr_t)argv, no_environment);
    fail(argv[0]);
}

/* make_folder - where it will be: the account's, and nobody else looks in */
static int make_folder(const char *workspace, const struct account *account,
                       struct edl_error *error)
{
    if (mkdir(workspace, 0700) == -1)
        return edl_error_errno(error, -errno, "cannot make the workspace %s", workspace);
    return account != NULL ? account_give(account, workspace, error) : 0;
}

int unpacker_fork(const json_t *order, const char *workspace, const struct account *account,
                  struct child *ret, struct edl_error *error)
{
    const char *slot = text_of(order, "slot");
    const char *const unpack[] = { text_of(order, "program"), "unpack", text_of(order, "sha256"),
                                   NULL };
    const char *const share[] = {
        text_of(order, "program"), "share", text_of(order, "sha256"), workspace, slot, NULL
    };
    const char *const *argv = slot[0] != '\0' ? share : unpack;
    _cleanup_close_ int archive_fd =
        open(text_of(order, "archive"), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    _cleanup_close_ int status_fd = -1, write_fd = -1;
    pid_t supervisor = getpid(), pid;
    int both[2], pidfd, r;

    if (archive_fd == -1)
        return edl_error_errno(error, -errno, "cannot open the archive of the workspace");
    r = slot[0] != '\0' ? 0 : make_folder(workspace, account, error);
    if (r < 0)
        return r;
    if (pipe2(both, O_CLOEXEC) == -1)
        return edl_error_errno(error, -errno, "cannot make a pipe");
    status_fd = both[0];
    write_fd = both[1];
    pid = fork();
    if (pid == 0)
        run_child(argv, slot[0] != '\0' ? "/" : workspace, account, supervisor, archive_fd,
                  write_fd);
    pidfd = pid > 0 ? pidfd_open(pid, 0) : -1;
    if (pidfd == -1)
        return edl_error_errno(error, -errno, "cannot start %s", argv[0]); /* the caller kills it */
    *ret = (struct child){ .pid = pid, .pidfd = pidfd, .status_fd = TAKE_FD(status_fd) };
    return 0;
}

static int code_of(int status)
{
    static const struct {
        int status, code;
    } codes[] = { { UNPACK_EXIT_BAD, EDL_EBADSPEC },
                  { UNPACK_EXIT_FULL, -ENOSPC },
                  { SHARE_EXIT_NO_PLACE, -ENOTDIR } };

    for (size_t i = 0; WIFEXITED(status) && i < ELEMENTS(codes); i++)
        if (WEXITSTATUS(status) == codes[i].status)
            return codes[i].code;
    return -EIO;
}

/* The two lines of edl-workspace: the fault and, below it, the remedy. */
static void read_words(const struct child *child, char *text, size_t size, const char **ret_remedy)
{
    ssize_t n = read(child->status_fd, text, size - 1);
    char *end, *remedy;

    text[MAX_OF(n, 0)] = '\0';
    end = text + strcspn(text, "\n");
    remedy = *end != '\0' ? end + 1 + strspn(end + 1, " ") : end;
    remedy[strcspn(remedy, "\n")] = '\0';
    *end = '\0';
    *ret_remedy = remedy;
}

int unpacker_end(const json_t *order, struct child *child, int status, struct edl_error *error)
{
    const char *remedy;
    char text[500];

    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        (void)unlink(text_of(order, "archive")); /* the sweep would do it at the end */
        return 0;
    }
    read_words(child, text, sizeof text, &remedy);
    if (WIFSIGNALED(status))
        (void)snprintf(text, sizeof text, "killed by SIG%s", sigabbrev_np(WTERMSIG(status)) ?: "?");
    if (WIFEXITED(status) && WEXITSTATUS(status) == UNPACK_EXIT_DAMAGED)
        (void)unlink(text_of(order, "cached")); /* the next one fetches it anew */
    (void)edl_error_set(error, code_of(status), "cannot unpack the workspace: %.300s", text);
    if (!WIFSIGNALED(status) && *remedy != '\0')
        (void)edl_error_remedy(error, "%.200s", remedy);
    return code_of(status);
}

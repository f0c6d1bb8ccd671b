/* SPDX-License-Identifier: Apache-2.0 */
/* session_main.c - program edl-session: one session inside a process of a job
 *
 * Two processes. The keeper takes in the processes that the program leaves behind
 * (PR_SET_CHILD_SUBREAPER), and ends them when the session is over, also when it was killed. The
 * session ends when its keeper does. So the SIGKILL of either leaves nothing. Standard input is a
 * socket of the agent's: the order comes there as one message, and its end is the agent's. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/processes/process_dir.h"
#include "agent/session/session_groups.h"
#include "agent/session/session_run.h"
#include "agent/session/session_sshd.h"
#include "agent/session/sessions.h"
#include "agent/supervisor/killtree.h"
#include "shared/cleanup.h"
#include "shared/journal.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/text_format.h"

#define GROUP_END_MS 5000
#define MEMORY_MAX (256U << 20)
#define PATIENCE_S 10 /* from SIGTERM to SIGKILL of the session */

static void set_up(void)
{
    (void)close_range(STDERR_FILENO + 1, UINT_MAX, 0);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) == -1)
            (void)open("/dev/null", O_RDWR);
    for (int i = 1; i < NSIG; i++)
        (void)signal(i, SIG_DFL);
    (void)signal(SIGPIPE, SIG_IGN);
    log_init("edl-session");
    journal_open();
}

static json_t *take_document(void)
{
    char *text = xcalloc(1, SESSION_DOCUMENT_MAX);
    ssize_t n = recv(STDIN_FILENO, text, SESSION_DOCUMENT_MAX, 0);
    json_t *document = n > 0 ? json_loadb(text, (size_t)n, 0, NULL) : NULL;

    explicit_bzero(text, SESSION_DOCUMENT_MAX);
    free(text);
    return document;
}

/* ---- the keeper ---- */

static void block(const int *numbers, size_t n, sigset_t *ret)
{
    (void)sigemptyset(ret);
    for (size_t i = 0; i < n; i++)
        (void)sigaddset(ret, numbers[i]);
    (void)sigprocmask(SIG_SETMASK, ret, NULL);
}

/* keep - until the session is over */
static void keep(pid_t session, const sigset_t *signals)
{
    struct killtree_main child = { .pid = session };
    int number = 0;

    while (killtree_reap(&child) > 0 && !child.reaped) {
        if (sigwait(signals, &number) != 0)
            continue;
        if (number == SIGTERM) {
            (void)kill(session, SIGTERM); /* ours, not reaped */
            (void)alarm(PATIENCE_S);
        } else if (number == SIGALRM) {
            (void)kill(session, SIGKILL);
        }
    }
    killtree_kill_all(&child);
    killtree_done(&child);
}

/* bound_memory - a person may send a window of data to each of many connections that read none of
 * it. The program has the limits of its process instead. */
static void bound_memory(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_DATA, &limit) == -1)
        return;
    limit.rlim_cur = MIN_OF(limit.rlim_max, (rlim_t)MEMORY_MAX);
    (void)setrlimit(RLIMIT_DATA, &limit);
}

static int run_session(pid_t keeper, const json_t *document, char *group)
{
    static const int blocked[] = { SIGTERM, SIGINT, SIGHUP, SIGCHLD };
    sigset_t set;

    block(blocked, ELEMENTS(blocked), &set);
    bound_memory();
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) == -1 || getppid() != keeper ||
        prctl(PR_SET_CHILD_SUBREAPER, 1) == -1)
        return 1;
    if (session_run(document, STDIN_FILENO, group) < 0)
        return 1;
    return 0;
}

/* end_rest - the session's own, whose keeper does the same where it cannot */
static void end_rest(const char *group)
{
    struct killtree_main none = { 0 };

    killtree_kill_all(&none);
    killtree_done(&none);
    if (group[0] != '\0')
        session_group_end(group, GROUP_END_MS);
}

static int serve(void)
{
    static const int awaited[] = { SIGTERM, SIGCHLD, SIGALRM, SIGINT, SIGHUP };
    json_t *document = take_document();
    char *group =
        mmap(NULL, CGROUP_PATH_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t keeper = getpid(), session;
    sigset_t set;

    if (document == NULL || group == MAP_FAILED) {
        log_error("edl-agent did not say what to do");
        json_decref(document);
        return 1;
    }
    block(awaited, ELEMENTS(awaited), &set);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM); /* else the end of the socket says so */
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) == -1)
        log_error("cannot become a subreaper: %s", strerror(errno));
    session = fork();
    if (session == 0) {
        int status = run_session(keeper, document, group);

        end_rest(group);
        _exit(status);
    }
    json_decref(document);
    if (session == -1) {
        log_error("cannot start a session: %s", strerror(errno));
        return 1;
    }
    keep(session, &set);
    if (group[0] != '\0')
        session_group_end(group, GROUP_END_MS);
    return 0;
}

/* sweep - of a session whose two processes were killed; session: NULL: of all of the process */
static void sweep(const char *process_dir, const char *session)
{
    _cleanup_close_ int fd = process_dir_open(process_dir, NULL);
    struct supervisor_record record;

    if (fd >= 0 && process_dir_read_supervisor(fd, &record, NULL) == 0 &&
        record.cgroup.unified[0] != '\0')
        session_group_sweep(record.cgroup.unified, session, GROUP_END_MS);
}

/* sweep_all - what an agent that was killed left, with all that it had started: none of its
 * sessions goes on. By the next agent, before it has any */
static void sweep_all(const char *processes_dir)
{
    _cleanup_closedir_ DIR *folders = opendir(processes_dir);
    const struct dirent *entry;

    while (folders != NULL && (entry = readdir(folders)) != NULL) {
        _cleanup_free_ char *path = text_format("%s/%s", processes_dir, entry->d_name);

        if (entry->d_name[0] != '.')
            sweep(path, NULL);
    }
}

static int usage(void)
{
    (void)fprintf(stderr, "Usage: edl-session --version\n"
                          "Started by edl-agent, for a session inside a process of a job.\n");
    return 2;
}

int main(int argc, char **argv)
{
    if (argc == 2 && streq(argv[1], "--version")) {
        (void)printf("edl-session %s\n", EDL_VERSION);
        return 0;
    }
    if (argc == 3 && streq(argv[1], "--sshd"))
        return session_sshd(argv[2]);
    if (argc == 4 && streq(argv[1], "--sweep")) {
        sweep(argv[2], argv[3]);
        return 0;
    }
    if (argc == 3 && streq(argv[1], "--sweep-all")) {
        sweep_all(argv[2]);
        return 0;
    }
    if (argc != 1)
        return usage();
    set_up();
    return serve();
}

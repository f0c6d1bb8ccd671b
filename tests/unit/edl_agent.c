/* SPDX-License-Identifier: Apache-2.0 */
/* edl_agent.c - see edl_agent.h */
#include "tests/unit/edl_agent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/macro.h"

/* Much longer than anything here takes: it ends what hangs, and the test fails. */
#define DEADLINE_S 120

/* ---- the agent ---- */

/* The whole request, cut to size; returns how much of it there was. */
static void read_request(int fd, char *text)
{
    char piece[4096];
    size_t used = 0, room = ASKED_BYTES - 1;
    const char *body = NULL, *length;
    size_t want = SIZE_MAX, got = 0;
    static char all[65536];

    while (got < want) {
        ssize_t n = read(fd, piece, sizeof piece);

        if (n <= 0)
            _exit(1);
        if (got + (size_t)n < sizeof all)
            (void)memcpy(all + got, piece, (size_t)n);
        got += (size_t)n;
        all[MIN_OF(got, sizeof all - 1)] = '\0';
        body = strstr(all, "\r\n\r\n");
        if (want == SIZE_MAX && body != NULL) {
            length = strstr(all, "Content-Length: ");
            want = (size_t)(body + 4 - all);
            if (length != NULL && length < body)
                want += strtoull(length + strlen("Content-Length: "), NULL, 10);
        }
    }
    used = MIN_OF((size_t)(strstr(all, " HTTP/1.1") - all), room);
    (void)snprintf(text, ASKED_BYTES, "%.*s %.*s", (int)used, all, (int)(room - used - 1),
                   body + 4);
}

/* stop_caller - until the other process is told to go on */
static pid_t stop_caller(int fd)
{
    struct ucred caller;
    socklen_t size = sizeof caller;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &caller, &size) == -1 ||
        kill(caller.pid, SIGSTOP) == -1)
        _exit(1);
    return caller.pid;
}

static void let_go_on(pid_t pid)
{
    (void)poll(NULL, 0, STOPPED_MS); /* how long it stands still is what is tested */
    if (kill(pid, SIGCONT) == -1)
        _exit(1);
}

static void say(int fd, const char *text)
{
    char byte;

    if (strncmp(text, THEN_SAYS(""), strlen(THEN_SAYS(""))) == 0) {
        let_go_on(stop_caller(fd));
        say(fd, text + strlen(THEN_SAYS("")));
    } else if (strncmp(text, MEANWHILE_SAYS(""), strlen(MEANWHILE_SAYS(""))) == 0) {
        pid_t pid = stop_caller(fd);

        say(fd, text + strlen(MEANWHILE_SAYS("")));
        let_go_on(pid);
    } else if (streq(text, HELD))
        (void)!read(fd, &byte, 1);
    else if (send(fd, text, strlen(text), MSG_NOSIGNAL) != (ssize_t)strlen(text) && errno != EPIPE)
        _exit(1); /* EPIPE: its caller does not wait so long */
}

static _Noreturn void play(int listen_fd, struct asked *asked, const char *const *answers)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)alarm(DEADLINE_S); /* its caller waits for an answer, or asks no more */
    for (; *answers != NULL; answers++) {
        int fd = accept(listen_fd, NULL, NULL);
        unsigned held = streq(*answers, HELD);

        if (fd == -1)
            _exit(1);
        if (streq(*answers, UNREAD)) {
            say(fd, HEAD("413 Content Too Large") "Content-Length: 22\r\n\r\n"
                                                  "{\"detail\":\"too large\"}");
        } else {
            read_request(fd, asked->text[asked->n % ASKED_MAX]);
            (void)__atomic_add_fetch(&asked->n, 1, __ATOMIC_RELEASE);
            (void)__atomic_add_fetch(&asked->n_answered, held, __ATOMIC_RELEASE);
            say(fd, *answers);
        }
        (void)safe_close(fd);
        (void)__atomic_add_fetch(&asked->n_answered, 1 - held, __ATOMIC_RELEASE);
    }
    _exit(0);
}

void edl_agent_begin(struct agent *agent, const char *const *answers)
{
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    *agent = (struct agent){ .folder = "/tmp/edl-lib-XXXXXX" };
    assert_non_null(mkdtemp(agent->folder));
    (void)snprintf(agent->path, sizeof agent->path, "%s/socket", agent->folder);
    (void)snprintf(to.sun_path, sizeof to.sun_path, "%s", agent->path);
    assert_int_equal(bind(fd, (struct sockaddr *)&to, sizeof to), 0);
    assert_int_equal(listen(fd, 8), 0);
    agent->asked =
        mmap(NULL, sizeof *agent->asked, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(agent->asked != MAP_FAILED);
    agent->pid = fork();
    if (agent->pid == 0)
        play(fd, agent->asked, answers);
    (void)safe_close(fd);
    assert_int_equal(edl_client_new(agent->path, &agent->client), 0);
    edl_client_set_patience(agent->client, DEADLINE_S * USEC_PER_SEC);
}

void edl_agent_end(struct agent *agent)
{
    int status;

    agent->client = edl_client_free(agent->client);
    assert_int_equal(waitpid(agent->pid, &status, 0), agent->pid);
    assert_int_equal(status, 0);
    assert_int_equal(unlink(agent->path), 0);
    assert_int_equal(rmdir(agent->folder), 0);
    assert_int_equal(munmap(agent->asked, sizeof *agent->asked), 0);
}

void assert_says(const struct agent *agent, const char *part)
{
    if (strstr(edl_last_error(agent->client), part) == NULL)
        fail_msg("\"%s\" is not in: %s", part, edl_last_error(agent->client));
}

unsigned edl_agent_asked(const struct agent *agent)
{
    return __atomic_load_n(&agent->asked->n, __ATOMIC_ACQUIRE);
}

unsigned edl_agent_answered(const struct agent *agent)
{
    return __atomic_load_n(&agent->asked->n_answered, __ATOMIC_ACQUIRE);
}

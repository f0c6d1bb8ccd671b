/* SPDX-License-Identifier: Apache-2.0 */
/* test_mpi_slot.c - a slot on a real socket: commands, their ends, and callers who are none */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mpi/call.h"
#include "mpi/host_table.h"
#include "mpi/slot.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define HANG_S 120

static struct mpi_meeting meeting;
static struct mpi_slot_place place;
static pid_t slot_pid;

/* listener - a socket at the place of the slot */
static int listener(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof at;

    (void)alarm(HANG_S);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, size), 0);
    assert_int_equal(listen(fd, 128), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    place = (struct mpi_slot_place){
        .address = "127.0.0.1", .port = ntohs(at.sin_port), .index = 1, .incarnation = 3
    };
    meeting = (struct mpi_meeting){ .job_id = 12, .index = 1, .incarnation = 3 };
    memset(meeting.secret, 5, sizeof meeting.secret);
    return fd;
}

/* command: a shell's, that the slot ends with; NULL: none */
static void begin(const char *command)
{
    int fd = listener();

    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    slot_pid = fork();
    assert_true(slot_pid >= 0);
    if (slot_pid == 0) {
        struct mpi_slot_config config = { .listen_fd = fd, .meeting = meeting };
        struct edl_error error = { 0 };

        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        mpi_slot_block_signals();
        if (command != NULL && (config.command = fork()) == 0) {
            mpi_slot_free_signals();
            (void)execl("/bin/sh", "sh", "-c", command, NULL);
            _exit(99);
        }
        _exit(mpi_slot_run(&config, &error));
    }
    (void)safe_close(fd);
}

static int ended(void)
{
    int status = 0;

    assert_int_equal(waitpid(slot_pid, &status, 0), slot_pid);
    assert_true(WIFEXITED(status));
    (void)alarm(0);
    return WEXITSTATUS(status);
}

static int ask(const char *command)
{
    struct mpi_order order = { .command = (char *)(uintptr_t)command };
    struct edl_error error = { 0 };

    return mpi_call(&meeting, &place, &order, &error);
}

static int ask_to_end(uint8_t status)
{
    const struct mpi_order order = { .end = true, .status = status };
    struct edl_error error = { 0 };

    return mpi_call(&meeting, &place, &order, &error);
}

TEST(test_commands_run_and_their_ends_are_told)
{
    begin(NULL);
    assert_int_equal(ask("exit 0"), 0);
    assert_int_equal(ask("exit 7"), 7);
    assert_int_equal(ask("kill -9 $$"), 128 + 9);
    assert_int_equal(ask("/nowhere/orted 2>/dev/null"), 127);
    assert_int_equal(ask_to_end(0), 0);
    assert_int_equal(ended(), 0);
}

TEST(test_variables_go_along)
{
    char variable[] = "OMPI_MCA_plm=rsh", command[] = "test \"$OMPI_MCA_plm\" = rsh";
    char *env[] = { variable };
    struct mpi_order order = { .command = command, .env = env, .n_env = 1 };
    struct edl_error error = { 0 };

    begin(NULL);
    assert_int_equal(mpi_call(&meeting, &place, &order, &error), 0);
    assert_int_equal(ask_to_end(4), 4);
    assert_int_equal(ended(), 4);
}

TEST(test_a_slot_ends_with_its_command)
{
    begin("exit 7");
    assert_int_equal(ended(), 7);
    begin("kill -9 $$");
    assert_int_equal(ended(), 137);
}

/* A stranger without the secret gets nothing run, and is told of no end. */
TEST(test_a_stranger_is_refused)
{
    begin(NULL);
    memset(meeting.secret, 6, sizeof meeting.secret);
    assert_int_equal(ask("exit 0"), -EACCES);
    memset(meeting.secret, 5, sizeof meeting.secret);
    place.incarnation = 4; /* the slot that is meant is another one */
    assert_int_equal(ask("exit 0"), -EACCES);
    place.incarnation = 3;
    assert_int_equal(ask_to_end(0), 0);
    assert_int_equal(ended(), 0);
}

static int connected(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in at = { .sin_family = AF_INET,
                              .sin_port = htons(place.port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

    assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
    return fd;
}

/* However many strangers hold a connection, a member comes in, and so many are held at most. */
TEST(test_strangers_keep_nobody_away)
{
    int fds[3 * MPI_STRANGERS_MAX];
    uint8_t nonce[JOB_NONCE_BYTES];
    size_t held = 0;

    begin(NULL);
    for (size_t i = 0; i < ELEMENTS(fds); i++)
        fds[i] = connected();
    assert_int_equal(ask("exit 3"), 3);
    for (size_t i = 0; i < ELEMENTS(fds); i++)
        if (recv(fds[i], nonce, sizeof nonce, MSG_WAITALL) == (ssize_t)sizeof nonce)
            held += recv(fds[i], nonce, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN;
    assert_true(held > 0 && held <= MPI_STRANGERS_MAX);
    assert_int_equal(ask_to_end(0), 0);
    assert_int_equal(ended(), 0);
    for (size_t i = 0; i < ELEMENTS(fds); i++)
        (void)safe_close(fds[i]);
}

/* until_gone - the other end of a pipe, which every process of the command has */
static void until_gone(int fd)
{
    char byte;

    while (read(fd, &byte, 1) > 0)
        ;
}

/* As when mpirun is killed: its commands go with it, children included. */
TEST(test_a_command_goes_with_its_caller)
{
    char folder[] = "/tmp/edl-test-XXXXXX", path[64], command[160];
    pid_t caller;
    char byte;
    int fd;

    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/life", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    (void)snprintf(command, sizeof command,
                   "exec 9>%s; echo >&9; trap '' HUP TERM; sleep 1000 & sleep 1000", path);
    begin(NULL);
    caller = fork();
    if (caller == 0)
        _exit(ask(command) & 0xff);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(fd, &byte, 1), 1); /* it runs */
    assert_int_equal(kill(caller, SIGKILL), 0);
    assert_int_equal(waitpid(caller, NULL, 0), caller);
    until_gone(fd);
    (void)safe_close(fd);
    assert_int_equal(ask("exit 0"), 0); /* the slot goes on */
    assert_int_equal(ask_to_end(0), 0);
    assert_int_equal(ended(), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* SIGTERM comes to every process of a job that stops: the parts of MPI end by themselves first. */
TEST(test_a_stop_waits_for_what_runs)
{
    char folder[] = "/tmp/edl-test-XXXXXX", path[64], command[160];
    pid_t caller;
    int fd, status;

    begin(NULL);
    assert_int_equal(ask("exit 0"), 0); /* its signals are blocked by now */
    assert_int_equal(kill(slot_pid, SIGTERM), 0);
    assert_int_equal(ended(), 0);

    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/gate", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    (void)snprintf(command, sizeof command, "echo >%s; read x <%s; exit 5", path, path);
    begin(NULL);
    caller = fork();
    if (caller == 0)
        _exit(ask(command) & 0xff);
    fd = open(path, O_RDONLY | O_CLOEXEC); /* it runs */
    until_gone(fd);
    (void)safe_close(fd);
    assert_int_equal(kill(slot_pid, SIGTERM), 0);
    assert_true(ask("exit 0") < 0);        /* it has seen that, */
    fd = open(path, O_WRONLY | O_CLOEXEC); /* and goes on */
    assert_int_equal(write(fd, "\n", 1), 1);
    (void)safe_close(fd);
    assert_int_equal(waitpid(caller, &status, 0), caller);
    assert_int_equal(WEXITSTATUS(status), 5);
    assert_int_equal(ended(), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* spoil - as a slot, but for somebody in between who changes its last word */
static void spoil(int listen_fd)
{
    int fd = accept(listen_fd, NULL, NULL);
    uint8_t bytes[4096], status[MPI_STATUS_BYTES];
    struct edl_error error = { 0 };
    struct mpi_peer peer;
    int r = 0;

    mpi_peer_begin(&peer, &meeting);
    while (r == 0) {
        ssize_t n;

        (void)send(fd, peer.out, peer.n_out, MSG_NOSIGNAL);
        n = recv(fd, bytes, sizeof bytes, 0);
        r = n > 0 ? mpi_peer_take(&peer, bytes, (size_t)n, &error) : -EPIPE;
    }
    (void)mpi_meeting_put_status(&peer.meeting, 7, status, &error);
    status[0] = 0;
    (void)send(fd, status, sizeof status, MSG_NOSIGNAL);
    mpi_peer_clear(&peer);
    _exit(r == 1 ? 0 : 1);
}

TEST(test_a_changed_status_is_none)
{
    int fd, status = 0;
    pid_t pid;

    fd = listener();
    pid = fork();
    if (pid == 0)
        spoil(fd);
    assert_int_equal(ask("exit 7"), -EACCES);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    (void)safe_close(fd);
    (void)alarm(0);
}

TEST(test_a_slot_that_is_not_there)
{
    struct edl_error error = { 0 };
    const struct mpi_order order = { .end = true };

    begin(NULL);
    assert_int_equal(ask_to_end(0), 0);
    assert_int_equal(ended(), 0);
    assert_int_equal(mpi_call(&meeting, &place, &order, &error), -EHOSTUNREACH);
    assert_non_null(strstr(error.text, "instance 1 at 127.0.0.1:"));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* lifetime.c - how long it takes until a process runs, and until it is gone
 *
 * Usage: lifetime --socket PATH --start ACTION [--stop ACTION] [--expect N] [--runs N] [--first N]
 *            [--gap-ms N] [--server HOST:PORT --token-file FILE]
 *        lifetime --commits FILE [--runs N]
 * A started process tells bench/stamp's socket that it began. Without --stop a run lasts from the
 * start of the action to the last of N stamps (the beginning of main, by the process's own reading
 * of the clock); with it, from the start of the stopping action until the last of the N is gone, by
 * its pidfd. An action is one of
 *   POST PATH FILE        a call over a connection that is kept; in the file "%d" is the run
 *   DELETE PATH           the same
 *   UNIT KEY PROGRAM...   StartTransientUnit with the agent's properties; BARE-UNIT: without limits
 *   SIGKILL               of all that were started, by pidfd
 *   PROGRAM ARGUMENT...   a process; it has to end, but for one that SIGKILL ends
 * with "%d" for the run and "%s" for the first word that the starting program printed. --commits: a
 * block of 4 KiB appended and synced, each run. Prints one JSON object. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/stamp.h"
#include "bench/unit_start.h"
#include "bench/wire.h"
#include "shared/cleanup.h"
#include "shared/macro.h"
#include "shared/parse.h"

#define TEXT_MAX 8192
#define WORDS_MAX 32
#define EXPECT_MAX 1024
#define RUNS_MAX 10000
#define PATIENCE_MS 120000
#define NSEC_PER_USEC 1000U

struct lifetime {
    const char *socket_path, *start, *stop, *commits;
    uint64_t expect, runs, first, gap_ms;
    struct sockaddr_in server;
    bool has_server;
    char token[256];
    int stamps_fd, http_fd;
    char word[128]; /* the first that the starting program printed */
    int pidfds[EXPECT_MAX];
    uint64_t last_ns; /* the last stamp */
};

/* An action on its way. */
struct action {
    pid_t pid;    /* of a program; 0: none */
    int out;      /* of it; -1: none */
    bool answers; /* a call whose answer is to be read */
};

static uint64_t now_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

static _Noreturn void give_up(const char *what)
{
    (void)fprintf(stderr, "lifetime: %s\n", what);
    exit(1);
}

/* ---- stamps ---- */

static void open_stamps(struct lifetime *l)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    const struct timeval patience = { .tv_sec = PATIENCE_MS / 1000 };
    const int on = 1;

    (void)snprintf(at.sun_path, sizeof at.sun_path, "%s", l->socket_path);
    (void)unlink(l->socket_path);
    l->stamps_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (l->stamps_fd == -1 || bind(l->stamps_fd, (const struct sockaddr *)&at, sizeof at) == -1 ||
        setsockopt(l->stamps_fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == -1 ||
        setsockopt(l->stamps_fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == -1)
        wire_die(l->socket_path);
}

/* take_stamp - the pid of who sent it */
static pid_t take_stamp(struct lifetime *l, struct stamp *ret)
{
    union {
        char room[CMSG_SPACE(sizeof(struct ucred))];
        struct cmsghdr align;
    } control;
    struct iovec data = { ret, sizeof *ret };
    struct msghdr message = { .msg_iov = &data,
                              .msg_iovlen = 1,
                              .msg_control = control.room,
                              .msg_controllen = sizeof control.room };
    const struct cmsghdr *header;
    struct ucred who = { 0 };

    if (recvmsg(l->stamps_fd, &message, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof *ret)
        give_up("a started process did not begin in time");
    header = CMSG_FIRSTHDR(&message);
    if (header != NULL && header->cmsg_type == SCM_CREDENTIALS)
        memcpy(&who, CMSG_DATA(header), sizeof who);
    return who.pid;
}

static void take_stamps(struct lifetime *l)
{
    l->last_ns = 0;
    for (uint64_t i = 0; i < l->expect; i++) {
        struct stamp stamp;
        pid_t pid = take_stamp(l, &stamp);

        l->last_ns = MAX_OF(l->last_ns, stamp.main_ns);
        if (l->stop == NULL)
            continue;
        l->pidfds[i] = pid > 0 ? pidfd_open(pid, 0) : -1;
        if (l->pidfds[i] == -1)
            wire_die("pidfd_open");
    }
}

static void await_gone(struct lifetime *l)
{
    for (uint64_t i = 0; i < l->expect; i++) {
        struct pollfd gone = { l->pidfds[i], POLLIN, 0 };

        if (poll(&gone, 1, PATIENCE_MS) != 1)
            give_up("a stopped process is not gone in time");
        l->pidfds[i] = safe_close(l->pidfds[i]);
    }
}

/* ---- actions ---- */

/* fill_in - "%d" and "%s" of an action's text, or of a body */
static void fill_in(const struct lifetime *l, const char *text, uint64_t run, char ret[TEXT_MAX])
{
    size_t n = 0;

    while (*text != '\0' && n + sizeof l->word + 24 < TEXT_MAX) {
        if (strncmp(text, "%d", 2) == 0)
            n += (size_t)snprintf(ret + n, TEXT_MAX - n, "%" PRIu64, run);
        else if (strncmp(text, "%s", 2) == 0)
            n += (size_t)snprintf(ret + n, TEXT_MAX - n, "%s", l->word);
        else
            ret[n++] = *text;
        text += text[0] == '%' && (text[1] == 'd' || text[1] == 's') ? 2 : 1;
    }
    ret[n] = '\0';
}

/* split - at blanks, in place */
static size_t split(char *text, const char *words[WORDS_MAX + 1])
{
    size_t n = 0;
    char *word;

    while (n < WORDS_MAX && (word = strsep(&text, " ")) != NULL)
        if (*word != '\0')
            words[n++] = word;
    words[n] = NULL;
    return n;
}

static bool is_call(const char *what)
{
    return what != NULL && (strncmp(what, "POST ", 5) == 0 || strncmp(what, "DELETE ", 7) == 0);
}

static void send_call(struct lifetime *l, const char *method, const char *path, const char *file,
                      uint64_t run)
{
    char template[TEXT_MAX] = "", body[TEXT_MAX] = "", request[2 * TEXT_MAX];
    int n;

    if (file != NULL) {
        wire_read_file(file, template, sizeof template);
        fill_in(l, template, run, body);
    }
    n = snprintf(request, sizeof request,
                 "%s %s HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer %s\r\n"
                 "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                 method, path, l->token, strlen(body), body);
    if (write(l->http_fd, request, (size_t)n) != n)
        wire_die("sending a call");
}

static void take_answer(struct lifetime *l)
{
    char answer[4 * TEXT_MAX] = "";
    size_t used = 0;

    while (wire_whole_answer(answer, used) == 0) {
        ssize_t n = read(l->http_fd, answer + used, sizeof answer - 1 - used);

        if (n <= 0)
            wire_die("an answer");
        used += (size_t)n;
        answer[used] = '\0';
    }
    if (wire_status(answer) >= 300)
        give_up(answer);
}

static void spawn(const char *const *argv, bool keep_out, struct action *ret)
{
    posix_spawn_file_actions_t actions;
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) == -1 || posix_spawn_file_actions_init(&actions) != 0)
        wire_die("pipe");
    if (keep_out)
        errno = posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    else
        errno = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (errno == 0)
        errno = posix_spawnp(&ret->pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv,
                             environ);
    if (errno != 0)
        wire_die(argv[0]);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)safe_close(ends[1]);
    ret->out = ends[0];
}

static void signal_all(const struct lifetime *l)
{
    for (uint64_t i = 0; i < l->expect; i++)
        if (pidfd_send_signal(l->pidfds[i], SIGKILL, NULL, 0) == -1)
            wire_die("pidfd_send_signal");
}

/* begin - starts an action; *ret_ns: the moment before it */
static struct action begin(struct lifetime *l, const char *what, uint64_t run, uint64_t *ret_ns)
{
    bool keep_out = l->stop != NULL && strstr(l->stop, "%s") != NULL && what == l->start;
    const char *words[WORDS_MAX + 1];
    struct action action = { .out = -1 };
    char text[TEXT_MAX];
    size_t n;

    fill_in(l, what, run, text);
    n = split(text, words);
    if (n == 0)
        give_up("an action is empty");
    *ret_ns = now_ns();
    if ((streq(words[0], "POST") || streq(words[0], "DELETE")) && n > 1 && l->has_server) {
        send_call(l, words[0], words[1], words[2], run);
        action.answers = true;
    } else if ((streq(words[0], "UNIT") || streq(words[0], "BARE-UNIT")) && n > 2) {
        unit_start(words[1], streq(words[0], "UNIT"), words + 2);
    } else if (streq(words[0], "SIGKILL")) {
        signal_all(l);
    } else {
        spawn(words, keep_out, &action);
    }
    return action;
}

/* end - waits until it is done */
static void end(struct lifetime *l, struct action *action)
{
    char text[256] = "";
    int status = 0;

    if (action->answers)
        take_answer(l);
    if (action->pid == 0)
        return;
    if (read(action->out, text, sizeof text - 1) > 0)
        (void)snprintf(l->word, sizeof l->word, "%.*s", (int)strcspn(text, " \n;"), text);
    (void)safe_close(action->out);
    if (waitpid(action->pid, &status, 0) != action->pid)
        wire_die("waitpid");
    if (status != 0 && (l->stop == NULL || !streq(l->stop, "SIGKILL")))
        give_up("a program failed");
}

/* ---- runs ---- */

static uint64_t run_one(struct lifetime *l, uint64_t run)
{
    uint64_t begin_ns, stop_ns, gone_ns;
    struct action start = begin(l, l->start, run, &begin_ns), stop;

    if (l->stop == NULL) {
        take_stamps(l);
        end(l, &start);
        return (l->last_ns - begin_ns) / NSEC_PER_USEC;
    }
    if (!streq(l->stop, "SIGKILL"))
        end(l, &start);
    take_stamps(l);
    stop = begin(l, l->stop, run, &stop_ns);
    await_gone(l);
    gone_ns = now_ns();
    end(l, &stop);
    if (streq(l->stop, "SIGKILL"))
        end(l, &start);
    return (gone_ns - stop_ns) / NSEC_PER_USEC;
}

static uint64_t commit_one(int fd)
{
    static const char block[4096];
    uint64_t begin_ns = now_ns();

    if (write(fd, block, sizeof block) != (ssize_t)sizeof block || fdatasync(fd) == -1)
        wire_die("appending");
    return (now_ns() - begin_ns) / NSEC_PER_USEC;
}

static void parse(int argc, char **argv, struct lifetime *ret)
{
    static const struct option options[] = {
        { "socket", required_argument, NULL, 's' },
        { "start", required_argument, NULL, 'b' },
        { "stop", required_argument, NULL, 'e' },
        { "expect", required_argument, NULL, 'n' },
        { "runs", required_argument, NULL, 'r' },
        { "first", required_argument, NULL, 'f' },
        { "gap-ms", required_argument, NULL, 'g' },
        { "server", required_argument, NULL, 'a' },
        { "token-file", required_argument, NULL, 't' },
        { "commits", required_argument, NULL, 'c' },
        { NULL, 0, NULL, 0 },
    };
    struct {
        int key;
        uint64_t *value;
    } numbers[] = {
        { 'n', &ret->expect }, { 'r', &ret->runs }, { 'f', &ret->first }, { 'g', &ret->gap_ms }
    };
    struct {
        int key;
        const char **value;
    } texts[] = { { 's', &ret->socket_path },
                  { 'b', &ret->start },
                  { 'e', &ret->stop },
                  { 'c', &ret->commits } };
    int key, r = 0;

    while (r == 0 && (key = getopt_long(argc, argv, "", options, NULL)) != -1) {
        for (size_t i = 0; i < ELEMENTS(numbers); i++)
            if (numbers[i].key == key)
                r = parse_u64(optarg, numbers[i].value);
        for (size_t i = 0; i < ELEMENTS(texts); i++)
            if (texts[i].key == key)
                *texts[i].value = optarg;
        if (key == 'a')
            r = wire_server(optarg, &ret->server);
        if (key == 't')
            wire_read_token(optarg, ret->token, sizeof ret->token);
        ret->has_server = ret->has_server || key == 'a';
        if (key == '?')
            r = -EINVAL;
    }
    if (r < 0 || ret->expect == 0 || ret->expect > EXPECT_MAX || ret->runs == 0 ||
        ret->runs > RUNS_MAX ||
        (ret->commits == NULL && (ret->socket_path == NULL || ret->start == NULL))) {
        (void)fprintf(stderr, "usage: lifetime --socket PATH --start ACTION [--stop ACTION]...\n");
        exit(2);
    }
}

int main(int argc, char **argv)
{
    static struct lifetime l = { .expect = 1, .runs = 20, .gap_ms = 20, .http_fd = -1 };
    _cleanup_free_ uint64_t *took_us = NULL;
    _cleanup_close_ int file = -1;
    size_t n;

    parse(argc, argv, &l);
    n = (size_t)l.runs;
    took_us = xcalloc(n, sizeof *took_us);
    if (l.commits != NULL) {
        file = open(l.commits, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if (file == -1)
            wire_die(l.commits);
    } else {
        open_stamps(&l);
    }
    if (l.has_server && (is_call(l.start) || is_call(l.stop)))
        l.http_fd = wire_connect(&l.server);
    for (size_t i = 0; i < n; i++) {
        took_us[i] = l.commits != NULL ? commit_one(file) : run_one(&l, l.first + i);
        (void)poll(NULL, 0,
                   (int)MIN_OF(l.gap_ms, (uint64_t)PATIENCE_MS)); /* the one before is over */
    }
    (void)printf("{\"n\": %zu, \"best_us\": %" PRIu64 ", \"p50_us\": %" PRIu64
                 ", \"p95_us\": %" PRIu64 "}\n",
                 n, wire_percentile(took_us, n, 0), wire_percentile(took_us, n, 500),
                 wire_percentile(took_us, n, 950));
    return 0;
}

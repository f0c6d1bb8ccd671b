/* SPDX-License-Identifier: Apache-2.0 */
/* task_load.c - the task calls of many processes of one job, over real HTTP
 *
 * One made-up node joins and runs all of them: this program speaks for its agent. Each process
 * holds a task, says that it is done, and leases the next one. Some connections carry the calls of
 * all, each one call at a time and one process after the other, as fast as they are answered. Each
 * call that changes something is answered when it is on disk. Before and behind that, the same
 * connections ask for /healthz, which changes nothing: the bound of this server and of these
 * clients.
 *
 * Usage: task_load --pid PID --join-token-file FILE --admin-token-file FILE [--holders N]
 *                  [--duration S] HOST:PORT
 * Prints one JSON object. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/wire.h"
#include "shared/clock.h"
#include "shared/macro.h"
#include "shared/parse.h"

#define ANSWER_BYTES (8U << 20) /* the orders of all processes are the longest */
#define CONNECTIONS 200         /* a caller may have 256 calls in flight */
#define TASKS 50000
#define REPORT_EACH_US (4 * USEC_PER_SEC)

enum call { CALL_NONE, CALL_HEALTH, CALL_LEASE, CALL_FINISH };

struct holder {
    uint64_t incarnation;
    bool holds;
    json_int_t task, pass, lease;
};

struct connection {
    int fd;
    uint64_t holder; /* whose call is in flight, or is next */
    enum call call;  /* in flight */
    uint64_t sent_us;
    char part[4096]; /* of an answer that is not whole yet */
    size_t used;
};

struct phase {
    enum call first;
    uint64_t n_calls, took_us, cpu_us;
    uint64_t *times_us; /* owned */
    size_t room;
};

struct load {
    struct sockaddr_in server;
    char join_token[256], admin_token[256], credential[256];
    uint64_t pid, n_holders, duration_s;
    uint64_t job_id, session, report_due_us;
    struct holder *holders;         /* owned */
    struct connection *connections; /* owned */
    uint64_t n_connections;
    int epoll_fd, agent_fd;
    char *answer; /* owned, ANSWER_BYTES: of the agent's calls */
};

static uint64_t now_us(void)
{
    return clock_read_us(CLOCK_MONOTONIC);
}

static uint64_t cpu_us_of(uint64_t pid)
{
    char path[64], text[128];

    (void)snprintf(path, sizeof path, "/proc/%" PRIu64 "/schedstat", pid);
    wire_read_file(path, text, sizeof text); /* of its first thread, which makes the answers */
    return strtoull(text, NULL, 10) / 1000;
}

static _Noreturn void refused(const char *what, const char *answer)
{
    (void)fprintf(stderr, "task_load: %s: %.600s\n", what, answer);
    exit(1);
}

/* ---- the agent's calls, one after the other ---- */

static void send_all(int fd, const char *text, size_t size)
{
    while (size > 0) {
        ssize_t n = write(fd, text, size);

        if (n <= 0)
            wire_die("sending");
        text += n;
        size -= (size_t)n;
    }
}

/* ask - the body of the answer, in load->answer; its status has to be the one that is wanted */
static const char *ask(struct load *load, const char *request, const char *token, const char *more,
                       const char *body, unsigned wanted)
{
    char head[1024];
    size_t used = 0;
    int n = snprintf(head, sizeof head,
                     "%s HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer %s\r\n%s"
                     "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                     request, token, more, strlen(body));

    send_all(load->agent_fd, head, (size_t)n);
    send_all(load->agent_fd, body, strlen(body));
    do {
        ssize_t got = read(load->agent_fd, load->answer + used, ANSWER_BYTES - 1 - used);

        if (got <= 0)
            wire_die(request);
        used += (size_t)got;
        load->answer[used] = '\0';
    } while (wire_whole_answer(load->answer, used) == 0);
    if (wanted != 0 && wire_status(load->answer) != wanted)
        refused(request, load->answer);
    return strstr(load->answer, "\r\n\r\n") + 4;
}

static json_t *parse(const char *text)
{
    json_t *json = json_loads(text, 0, NULL);

    if (json == NULL)
        refused("no JSON", text);
    return json;
}

#define OFFER                                                                                      \
    "\"address\":\"127.0.0.1\",\"cpu_millicores\":4000000,\"memory_bytes\":1099511627776,"         \
    "\"gpus\":0,\"port_first\":20000,\"port_last\":60000,\"numa_nodes\":1,\"labels\":{}"

static void join(struct load *load)
{
    json_t *json = parse(
        ask(load, "POST /nodes/join", load->join_token, "", "{\"node\":\"bench\"," OFFER "}", 0));
    const char *credential = json_string_value(json_object_get(json, "credential"));

    if (credential == NULL)
        refused("joining", load->answer);
    (void)snprintf(load->credential, sizeof load->credential, "%s", credential);
    json_decref(json);
}

/* report - all processes that were ordered run; a session that the scheduler does not know is named
 * by it */
static void report(struct load *load)
{
    char *body = NULL;
    size_t size = 0;
    FILE *text = open_memstream(&body, &size);
    uint64_t n = 0;
    json_t *json;

    if (text == NULL)
        wire_die("memory");
    (void)fprintf(text,
                  "{" OFFER
                  ",\"boot_id\":\"5f0c8e6e-0000-4000-8000-000000000000\",\"sent_us\":%" PRIu64
                  ",\"session\":%" PRIu64 ",\"version\":\"bench\","
                  "\"foreign_cpu_millicores\":0,\"foreign_memory_bytes\":0,\"complete\":true,"
                  "\"processes\":[",
                  now_us(), load->session);
    for (uint64_t i = 0; i < load->n_holders; i++)
        if (load->holders[i].incarnation != 0)
            (void)fprintf(text,
                          "%s{\"job_id\":%" PRIu64 ",\"role\":\"trainer\",\"index\":%" PRIu64
                          ",\"incarnation\":%" PRIu64 ",\"state\":\"running\",\"pid\":%" PRIu64
                          ",\"exit_code\":0,\"exit_signal\":0,\"reason\":\"\",\"cpu_used_us\":0,"
                          "\"memory_used_bytes\":0}",
                          n++ > 0 ? "," : "", load->job_id, i, load->holders[i].incarnation,
                          1000 + i);
    (void)fputs("]}", text);
    (void)fclose(text);
    json = parse(ask(load, "POST /nodes/bench/report", load->credential, "", body, 0));
    free(body);
    load->report_due_us = now_us() + REPORT_EACH_US;
    if (wire_status(load->answer) == 409) {
        load->session = (uint64_t)json_integer_value(json_object_get(json, "session"));
        json_decref(json);
        report(load);
        load->session = 0;
        return;
    }
    if (wire_status(load->answer) != 200)
        refused("report", load->answer);
    json_decref(json);
}

/* take_orders - how many processes of the answer were not known yet */
static uint64_t take_orders(struct load *load, const json_t *list)
{
    const json_t *process;
    uint64_t n = 0;
    size_t i;

    json_array_foreach(list, i, process)
    {
        const uint64_t index = (uint64_t)json_integer_value(json_object_get(process, "index"));
        uint64_t *incarnation;

        if (index >= load->n_holders)
            refused("an order", load->answer);
        incarnation = &load->holders[index].incarnation;
        n += *incarnation == 0;
        load->job_id = (uint64_t)json_integer_value(json_object_get(process, "job_id"));
        *incarnation = (uint64_t)json_integer_value(json_object_get(process, "incarnation"));
    }
    return n;
}

/* start_job - all of its processes are ordered from the one node, some at a time, and run */
static void start_job(struct load *load)
{
    uint64_t version = 0, n = 0;
    char body[512], request[128];

    (void)snprintf(body, sizeof body,
                   "{\"name\":\"tasks\",\"mode\":\"collective\",\"passes\":1000000,"
                   "\"roles\":[{\"role\":\"trainer\",\"min\":%" PRIu64 ",\"max\":%" PRIu64
                   ",\"cpu\":\"1m\",\"memory\":\"4Mi\",\"command\":[\"/bin/true\"]}]}",
                   load->n_holders, load->n_holders);
    (void)ask(load, "POST /jobs", load->admin_token, "", body, 201);
    while (n < load->n_holders) {
        json_t *json;

        (void)snprintf(request, sizeof request, "GET /nodes/bench/orders?after=%" PRIu64 "&wait=1",
                       version);
        json = parse(ask(load, request, load->credential, "", "", 200));
        version = (uint64_t)json_integer_value(json_object_get(json, "version"));
        n += take_orders(load, json_object_get(json, "processes"));
        json_decref(json);
        report(load);
    }
}

static void process_header(const struct load *load, uint64_t i, char *ret, size_t size)
{
    (void)snprintf(ret, size, "X-EDL-Process: %" PRIu64 ".trainer.%" PRIu64 ".%" PRIu64 "\r\n",
                   load->job_id, i, load->holders[i].incarnation);
}

static void put_dataset(struct load *load)
{
    char header[128], request[64];
    char *body = NULL;
    size_t size = 0;
    FILE *text = open_memstream(&body, &size);

    if (text == NULL)
        wire_die("memory");
    (void)fputs("{\"digest\":\"bench\",\"tasks\":[", text);
    for (unsigned i = 0; i < TASKS; i++)
        (void)fprintf(
            text, "%s{\"chunks\":[{\"path\":\"/data/train-%05u\",\"offset\":0,\"records\":10}]}",
            i > 0 ? "," : "", i);
    (void)fputs("]}", text);
    (void)fclose(text);
    process_header(load, 0, header, sizeof header);
    (void)snprintf(request, sizeof request, "PUT /jobs/%" PRIu64 "/dataset", load->job_id);
    (void)ask(load, request, load->credential, header, body, 200);
    free(body);
}

/* ---- the processes' calls, all at once ---- */

static void send_call(struct load *load, struct connection *connection, enum call call,
                      const char *body)
{
    static const char *const ends[] = { [CALL_LEASE] = "lease", [CALL_FINISH] = "finish" };
    char text[1024], header[128], request[96] = "GET /healthz";
    int n;

    if (call != CALL_HEALTH)
        (void)snprintf(request, sizeof request, "POST /jobs/%" PRIu64 "/tasks/%s", load->job_id,
                       ends[call]);
    process_header(load, connection->holder, header, sizeof header);
    n = snprintf(text, sizeof text,
                 "%s HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer %s\r\n%s"
                 "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                 request, load->credential, header, strlen(body), body);
    send_all(connection->fd, text, (size_t)n);
    connection->call = call;
    connection->sent_us = now_us();
}

/* next_call - that of the process whose turn it is: it finishes its task, or leases one */
static void next_call(struct load *load, struct connection *connection, const struct phase *phase)
{
    const struct holder *holder = &load->holders[connection->holder];
    char body[256];

    if (phase->first == CALL_HEALTH) {
        send_call(load, connection, CALL_HEALTH, "");
    } else if (!holder->holds) {
        send_call(load, connection, CALL_LEASE, "{\"known\":[]}");
    } else {
        (void)snprintf(body, sizeof body,
                       "{\"task\":%" JSON_INTEGER_FORMAT ",\"pass\":%" JSON_INTEGER_FORMAT
                       ",\"lease\":%" JSON_INTEGER_FORMAT "}",
                       holder->task, holder->pass, holder->lease);
        send_call(load, connection, CALL_FINISH, body);
    }
}

/* take_answer - its meaning for the process; after a lease the next process has its turn. At the
 * end of a pass a process is told to wait: others hold what is left. It asks again in its next
 * turn.
 */
static void take_answer(struct load *load, struct connection *connection, enum call answered)
{
    struct holder *holder = &load->holders[connection->holder];
    json_t *json, *task;

    if (answered == CALL_FINISH)
        holder->holds = false;
    if (answered != CALL_LEASE)
        return;
    json = parse(strstr(connection->part, "\r\n\r\n") + 4);
    task = json_object_get(json, "task");
    holder->holds = task != NULL;
    if (task == NULL && !json_is_true(json_object_get(json, "wait")))
        refused("no task", connection->part);
    holder->task = json_integer_value(json_object_get(task, "id"));
    holder->pass = json_integer_value(json_object_get(task, "pass"));
    holder->lease = json_integer_value(json_object_get(task, "lease"));
    json_decref(json);
    connection->holder += load->n_connections;
    if (connection->holder >= load->n_holders)
        connection->holder = (uint64_t)(connection - load->connections);
}

static void count(struct phase *phase, uint64_t took_us)
{
    if (phase->n_calls == phase->room) {
        phase->room = phase->room * 2 + 65536;
        phase->times_us = xreallocarray(phase->times_us, phase->room, sizeof *phase->times_us);
    }
    phase->times_us[phase->n_calls++] = took_us;
}

/* on_readable - goes_on: another call follows the answer */
static void on_readable(struct load *load, struct connection *connection, struct phase *phase,
                        bool goes_on)
{
    ssize_t n = read(connection->fd, connection->part + connection->used,
                     sizeof connection->part - 1 - connection->used);
    enum call answered = connection->call;

    if (n <= 0)
        wire_die("the server ended a connection");
    connection->used += (size_t)n;
    connection->part[connection->used] = '\0';
    if (wire_whole_answer(connection->part, connection->used) == 0)
        return;
    connection->used = 0;
    connection->call = CALL_NONE;
    if (wire_status(connection->part) != 200)
        refused("a call of a process", connection->part);
    count(phase, now_us() - connection->sent_us);
    take_answer(load, connection, answered);
    if (goes_on)
        next_call(load, connection, phase);
}

static bool any_call(const struct load *load)
{
    for (uint64_t i = 0; i < load->n_connections; i++)
        if (load->connections[i].call != CALL_NONE)
            return true;
    return false;
}

static void run_phase(struct load *load, struct phase *phase, uint64_t duration_us)
{
    const uint64_t began_us = now_us(), end_us = began_us + duration_us;
    const uint64_t cpu_us = cpu_us_of(load->pid);
    bool goes_on = true;

    for (uint64_t i = 0; i < load->n_connections; i++)
        next_call(load, &load->connections[i], phase);
    while (goes_on || any_call(load)) {
        struct epoll_event events[256];
        int ready = epoll_wait(load->epoll_fd, events, ELEMENTS(events), 1000);

        for (int i = 0; i < ready; i++)
            on_readable(load, events[i].data.ptr, phase, goes_on);
        goes_on = now_us() < end_us;
        if (now_us() >= load->report_due_us)
            report(load);
    }
    phase->took_us += now_us() - began_us;
    phase->cpu_us += cpu_us_of(load->pid) - cpu_us;
}

static void connect_all(struct load *load)
{
    load->n_connections = MIN_OF(load->n_holders, (uint64_t)CONNECTIONS);
    load->connections = xcalloc(load->n_connections, sizeof *load->connections);
    for (uint64_t i = 0; i < load->n_connections; i++) {
        struct connection *connection = &load->connections[i];
        struct epoll_event event = { .events = EPOLLIN, .data.ptr = connection };

        *connection = (struct connection){ .fd = wire_connect(&load->server), .holder = i };
        if (epoll_ctl(load->epoll_fd, EPOLL_CTL_ADD, connection->fd, &event) == -1)
            wire_die("epoll_ctl");
    }
}

static double rate_of(const struct phase *phase)
{
    return (double)phase->n_calls / ((double)phase->took_us / 1e6);
}

static void print_figures(const struct load *load, struct phase *tasks, struct phase *health)
{
    const double rate = rate_of(tasks), bound = rate_of(health);
    json_t *json = json_pack(
        "{s:I,s:I,s:f,s:I,s:I,s:f,s:f,s:f,s:f}", "holders", (json_int_t)load->n_holders,
        "connections", (json_int_t)load->n_connections, "task_calls_per_s", rate,
        "task_call_us_p50", (json_int_t)wire_percentile(tasks->times_us, tasks->n_calls, 500),
        "task_call_us_p99", (json_int_t)wire_percentile(tasks->times_us, tasks->n_calls, 990),
        "cpu_us_per_task_call", (double)tasks->cpu_us / (double)tasks->n_calls, "empty_calls_per_s",
        bound, "cpu_us_per_empty_call", (double)health->cpu_us / (double)health->n_calls,
        "task_over_empty", rate / bound);

    (void)json_dumpf(json, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    (void)putchar('\n');
    json_decref(json);
}

static int read_options(struct load *load, int argc, char **argv)
{
    static const struct option longs[] = {
        { "pid", required_argument, NULL, 'p' },
        { "holders", required_argument, NULL, 'n' },
        { "duration", required_argument, NULL, 'd' },
        { "join-token-file", required_argument, NULL, 'j' },
        { "admin-token-file", required_argument, NULL, 'a' },
        { NULL, 0, NULL, 0 },
    };
    int c, r = 0;

    while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1)
        if (c == 'j')
            wire_read_token(optarg, load->join_token, sizeof load->join_token);
        else if (c == 'a')
            wire_read_token(optarg, load->admin_token, sizeof load->admin_token);
        else if (c != '?')
            r |= parse_u64(optarg, c == 'p'   ? &load->pid
                                   : c == 'n' ? &load->n_holders
                                              : &load->duration_s);
        else
            r = -EINVAL;
    if (r != 0 || optind + 1 != argc || load->pid == 0 || load->n_holders < 1 ||
        load->n_holders > 1000 || load->duration_s < 1)
        return -EINVAL;
    return wire_server(argv[optind], &load->server);
}

int main(int argc, char **argv)
{
    struct load load = { .n_holders = 1000, .duration_s = 10 };
    struct phase tasks = { .first = CALL_LEASE }, health = { .first = CALL_HEALTH };
    struct rlimit files;

    if (read_options(&load, argc, argv) < 0) {
        (void)fprintf(stderr, "usage: task_load --pid PID --join-token-file FILE"
                              " --admin-token-file FILE [--holders N] [--duration S] HOST:PORT\n");
        return 2;
    }
    if (getrlimit(RLIMIT_NOFILE, &files) == -1)
        wire_die("getrlimit");
    files.rlim_cur = files.rlim_max;
    load.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (setrlimit(RLIMIT_NOFILE, &files) == -1 || load.epoll_fd == -1)
        wire_die("files");
    load.holders = xcalloc(load.n_holders, sizeof *load.holders);
    load.answer = xcalloc(1, ANSWER_BYTES);
    load.agent_fd = wire_connect(&load.server);
    join(&load);
    report(&load);
    start_job(&load);
    put_dataset(&load);
    connect_all(&load);
    for (int turn = 0; turn < 2; turn++) { /* in turn, so that both have the same neighbours */
        run_phase(&load, &health, load.duration_s * USEC_PER_SEC / 4);
        run_phase(&load, &tasks, load.duration_s * USEC_PER_SEC / 2);
    }
    print_figures(&load, &tasks, &health);
    return 0;
}

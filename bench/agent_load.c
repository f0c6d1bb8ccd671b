/* SPDX-License-Identifier: Apache-2.0 */
/* agent_load.c - speaks for many agents, over real HTTP, and watches the scheduler meanwhile
 *
 * Each agent joins, keeps one long poll for orders, and reports each period from a random phase on.
 * A report that is answered with 409 comes again with the session that the answer names. An agent
 * reports each ordered process as ended with success, at once. Agents obey next_report_us.
 *
 * After everybody has joined and reported: the scheduler's use for the reports alone. Then how long
 * an order takes to arrive, one job after the other, each for an agent that is drawn.
 *
 * Usage: agent_load --agents N --pid PID --join-token-file FILE --admin-token-file FILE
 *                   [--period S] [--duration S] [--orders N] [--connections N] HOST:PORT
 * --connections: so many carry the reports (default: one for each agent); fewer only where the
 * limit of open files stands in the way. Prints one JSON object. */
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
#include <unistd.h>

#include "bench/wire.h"
#include "shared/clock.h"
#include "shared/macro.h"
#include "shared/parse.h"

#define ANSWER_BYTES (1U << 18)
#define REQUEST_BYTES 4096
#define JOINS_AT_ONCE 512
#define SCAN_MS 2 /* how late a report may be: nothing beside its period */
#define SETTLE_US (USEC_PER_SEC)
#define NOBODY UINT32_MAX

enum connection_kind { FOR_REPORTS, FOR_ORDERS, FOR_JOBS };

struct connection {
    enum connection_kind kind;
    int fd;
    uint32_t agent; /* whose call is in flight; NOBODY: none */
    uint64_t sent_us;
    char *part; /* owned: of an answer that is not whole yet */
    size_t used;
};

struct agent {
    char credential[72]; /* "" until it joined */
    bool joining;
    uint64_t due_us; /* its next report */
    uint64_t session;
    uint64_t version; /* of its orders */
    bool has_process; /* what it was ordered to run, ended already */
    uint64_t job_id, incarnation;
    uint64_t answered_us; /* its last report was; 0: none yet */
    uint64_t longest_us;  /* between two answers, while it is measured */
};

enum phase { JOINING, SETTLING, MEASURING, ORDERING, DONE };

struct usage {
    uint64_t at_us, cpu_us, switches, rss_kib;
};

struct values {
    uint64_t *items; /* owned */
    size_t n, cap;
};

struct load {
    struct sockaddr_in server;
    char join_token[256], admin_token[256];
    uint64_t n_agents, n_connections, period_s, duration_s, n_orders, pid;
    struct agent *agents;       /* owned */
    struct connection *reports; /* owned: n_connections */
    struct connection *polls;   /* owned: one for each agent */
    struct connection jobs;     /* submits */
    int epoll_fd;
    enum phase phase;
    uint64_t until_us; /* the end of the phase */
    uint64_t joined, joins_in_flight, join_us, next_join;
    uint64_t lease_us, period_us; /* as the scheduler last said */
    uint64_t n_reports, n_refused;
    struct usage before, after;
    struct values report_us, submit_us, after_answer_us, from_submit_us;
    /* the order under way */
    uint32_t order_agent;
    uint64_t submitted_us, told_us, arrived_us;
    bool gone;
};

static uint64_t now_us(void)
{
    return clock_read_us(CLOCK_MONOTONIC);
}

static void keep(struct values *values, uint64_t value)
{
    if (values->n == values->cap) {
        values->cap = values->cap != 0 ? values->cap * 2 : 1024;
        values->items = xreallocarray(values->items, values->cap, sizeof *values->items);
    }
    values->items[values->n++] = value;
}

/* --- the scheduler's own account --- */

static uint64_t status_figure(uint64_t pid, const char *key)
{
    char path[64], text[8192];
    const char *at;

    (void)snprintf(path, sizeof path, "/proc/%" PRIu64 "/status", pid);
    wire_read_file(path, text, sizeof text);
    at = strstr(text, key);
    return at != NULL ? strtoull(at + strlen(key), NULL, 10) : 0;
}

static struct usage usage_now(const struct load *load)
{
    char path[64], text[128];

    (void)snprintf(path, sizeof path, "/proc/%" PRIu64 "/schedstat", load->pid);
    wire_read_file(path, text, sizeof text); /* of its first thread: it has no other */
    return (struct usage){ .at_us = now_us(),
                           .cpu_us = strtoull(text, NULL, 10) / 1000,
                           .switches = status_figure(load->pid, "\nvoluntary_ctxt_switches:"),
                           .rss_kib = status_figure(load->pid, "\nVmRSS:") };
}

/* --- calls --- */

static void send_call(struct connection *connection, uint32_t agent, const char *request,
                      const char *token, const char *body)
{
    char text[REQUEST_BYTES];
    int n = snprintf(text, sizeof text,
                     "%s HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer %s\r\n"
                     "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                     request, token, strlen(body), body);

    if (n >= (int)sizeof text || write(connection->fd, text, (size_t)n) != n)
        wire_die("sending");
    connection->agent = agent;
    connection->sent_us = now_us();
}

/* What agents say of their machine, as edl-agent says it. */
static int offer_text(uint32_t agent, char *ret, size_t size)
{
    return snprintf(ret, size,
                    "\"address\":\"127.0.0.1\",\"cpu_millicores\":16000,"
                    "\"memory_bytes\":68719476736,\"gpus\":0,\"port_first\":20000,"
                    "\"port_last\":29999,\"numa_nodes\":1,\"labels\":{\"bench-agent\":\"a%u\"}",
                    agent);
}

static void call_join(struct load *load, struct connection *connection, uint32_t agent)
{
    char offer[512], body[1024];

    (void)offer_text(agent, offer, sizeof offer);
    (void)snprintf(body, sizeof body, "{\"node\":\"a%u\",%s}", agent, offer);
    load->agents[agent].joining = true;
    load->joins_in_flight++;
    send_call(connection, agent, "POST /nodes/join", load->join_token, body);
}

static void call_report(struct load *load, struct connection *connection, uint32_t agent)
{
    struct agent *a = &load->agents[agent];
    char offer[512], process[384] = "", body[2048], request[64];

    (void)offer_text(agent, offer, sizeof offer);
    if (a->has_process)
        (void)snprintf(process, sizeof process,
                       "{\"job_id\":%" PRIu64 ",\"role\":\"trainer\",\"index\":0,"
                       "\"incarnation\":%" PRIu64 ",\"state\":\"exited\",\"pid\":4711,"
                       "\"exit_code\":0,\"exit_signal\":0,\"reason\":\"\",\"cpu_used_us\":900,"
                       "\"memory_used_bytes\":0}",
                       a->job_id, a->incarnation);
    (void)snprintf(body, sizeof body,
                   "{%s,\"boot_id\":\"5f0c8e6e-0000-4000-8000-%012u\",\"sent_us\":%" PRIu64
                   ",\"session\":%" PRIu64 ",\"version\":\"bench\",\"foreign_cpu_millicores\":%u,"
                   "\"foreign_memory_bytes\":1073741824,\"complete\":true,\"processes\":[%s]}",
                   offer, agent, now_us(), a->session, agent % 7 * 20, process);
    (void)snprintf(request, sizeof request, "POST /nodes/a%u/report", agent);
    send_call(connection, agent, request, a->credential, body);
}

static void open_connection(struct load *load, struct connection *connection,
                            enum connection_kind kind)
{
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = connection };

    *connection = (struct connection){ .kind = kind, .agent = NOBODY };
    connection->fd = wire_connect(&load->server);
    if (epoll_ctl(load->epoll_fd, EPOLL_CTL_ADD, connection->fd, &event) == -1)
        wire_die("epoll_ctl");
}

static void call_orders(struct load *load, uint32_t agent)
{
    const struct agent *a = &load->agents[agent];
    char request[96];

    if (load->polls[agent].fd == -1) /* not before: connections without a credential are few */
        open_connection(load, &load->polls[agent], FOR_ORDERS);
    (void)snprintf(request, sizeof request, "GET /nodes/a%u/orders?after=%" PRIu64 "&wait=%u",
                   agent, a->version, a->version != 0 ? 25 : 0);
    send_call(&load->polls[agent], agent, request, a->credential, "");
}

static void submit_job(struct load *load)
{
    char body[512];

    load->order_agent = (uint32_t)random() % (uint32_t)load->n_agents;
    load->told_us = load->arrived_us = 0;
    load->gone = false;
    (void)snprintf(body, sizeof body,
                   "{\"metadata\":{\"name\":\"order-%zu\"},\"spec\":{\"trainer\":{\"command\":"
                   "[\"/bin/true\"],\"min-instance\":1,\"max-instance\":1,\"node-selector\":"
                   "{\"bench-agent\":\"a%u\"},\"resources\":{\"requests\":{\"cpu\":\"100m\","
                   "\"memory\":\"4Mi\"}}}}}",
                   load->from_submit_us.n, load->order_agent);
    send_call(&load->jobs, 0, "POST /jobs", load->admin_token, body);
    load->submitted_us = load->jobs.sent_us;
}

/* --- answers --- */

static uint64_t number(const json_t *object, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(object, key));
}

static void complain(struct load *load, const char *what, const char *answer)
{
    if (load->n_refused++ == 0)
        (void)fprintf(stderr, "agent_load: %s: %.300s\n", what, answer);
}

static void on_joined(struct load *load, uint32_t agent, const char *answer, const json_t *json,
                      uint64_t at_us)
{
    const char *credential = json_string_value(json_object_get(json, "credential"));
    struct agent *a = &load->agents[agent];

    if (credential == NULL) {
        complain(load, "join", answer);
        wire_die("joining");
    }
    (void)snprintf(a->credential, sizeof a->credential, "%s", credential);
    a->due_us = at_us + (uint64_t)random() % (load->period_s * USEC_PER_SEC);
    load->joins_in_flight--;
    load->joined++;
}

static void on_reported(struct load *load, uint32_t agent, const char *answer, const json_t *json,
                        uint64_t at_us)
{
    struct agent *a = &load->agents[agent];
    uint64_t next_us = number(json, "next_report_us");

    if (wire_status(answer) == 409 && number(json, "session") != 0) {
        a->session = number(json, "session");
        a->due_us = at_us;
        return;
    }
    if (wire_status(answer) != 200) {
        complain(load, "report", answer);
        a->due_us = at_us + USEC_PER_SEC;
        return;
    }
    a->session = 0;
    load->lease_us = number(json, "lease_us");
    load->period_us = MAX_OF(load->period_s * USEC_PER_SEC, next_us);
    a->due_us = at_us + load->period_us;
    if (a->answered_us != 0 && load->phase == MEASURING)
        a->longest_us = MAX_OF(a->longest_us, at_us - a->answered_us);
    a->answered_us = at_us;
    if (load->polls[agent].agent == NOBODY)
        call_orders(load, agent);
}

static void on_orders(struct load *load, uint32_t agent, const char *answer, const json_t *json,
                      uint64_t at_us)
{
    const json_t *process = json_array_get(json_object_get(json, "processes"), 0);
    struct agent *a = &load->agents[agent];

    if (wire_status(answer) != 200) {
        complain(load, "orders", answer);
        return; /* the next report that is taken asks again */
    }
    a->version = number(json, "version");
    if (process != NULL && !a->has_process) {
        a->job_id = number(process, "job_id");
        a->incarnation = number(process, "incarnation");
        a->due_us = at_us;
        if (agent == load->order_agent)
            load->arrived_us = at_us;
    } else if (process == NULL && a->has_process && agent == load->order_agent) {
        load->gone = true;
    }
    a->has_process = process != NULL;
    call_orders(load, agent);
}

static void on_submitted(struct load *load, const char *answer, uint64_t at_us)
{
    if (wire_status(answer) != 201) {
        complain(load, "submit", answer);
        wire_die("submitting");
    }
    load->told_us = at_us;
}

static void on_answer(struct load *load, struct connection *connection, const char *answer,
                      size_t size, uint64_t at_us)
{
    const char *body = strstr(answer, "\r\n\r\n") + 4;
    json_t *json = json_loadb(body, size - (size_t)(body - answer), 0, NULL);
    uint32_t agent = connection->agent;

    connection->agent = NOBODY;
    if (connection->kind == FOR_JOBS) {
        on_submitted(load, answer, at_us);
    } else if (connection->kind == FOR_ORDERS) {
        on_orders(load, agent, answer, json, at_us);
    } else if (load->agents[agent].credential[0] == '\0') {
        on_joined(load, agent, answer, json, at_us);
    } else {
        if (load->phase == MEASURING) {
            load->n_reports++;
            keep(&load->report_us, at_us - connection->sent_us);
        }
        on_reported(load, agent, answer, json, at_us);
    }
    json_decref(json);
}

static void on_readable(struct load *load, struct connection *connection)
{
    static char buffer[ANSWER_BYTES];
    size_t used = connection->used, size;
    uint64_t at_us = now_us();
    ssize_t n;

    memcpy(buffer, connection->part != NULL ? connection->part : "", used);
    n = read(connection->fd, buffer + used, sizeof buffer - 1 - used);
    if (n <= 0)
        wire_die("the server ended a connection");
    used += (size_t)n;
    buffer[used] = '\0';
    size = wire_whole_answer(buffer, used);
    free(connection->part);
    connection->part = NULL;
    connection->used = 0;
    if (size == 0) {
        connection->part = xcalloc(used, 1);
        memcpy(connection->part, buffer, used);
        connection->used = used;
        return;
    }
    on_answer(load, connection, buffer, size, at_us);
}

/* --- what is due --- */

static void scan(struct load *load)
{
    uint64_t at_us = now_us();

    while (load->next_join < load->n_agents && load->joins_in_flight < JOINS_AT_ONCE) {
        uint32_t agent = (uint32_t)load->next_join;
        struct connection *connection = &load->reports[agent % load->n_connections];

        if (agent < load->n_connections)
            open_connection(load, connection, FOR_REPORTS);
        if (connection->agent != NOBODY)
            break;
        load->polls[agent] = (struct connection){ .fd = -1, .agent = NOBODY };
        call_join(load, connection, agent);
        load->next_join++;
    }
    for (uint32_t i = 0; i < load->n_agents; i++) {
        struct agent *a = &load->agents[i];
        struct connection *connection = &load->reports[i % load->n_connections];

        if (a->due_us > at_us || a->credential[0] == '\0' || connection->agent != NOBODY)
            continue;
        a->due_us = NEVER_US; /* until it is answered */
        call_report(load, connection, i);
    }
}

/* The order under way has come and gone: the next one, or the end. */
static void next_order(struct load *load)
{
    if (load->told_us == 0 || load->arrived_us == 0 || !load->gone)
        return;
    keep(&load->submit_us, load->told_us - load->submitted_us);
    keep(&load->from_submit_us, load->arrived_us - load->submitted_us);
    keep(&load->after_answer_us,
         load->arrived_us > load->told_us ? load->arrived_us - load->told_us : 0);
    if (load->from_submit_us.n == load->n_orders)
        load->phase = DONE;
    else
        submit_job(load);
}

static void next_phase(struct load *load, uint64_t begin_us)
{
    uint64_t at_us = now_us();

    if (load->phase == JOINING && load->joined == load->n_agents) {
        load->join_us = at_us - begin_us;
        load->phase = SETTLING;
        load->until_us = at_us + load->period_s * USEC_PER_SEC + SETTLE_US;
    } else if (load->phase == SETTLING && at_us >= load->until_us) {
        load->phase = MEASURING;
        load->until_us = at_us + load->duration_s * USEC_PER_SEC;
        load->before = usage_now(load);
    } else if (load->phase == MEASURING && at_us >= load->until_us) {
        load->after = usage_now(load);
        load->phase = load->n_orders > 0 ? ORDERING : DONE;
        if (load->n_orders > 0) { /* not before: idle connections are ended */
            open_connection(load, &load->jobs, FOR_JOBS);
            submit_job(load);
        }
    } else if (load->phase == ORDERING) {
        next_order(load);
    }
}

static void run(struct load *load)
{
    uint64_t begin_us = now_us();

    load->agents = xcalloc(load->n_agents, sizeof *load->agents);
    load->polls = xcalloc(load->n_agents, sizeof *load->polls);
    load->reports = xcalloc(load->n_connections, sizeof *load->reports);
    while (load->phase != DONE) {
        struct epoll_event events[256];
        int ready = epoll_wait(load->epoll_fd, events, ELEMENTS(events), SCAN_MS);

        for (int i = 0; i < ready; i++)
            on_readable(load, events[i].data.ptr);
        scan(load);
        next_phase(load, begin_us);
    }
}

/* --- figures --- */

static void add_times(json_t *object, const char *name, struct values *values)
{
    static const struct {
        const char *suffix;
        unsigned permille;
    } parts[] = { { "p50", 500 }, { "p99", 990 }, { "max", 1000 } };

    for (size_t i = 0; i < ELEMENTS(parts); i++) {
        char key[64];

        (void)snprintf(key, sizeof key, "%s_us_%s", name, parts[i].suffix);
        (void)json_object_set_new(object, key,
                                  values->n == 0
                                      ? json_null()
                                      : json_integer(
                                            (json_int_t)wire_percentile(values->items, values->n,
                                                                        parts[i].permille)));
    }
}

static void print_figures(struct load *load)
{
    double seconds = (double)(load->after.at_us - load->before.at_us) / 1e6;
    double cpu_us = (double)(load->after.cpu_us - load->before.cpu_us);
    uint64_t longest_us = 0, late = 0;
    json_t *figures;

    for (uint64_t i = 0; i < load->n_agents; i++) {
        longest_us = MAX_OF(longest_us, load->agents[i].longest_us);
        late += load->agents[i].longest_us > load->lease_us;
    }
    figures =
        json_pack("{s:I,s:I,s:f,s:f,s:f,s:f,s:f,s:f,s:I,s:f,s:I,s:I}", "agents",
                  (json_int_t)load->n_agents, "report_connections", (json_int_t)load->n_connections,
                  "joins_per_s", (double)load->n_agents / ((double)load->join_us / 1e6), "period_s",
                  (double)load->period_us / 1e6, "reports_per_s", (double)load->n_reports / seconds,
                  "cpu_percent", cpu_us / 1e4 / seconds, "cpu_us_per_report",
                  load->n_reports > 0 ? cpu_us / (double)load->n_reports : 0.0, "switches_per_s",
                  (double)(load->after.switches - load->before.switches) / seconds, "rss_kib",
                  (json_int_t)load->after.rss_kib, "longest_between_reports_s",
                  (double)longest_us / 1e6, "late", (json_int_t)late, "refused",
                  (json_int_t)load->n_refused);
    add_times(figures, "report", &load->report_us);
    add_times(figures, "submit", &load->submit_us);
    add_times(figures, "order_after_answer", &load->after_answer_us);
    add_times(figures, "order_from_submit", &load->from_submit_us);
    (void)json_dumpf(figures, stdout, JSON_INDENT(2));
    (void)putchar('\n');
    json_decref(figures);
}

static void allow_files(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == -1)
        wire_die("getrlimit");
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) == -1)
        wire_die("setrlimit");
}

static int read_options(struct load *load, int argc, char **argv)
{
    static const struct option longs[] = {
        { "agents", required_argument, NULL, 'n' },
        { "pid", required_argument, NULL, 'p' },
        { "period", required_argument, NULL, 's' },
        { "duration", required_argument, NULL, 'd' },
        { "orders", required_argument, NULL, 'o' },
        { "connections", required_argument, NULL, 'c' },
        { "join-token-file", required_argument, NULL, 'j' },
        { "admin-token-file", required_argument, NULL, 'a' },
        { NULL, 0, NULL, 0 },
    };
    int c, r = 0;

    while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
        uint64_t *numbers[] = {
            ['n'] = &load->n_agents,   ['p'] = &load->pid,      ['s'] = &load->period_s,
            ['d'] = &load->duration_s, ['o'] = &load->n_orders, ['c'] = &load->n_connections
        };

        if (c == 'j')
            wire_read_token(optarg, load->join_token, sizeof load->join_token);
        else if (c == 'a')
            wire_read_token(optarg, load->admin_token, sizeof load->admin_token);
        else if (c != '?')
            r |= parse_u64(optarg, numbers[c]);
        else
            r = -EINVAL;
    }
    if (load->n_connections == 0 || load->n_connections > load->n_agents)
        load->n_connections = load->n_agents;
    if (r != 0 || optind + 1 != argc || load->n_agents < 1 || load->n_agents >= NOBODY ||
        load->pid == 0 || load->period_s < 1 || load->duration_s < 1)
        return -EINVAL;
    return wire_server(argv[optind], &load->server);
}

int main(int argc, char **argv)
{
    struct load load = { .period_s = 5, .duration_s = 20, .order_agent = NOBODY };

    if (read_options(&load, argc, argv) < 0) {
        (void)fprintf(stderr, "usage: agent_load --agents N --pid PID --join-token-file FILE"
                              " --admin-token-file FILE [--period S] [--duration S] [--orders N]"
                              " [--connections N] HOST:PORT\n");
        return 2;
    }
    allow_files();
    srandom(1); /* the same phases in each run */
    load.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (load.epoll_fd == -1)
        wire_die("epoll");
    run(&load);
    print_figures(&load);
    return 0;
}

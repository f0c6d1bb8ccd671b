/* SPDX-License-Identifier: Apache-2.0 */
/* test_node_rights.c - how far the credential of a node reaches: its own calls, and calls for the
 * processes that live on it
 *
 * Nobody makes any call for a process that is elsewhere, that is over, or that never was; and every
 * other call is a person's. The calls are those of the route table, so a new one is in. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <utlist.h>

#include "scheduler/accounts/auth.h"
#include "scheduler/api/api.h"
#include "scheduler/core/core.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/nodes/log_hub.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/http_server.h"
#include "shared/macro.h"
#include "tests/unit/live_scheduler.h"
#include "tests/unit/test.h"

#define CREDENTIAL_1 "1111111111111111111111111111111111111111111111111111111111111111"
#define CREDENTIAL_2 "2222222222222222222222222222222222222222222222222222222222222222"
#define NOBODYS "3333333333333333333333333333333333333333333333333333333333333333"

/* n2 had the processes of jobs 1 (which has left the core) and 2, and has that of 3; n1 that of 4.
 */
enum { PAST = 1, OVER, HERE, THERE, NEVER };

static void turn(struct live *live)
{
    scheduler_touch(live->scheduler);
    assert_int_equal(scheduler_turn(live->scheduler), 0);
}

static int say(struct live *live, const char *name, const struct process_report *list, size_t n,
               bool complete)
{
    struct node *node = cluster_node(live->scheduler->cluster, name);
    struct node_report report = { .boot_id = "boot", .offer = node->offer, .complete = complete };
    struct edl_error error = { 0 };
    int r;

    report.processes = list;
    report.n_processes = n;
    r = cluster_report(live->scheduler->cluster, node, &report, clock_instant(), &error);
    turn(live);
    return r;
}

static void join(struct live *live, const char *name, const char *credential)
{
    const struct node_offer offer = { .address = "10.0.0.7",
                                      .cpu_millicores = 1000,
                                      .memory_bytes = UINT64_C(4) << 30,
                                      .port_first = 20000,
                                      .port_last = 20099 };
    struct edl_error error = { 0 };
    char hash[65];
    struct node *node;

    assert_int_equal(auth_hash(credential, hash, &error), 0);
    assert_int_equal(cluster_join_node(live->scheduler->cluster, name, hash, &offer,
                                       clock_instant(), &node, &error),
                     0);
    assert_int_equal(say(live, name, NULL, 0, true), 0);
}

static struct process *process_of(const struct live *live, uint64_t job)
{
    return cluster_job(live->scheduler->cluster, job)->processes;
}

static struct process_report state_of(const struct live *live, uint64_t job,
                                      enum process_state state)
{
    const struct process *process = process_of(live, job);

    return (struct process_report){ .job_id = job,
                                    .role = "trainer",
                                    .index = 0,
                                    .incarnation = process->incarnation,
                                    .state = state,
                                    .pid = 4711 };
}

/* A job of one process, which that node runs; to its end: it is over. */
static void run(struct live *live, uint64_t job, const char *node, bool to_its_end)
{
    struct process_report report;
    struct reply reply = { 0 };
    char body[300];

    (void)snprintf(body, sizeof body,
                   "{\"metadata\":{\"name\":\"job%" PRIu64 "\"},\"spec\":{\"trainer\":{\"command\":"
                   "[\"true\"],\"min-instance\":1,\"max-instance\":1,\"resources\":{\"requests\":"
                   "{\"cpu\":\"1\"}}}}}",
                   job);
    assert_int_equal(live_ask(live, "POST", "/jobs", NULL, body, &reply), 201);
    reply_clear(&reply);
    turn(live);
    assert_string_equal(process_of(live, job)->node_name, node);
    report = state_of(live, job, PROCESS_RUNNING);
    assert_int_equal(say(live, node, &report, 1, true), 0);
    if (!to_its_end)
        return;
    report.state = PROCESS_EXITED;
    log_hub_push(live->scheduler->logs,
                 &(struct log_push){ .process = process_of(live, job),
                                     .text = "",
                                     .wall_us = clock_instant().wall_us,
                                     .end = true },
                 clock_instant().now_us);
    assert_int_equal(say(live, node, &report, 1, true), 0);
    assert_true(process_state_is_final(process_of(live, job)->state));
}

static void fill(struct live *live)
{
    uint64_t keep_us = live->scheduler->cluster->config.keep_ended_us;

    join(live, "n2", CREDENTIAL_2);
    run(live, PAST, "n2", true);
    run(live, OVER, "n2", true); /* the newest job stays in the core */
    live->scheduler->cluster->config.keep_ended_us = 1;
    turn(live);
    turn(live);
    live->scheduler->cluster->config.keep_ended_us = keep_us;
    assert_null(cluster_job(live->scheduler->cluster, PAST));
    run(live, HERE, "n2", false);
    join(live, "n1", CREDENTIAL_1);
    run(live, THERE, "n1", false);
}

/* {job} is that job, every other {name} the one that is said. */
static void fill_in(const char *pattern, uint64_t job, const char *node, char ret[200])
{
    const char *at = pattern;
    size_t used = 0;

    while (*at != '\0') {
        if (*at != '{') {
            ret[used++] = *at++;
            continue;
        }
        if (strncmp(at, "{job}", 5) == 0)
            used += (size_t)snprintf(ret + used, 200 - used, "%" PRIu64, job);
        else if (strncmp(at, "{sha256}", 8) == 0)
            used += (size_t)snprintf(ret + used, 200 - used, "%s", NOBODYS);
        else if (strncmp(at, "{name}", 6) == 0)
            used += (size_t)snprintf(ret + used, 200 - used, "job%" PRIu64, job);
        else
            used += (size_t)snprintf(ret + used, 200 - used, "%s", node);
        at = strchr(at, '}') + 1;
    }
    ret[used] = '\0';
}

static unsigned ask(struct live *live, const struct http_route *route, const char *token,
                    const char *process, const char *path)
{
    bool has_body = route->takes != NULL;
    struct reply reply = { 0 };
    char header[100];
    unsigned status;

    (void)snprintf(header, sizeof header, "X-EDL-Process: %s", process != NULL ? process : "");
    live_send_with(live, token, process != NULL ? header : NULL, route->method, path,
                   has_body ? "{\"wait\":0}" : NULL, &reply);
    live_wait(live, &reply);
    status = reply.status;
    reply_clear(&reply);
    return status;
}

TEST_EACH(live_setup, live_teardown);

TEST(test_calls_for_processes)
{
    static const struct {
        const char *process; /* NULL: the header is not there */
        uint64_t job;
        unsigned wanted;
    } foreign[] = {
        { "2.trainer.0.1", OVER, 409 }, /* had its time */
        { "1.trainer.0.1", PAST, 409 },
        { NULL, HERE, 400 },
        { "", HERE, 400 },
        { "3.trainer", HERE, 400 },
        { "4.trainer.0.1", THERE, 403 }, /* lives on n1 */
        { "4.trainer.0.1", HERE, 403 },
        { "3.trainer.0.1", THERE, 403 }, /* its own, for another job */
        { "3.trainer.0.1", PAST, 403 },
        { "3.trainer.0.1", NEVER, 403 },
        { "3.trainer.0.2", HERE, 409 }, /* never was */
        { "3.trainer.1.1", HERE, 409 },
        { "3.pserver.0.1", HERE, 409 },
        { "5.trainer.0.1", NEVER, 409 },
    };
    struct live *live = *state;
    const struct http_route *table;
    size_t n, n_calls = 0;

    fill(live);
    table = routes(&n);
    for (size_t i = 0; i < n; i++) {
        const struct http_route *route = &table[i];
        bool of_a_job = strstr(route->path, "{job}") != NULL;
        char path[200];
        unsigned status;

        if ((route->flags & ROUTE_PROCESS) == 0)
            continue;
        n_calls++;
        for (size_t k = 0; k < ELEMENTS(foreign); k++) {
            bool own = foreign[k].process != NULL && foreign[k].process[0] == '3' &&
                       foreign[k].wanted == 403;

            if (own && !of_a_job)
                continue;
            fill_in(route->path, foreign[k].job, "n2", path);
            status = ask(live, route, CREDENTIAL_2, foreign[k].process, path);
            if (status != foreign[k].wanted)
                fail_msg("%s %s for %s: %u, not %u", route->method, path, foreign[k].process,
                         status, foreign[k].wanted);
            status = ask(live, route, NOBODYS, foreign[k].process, path);
            if (status != 401)
                fail_msg("%s %s for %s, without a credential: %u", route->method, path,
                         foreign[k].process, status);
        }
        fill_in(route->path, HERE, "n2", path);
        status = ask(live, route, CREDENTIAL_2, "3.trainer.0.1", path);
        if (strstr(path, "/workspaces/") != NULL ? status != 403 /* it does not need that one */
                                                 : status == 401 || status == 403 || status == 409)
            fail_msg("%s %s for its own process: %u", route->method, path, status);
    }
    assert_true(n_calls >= 10);
    /* nobody made it look on the disk for a process that can be no more */
    assert_null(live->scheduler->archived);
}

TEST(test_other_calls)
{
    struct live *live = *state;
    const struct http_route *table;
    size_t n;

    fill(live);
    table = routes(&n);
    for (size_t i = 0; i < n; i++) {
        const struct http_route *route = &table[i];
        char path[200];
        unsigned status;

        if ((route->flags & (ROUTE_PROCESS | ROUTE_PUBLIC)) != 0)
            continue;
        fill_in(route->path, HERE, "n1", path); /* another's, where it is a node's at all */
        status = ask(live, route, CREDENTIAL_2, "3.trainer.0.1", path);
        /* 401 would be the end of the credential, and the agent would try again. No agent calls
         * POST /login, which takes codes only. */
        if (status != ((route->flags & (ROUTE_NODE | ROUTE_JOIN | ROUTE_LOGIN)) != 0 ? 401 : 403))
            fail_msg("%s %s: %u", route->method, path, status);
    }
}

/* What a node says is about its own processes, or about none. */
TEST(test_what_is_said_of_others)
{
    static const char log[] = "{\"job_id\":4,\"role\":\"trainer\",\"index\":0,\"incarnation\":1,"
                              "\"offset\":0,\"next_offset\":3,\"text\":\"no\\n\"}";
    struct live *live = *state;
    struct process_report lies[2];
    struct reply reply = { 0 };

    fill(live);
    lies[0] = state_of(live, HERE, PROCESS_RUNNING);
    lies[1] = state_of(live, THERE, PROCESS_EXITED);
    assert_int_equal(say(live, "n2", lies, ELEMENTS(lies), true), 0);
    assert_int_equal(process_of(live, THERE)->state, PROCESS_RUNNING);
    assert_int_equal(process_of(live, HERE)->state, PROCESS_RUNNING);
    live_send_with(live, CREDENTIAL_2, NULL, "POST", "/nodes/n2/logs", log, &reply);
    live_wait(live, &reply);
    if (reply.status != 404)
        fail_msg("%u: %s", reply.status, reply.body);
    reply_clear(&reply);
}

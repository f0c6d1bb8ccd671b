/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_api.c - any bytes as the body of any call of the API, reports of nodes and tasks among them
 *
 * The first line is the operation by its name in the route table, the rest its body. A whole
 * scheduler answers over HTTP, with one node that runs a job of two trainers that share a dataset.
 * The caller is one of these, the node or an admin: all may call. An accepted call may change
 * everything: the core's invariants hold after each call, and a refusal says why. A world in which
 * the job is over is made anew. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scheduler/api/api.h"
#include "scheduler/core/core.h"
#include "scheduler/core/model/job_names.h"
#include "shared/http_server.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "tests/unit/live_scheduler.h"

#define WORLD_CALLS 500 /* then it is made anew, for speed and for what was filled up */
#define WAIT_US (20 * USEC_PER_MSEC) /* nothing happens for so long: a long poll, which is left */
#define OFFER                                                                                      \
    "\"address\":\"10.0.0.7\",\"cpu_millicores\":8000,\"memory_bytes\":8589934592,\"gpus\":0,"     \
    "\"port_first\":20000,\"port_last\":20999"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct live *live; /* kept from one input to the next */

/* The disk is no part of this, and waiting for it would be all that is done. */
int fsync(int fd)
{
    (void)fd;
    return 0;
}

int fdatasync(int fd)
{
    (void)fd;
    return 0;
}

static int drop(const struct log_record *record)
{
    (void)record;
    return 0;
}

/* --- the world --- */

static struct process *first_trainer(void)
{
    struct job *job = cluster_find_job(live->scheduler->cluster, "1");

    return job != NULL && job->slots != NULL ? job->slots[0][0].live : NULL;
}

static bool is_whole(void)
{
    const struct process *process = first_trainer();

    return process != NULL && process->state == PROCESS_RUNNING && !process->stop_wanted &&
           cluster_node(live->scheduler->cluster, "n1") != NULL;
}

static void must(const struct process *process, const char *method, const char *path,
                 const char *body)
{
    struct reply reply = { 0 };

    if (process != NULL)
        live_send_for(live, process, method, path, body, &reply);
    else
        live_send(live, method, path, NULL, body, &reply);
    live_wait(live, &reply);
    if (reply.status >= 300) {
        (void)fprintf(stderr, "%s %s: %u %s\n", method, path, reply.status, reply.body);
        abort();
    }
    reply_clear(&reply);
}

static void report_running(void)
{
    must(NULL, "POST", "/nodes/n1/report",
         "{\"boot_id\":\"b\"," OFFER ",\"processes\":["
         "{\"job_id\":1,\"role\":\"trainer\",\"index\":0,\"incarnation\":1,\"state\":\"running\"},"
         "{\"job_id\":1,\"role\":\"trainer\",\"index\":1,\"incarnation\":2,\"state\":\"running\"}]"
         "}");
}

static void make_world(void)
{
    void *made = NULL;

    if (live_setup(&made) != 0)
        abort();
    live = made;
    must(NULL, "POST", "/nodes/join", "{\"node\":\"n1\"," OFFER "}");
    must(NULL, "POST", "/groups", "{\"name\":\"lab\"}");
    must(NULL, "POST", "/users", "{\"name\":\"ann\",\"role\":\"user\"}");
    must(NULL, "POST", "/nodes/n1/report", "{\"boot_id\":\"b\"," OFFER ",\"processes\":[]}");
    must(NULL, "POST", "/jobs",
         "{\"metadata\":{\"name\":\"one\"},\"spec\":{\"fault_tolerant\":true,\"trainer\":"
         "{\"entrypoint\":\"true\",\"min-instance\":2,\"max-instance\":2}}}");
    report_running();
    must(first_trainer(), "PUT", "/jobs/1/dataset",
         "{\"digest\":\"d\",\"tasks\":["
         "{\"chunks\":[{\"path\":\"a\",\"offset\":0,\"records\":5}]},"
         "{\"chunks\":[{\"path\":\"b\",\"offset\":9,\"records\":5}]}]}");
    if (!is_whole())
        abort();
}

static void end_world(void)
{
    void *made = live;

    if (live != NULL && live_teardown(&made) != 0)
        abort();
    live = NULL;
}

/* --- a call --- */

static const struct http_route *route_named(const char *name, size_t n)
{
    size_t n_routes;
    const struct http_route *all = routes(&n_routes);

    for (size_t i = 0; i < n_routes; i++)
        if (all[i].operation != NULL && strlen(all[i].operation) == n &&
            memcmp(all[i].operation, name, n) == 0)
            return &all[i];
    return NULL;
}

/* Its path with what there is in this world for each parameter. */
static void path_of(const struct http_route *route, char *ret, size_t size)
{
    static const char *const values[][2] = {
        { "{job}", "1" },
        { "{node}", "n1" },
        { "{user}", "ann" },
        { "{group}", "lab" },
    };
    const char *at = route->path;
    size_t used = 0;

    while (*at != '\0' && used + 16 < size) {
        const char *value = NULL;

        for (size_t i = 0; *at == '{' && i < ELEMENTS(values); i++)
            if (strncmp(at, values[i][0], strlen(values[i][0])) == 0)
                value = values[i][1];
        if (value != NULL)
            used += (size_t)snprintf(ret + used, size - used, "%s", value);
        else
            ret[used++] = *at;
        at = value != NULL ? strchr(at, '}') + 1 : at + 1;
    }
    ret[used] = '\0';
}

static void on_answer(const struct http_answer *answer, void *userdata)
{
    bool *answered = userdata;
    struct edl_error error = { 0 };

    *answered = true;
    if (answer->failure != 0 || answer->status < 400)
        return;
    (void)http_answer_error(answer, &error);
    if (error.text[0] == '\0' || answer->status == 500)
        abort();
}

static void call(const struct http_route *route, const void *body, size_t size)
{
    const struct process *process = first_trainer();
    char path[200], header[100];
    struct http_call call = { .method = route->method,
                              .path = path,
                              .bearer_token = live->scheduler->admin_token,
                              .body = body,
                              .body_size = size };
    struct http_async_call *pending = NULL;
    bool answered = false;

    path_of(route, path, sizeof path);
    (void)snprintf(header, sizeof header, "X-EDL-Process: 1.trainer.0.%" PRIu64,
                   process->incarnation);
    call.headers[0] = header;
    if (http_async_start(live->async, &call, on_answer, &answered, &pending, NULL) < 0)
        abort();
    while (!answered) {
        int r = sd_event_run(live->scheduler->event, WAIT_US);

        if (r < 0)
            abort();
        if (r == 0 && !answered) {
            http_async_cancel(pending);
            return;
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static unsigned n_calls;
    const uint8_t *end = memchr(data, '\n', size);
    const struct http_route *route =
        end != NULL ? route_named((const char *)data, (size_t)(end - data)) : NULL;
    struct edl_error error = { 0 };

    if (route == NULL || route->takes == NULL || route->sink != NULL)
        return 0;
    if (n_calls == 0) {
        log_to(drop);
        (void)atexit(end_world);
    }
    if (n_calls++ % WORLD_CALLS == 0 || !is_whole()) {
        end_world();
        make_world();
    }
    call(route, end + 1, size - (size_t)(end - data) - 1);
    if (cluster_check(live->scheduler->cluster, &error) < 0) {
        (void)fprintf(stderr, "%s\n", error.text);
        abort();
    }
    return 0;
}

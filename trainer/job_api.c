/* SPDX-License-Identifier: Apache-2.0 */
/* job_api.c - what a trainer asks its scheduler, through the agent's socket */
#include "trainer/job_api.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "shared/clock.h"
#include "shared/error.h"
#include "shared/http_client.h"
#include "shared/log.h"
#include "shared/macro.h"

#define PROGRESS_TIMEOUT_US USEC_PER_SEC
#define CALL_TIMEOUT_US (90 * USEC_PER_SEC) /* longer than the agent bridges an outage */
#define SLICE_MS 100
#define HOSTS_MAX 1024
#define TASK_CHUNKS_MAX 65536
#define NOTHING_STORED 507 /* the scheduler is there, and waits for room on its disk */

struct job_api {
    struct http_client *client;
    uint64_t retry_us;
    const volatile sig_atomic_t *stop;
};

int job_api_new(const char *base, uint64_t retry_us, const volatile sig_atomic_t *stop,
                struct job_api **ret, struct edl_error *error)
{
    struct job_api *api = xcalloc(1, sizeof *api);
    int r = http_client_new(base, &api->client, error);

    if (r < 0) {
        free(api);
        return r;
    }
    api->retry_us = retry_us;
    api->stop = stop;
    *ret = api;
    return 0;
}

struct job_api *job_api_free(struct job_api *api)
{
    if (api == NULL)
        return NULL;
    api->client = http_client_free(api->client);
    free(api);
    return NULL;
}

int wait_ms(unsigned ms, const volatile sig_atomic_t *stop)
{
    /* In slices: a signal that comes just before poll() does not interrupt it. */
    while (ms > 0) {
        unsigned slice = MIN_OF(ms, (unsigned)SLICE_MS);

        if (stop != NULL && *stop)
            return -EINTR;
        (void)poll(NULL, 0, (int)slice);
        ms -= slice;
    }
    return stop != NULL && *stop ? -EINTR : 0;
}

static bool worth_retrying(const struct http_answer *answer)
{
    return answer->failure != 0 || answer->status == 502 || answer->status == 503 ||
           answer->status == 504 || answer->status == NOTHING_STORED;
}

/* One call until it is answered. Returns 0 with *ret_answer (clear it), or negative. A call that
 * ends something (returning a task, say) is made even while stopping, but then not repeated. */
static int call(struct job_api *api, const char *method, const char *path, const json_t *body,
                struct http_answer *ret_answer, struct edl_error *error)
{
    struct http_call request = {
        .method = method, .path = path, .json = body, .timeout_us = CALL_TIMEOUT_US
    };
    uint64_t deadline_us = clock_read_us(CLOCK_BOOTTIME) + api->retry_us;
    unsigned pause_ms = 50, status;

    for (;;) {
        (void)http_client_call(api->client, &request, ret_answer);
        if (!worth_retrying(ret_answer))
            return 0;
        (void)http_answer_error(ret_answer, error);
        status = ret_answer->status;
        http_answer_clear(ret_answer);
        if (status == NOTHING_STORED) /* so do we: however long, nothing is wrong with us */
            deadline_us = clock_read_us(CLOCK_BOOTTIME) + api->retry_us;
        if (clock_read_us(CLOCK_BOOTTIME) >= deadline_us) {
            edl_error_prefix(error, "%s %s: ", method, path);
            return EDL_EUNREACHABLE;
        }
        if (wait_ms(pause_ms, api->stop) < 0)
            return edl_error_set(error, -EINTR, "%s %s: stopped", method, path);
        pause_ms = MIN_OF(pause_ms * 2, 2000u);
    }
}

/* For calls whose answer is only success or not. */
static int call_simple(struct job_api *api, const char *method, const char *path,
                       const json_t *body, struct edl_error *error)
{
    struct http_answer answer = { 0 };
    int r = call(api, method, path, body, &answer, error);

    if (r < 0)
        return r;
    r = http_answer_error(&answer, error);
    if (r < 0 && answer.status == 409)
        r = EDL_ESTALE;
    http_answer_clear(&answer);
    return r;
}

static int bad_answer(const char *path, struct edl_error *error)
{
    return edl_error_set(error, EDL_EHTTP, "%s: the answer is not as expected", path);
}

/* One element of "hosts"; what is not running or has no port is left out. */
static void take_host(const json_t *host, struct ps_host *hosts, uint32_t want)
{
    json_int_t index = -1, incarnation = 0, port = 0;
    const char *address = "", *state = "";
    json_t *ports = NULL;

    if (json_unpack((json_t *)(uintptr_t)host, "{s:I, s:I, s:s, s:o, s:s}", "index", &index,
                    "incarnation", &incarnation, "address", &address, "ports", &ports, "state",
                    &state) < 0)
        return;
    port = json_integer_value(json_array_get(ports, 0));
    if (index < 0 || index >= (json_int_t)want || port < 1 || port > 65535 ||
        !streq(state, "running") || strlen(address) >= sizeof hosts->address)
        return;
    if (hosts[index].port != 0 && hosts[index].incarnation > (uint64_t)incarnation)
        return;
    hosts[index] = (struct ps_host){ .port = (uint16_t)port, .incarnation = (uint64_t)incarnation };
    (void)snprintf(hosts[index].address, sizeof hosts[index].address, "%s", address);
}

int job_api_hosts(struct job_api *api, const char *role, struct ps_host **ret_hosts,
                  uint32_t *ret_want, uint32_t *ret_n, struct edl_error *error)
{
    struct http_answer answer = { 0 };
    struct ps_host *hosts;
    char path[128];
    json_int_t want = 0;
    json_t *list = NULL, *host;
    size_t i;
    int r;

    (void)snprintf(path, sizeof path, "/jobs/self/hosts?role=%s", role);
    r = call(api, "GET", path, NULL, &answer, error);
    if (r < 0)
        return r;
    r = http_answer_error(&answer, error);
    if (r >= 0 && (json_unpack(answer.json, "{s:I, s:o}", "want", &want, "hosts", &list) < 0 ||
                   want < 0 || want > HOSTS_MAX))
        r = bad_answer(path, error);
    if (r < 0) {
        http_answer_clear(&answer);
        return r;
    }
    hosts = xcalloc((size_t)want, sizeof *hosts);
    json_array_foreach(list, i, host) take_host(host, hosts, (uint32_t)want);
    http_answer_clear(&answer);
    *ret_n = 0;
    for (json_int_t h = 0; h < want; h++)
        *ret_n += hosts[h].port != 0;
    *ret_hosts = hosts;
    *ret_want = (uint32_t)want;
    return 0;
}

int job_api_has_dataset(struct job_api *api, struct edl_error *error)
{
    struct http_answer answer = { 0 };
    int r = call(api, "GET", "/jobs/self/dataset", NULL, &answer, error);

    if (r < 0)
        return r;
    if (answer.status == 404)
        r = 0;
    else
        r = http_answer_error(&answer, error) < 0 ? EDL_EHTTP : 1;
    http_answer_clear(&answer);
    return r;
}

int job_api_put_dataset(struct job_api *api, const json_t *dataset, struct edl_error *error)
{
    return call_simple(api, "PUT", "/jobs/self/dataset", dataset, error);
}

void task_clear(struct task *task)
{
    json_decref(task->id);
    json_decref(task->pass);
    json_decref(task->lease);
    dataset_chunks_free(task->chunks, task->n_chunks);
    *task = (struct task){ 0 };
}

static int read_chunks(const json_t *list, struct task *task)
{
    json_t *chunk;
    size_t i;

    if (json_array_size(list) > TASK_CHUNKS_MAX)
        return -EINVAL;
    task->chunks = xcalloc(json_array_size(list), sizeof *task->chunks);
    json_array_foreach(list, i, chunk)
    {
        json_int_t offset = -1, records = -1;
        const char *path = NULL;

        if (json_unpack(chunk, "{s:s, s:I, s:I}", "path", &path, "offset", &offset, "records",
                        &records) < 0 ||
            offset < 0 || records < 0 || records > UINT32_MAX)
            return -EINVAL;
        task->chunks[task->n_chunks++] = (struct dataset_chunk){ .path = xstrdup(path),
                                                                 .offset = (uint64_t)offset,
                                                                 .records = (uint32_t)records };
    }
    return 0;
}

static int read_task(json_t *json, struct task *ret)
{
    struct task task = { 0 };
    json_t *chunks = NULL;

    if (json_unpack(json, "{s:O, s:O, s:O, s:o}", "id", &task.id, "pass", &task.pass, "lease",
                    &task.lease, "chunks", &chunks) < 0 ||
        read_chunks(chunks, &task) < 0) {
        task_clear(&task);
        return -EINVAL;
    }
    task.pass_number = json_integer_value(task.pass);
    *ret = task;
    return 0;
}

int job_api_lease(struct job_api *api, unsigned wait_s, struct task *ret_task, bool *ret_save_model,
                  struct edl_error *error)
{
    static const char path[] = "/jobs/self/tasks/lease";
    json_t *body = json_pack("{s:[], s:i}", "known", "wait", (int)wait_s), *task;
    struct http_answer answer = { 0 };
    int r = call(api, "POST", path, body, &answer, error);

    json_decref(body);
    if (r < 0)
        return r;
    r = http_answer_error(&answer, error);
    task = json_object_get(answer.json, "task");
    if (r < 0)
        ;
    else if (task != NULL)
        r = read_task(task, ret_task) < 0 ? bad_answer(path, error) : LEASE_TASK;
    else if (json_is_true(json_object_get(answer.json, "finished"))) {
        *ret_save_model = json_is_true(json_object_get(answer.json, "save_model"));
        r = LEASE_FINISHED;
    } else if (json_is_true(json_object_get(answer.json, "wait")))
        r = LEASE_WAIT;
    else
        r = bad_answer(path, error);
    http_answer_clear(&answer);
    return r;
}

static json_t *task_body(const struct task *task)
{
    return json_pack("{s:O, s:O, s:O}", "task", task->id, "pass", task->pass, "lease", task->lease);
}

int job_api_finish(struct job_api *api, const struct task *task, struct edl_error *error)
{
    json_t *body = task_body(task);
    int r = call_simple(api, "POST", "/jobs/self/tasks/finish", body, error);

    json_decref(body);
    return r;
}

int job_api_fail(struct job_api *api, const struct task *task, bool returned, const char *reason,
                 struct edl_error *error)
{
    json_t *body = task_body(task);
    int r;

    json_object_set_new(body, "returned", json_boolean(returned));
    json_object_set_new(body, "reason", json_string(reason));
    r = call_simple(api, "POST", "/jobs/self/tasks/fail", body, error);
    json_decref(body);
    return r;
}

int job_api_metrics(struct job_api *api, const json_t *metrics, struct edl_error *error)
{
    return call_simple(api, "POST", "/jobs/self/metrics", metrics, error);
}

void job_api_progress(struct job_api *api, const json_t *progress)
{
    struct http_call request = { .method = "POST",
                                 .path = "/processes/self/progress",
                                 .json = progress,
                                 .timeout_us = PROGRESS_TIMEOUT_US };
    struct http_answer answer = { 0 };

    (void)http_client_call(api->client, &request, &answer);
    http_answer_clear(&answer);
}

int job_api_save_model(struct job_api *api, const char *path, struct edl_error *error)
{
    json_t *body = json_pack("{s:b, s:s}", "saved", 1, "path", path);
    int r = call_simple(api, "POST", "/jobs/self/save-model", body, error);

    json_decref(body);
    return r;
}

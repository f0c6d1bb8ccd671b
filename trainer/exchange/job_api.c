/* SPDX-License-Identifier: Apache-2.0 */
/* job_api.c - what a trainer asks its scheduler, through the agent's socket */
#include "trainer/exchange/job_api.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "libedl/client.h"
#include "shared/error.h"
#include "shared/json_text.h"
#include "shared/macro.h"

#define SLICE_MS 100
#define HOSTS_MAX 1024

_Static_assert(EDL_SECRET_BYTES == JOB_SECRET_BYTES, "one secret, two names");

struct job_api {
    struct edl_client *client;
};

int job_api_new(const char *socket_path, uint64_t retry_us, const volatile sig_atomic_t *stop,
                struct job_api **ret, struct edl_error *error)
{
    struct job_api *api = xcalloc(1, sizeof *api);
    int r = edl_client_new(socket_path, &api->client);

    if (r < 0) {
        free(api);
        return edl_error_errno(error, r, "the agent's socket %s", socket_path);
    }
    edl_client_set_patience(api->client, retry_us);
    edl_client_set_stop(api->client, stop);
    *ret = api;
    return 0;
}

struct job_api *job_api_free(struct job_api *api)
{
    if (api == NULL)
        return NULL;
    api->client = edl_client_free(api->client);
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

/* outcome - r, with the library's words when it is an error */
static int outcome(const struct job_api *api, int r, struct edl_error *error)
{
    if (r >= 0)
        return r;
    return edl_error_set(error,
                         r == -ESTALE         ? EDL_ESTALE
                         : r == -EHOSTUNREACH ? EDL_EUNREACHABLE
                                              : r,
                         "%s", edl_last_error(api->client));
}

int job_api_secret(struct job_api *api, uint8_t ret[JOB_SECRET_BYTES], struct edl_error *error)
{
    int r = outcome(api, edl_secret(api->client, ret), error);

    if (r == -ENOENT)
        (void)edl_error_remedy(error,
                               "an older scheduler knows no secrets of jobs: upgrade it, and "
                               "start the job again");
    return r;
}

/* What is not running or has no port is left out. */
static void take_host(const struct edl_peer *peer, struct ps_host *hosts, uint64_t want)
{
    struct ps_host *host;

    if (peer->index >= want || peer->n_ports == 0 || peer->ports[0] == 0 ||
        !streq(peer->state, "running") || strlen(peer->address) >= sizeof hosts->address)
        return;
    host = &hosts[peer->index];
    if (host->port != 0 && host->incarnation > peer->incarnation)
        return;
    *host = (struct ps_host){ .port = peer->ports[0], .incarnation = peer->incarnation };
    (void)snprintf(host->address, sizeof host->address, "%s", peer->address);
}

int job_api_hosts(struct job_api *api, const char *role, struct ps_host **ret_hosts,
                  uint32_t *ret_want, uint32_t *ret_n, struct edl_error *error)
{
    struct edl_hosts *found = NULL;
    struct ps_host *hosts;
    int r = outcome(api, edl_hosts_of(api->client, role, &found), error);

    if (r < 0)
        return r;
    if (found->want > HOSTS_MAX) {
        r = edl_error_set(error, -E2BIG, "role %s has more than %d processes", role, HOSTS_MAX);
        (void)edl_hosts_free(found);
        return r;
    }
    hosts = xcalloc(found->want, sizeof *hosts);
    for (size_t i = 0; i < found->n_peers; i++)
        take_host(&found->peers[i], hosts, found->want);
    *ret_n = 0;
    for (uint64_t h = 0; h < found->want; h++)
        *ret_n += hosts[h].port != 0;
    *ret_hosts = hosts;
    *ret_want = (uint32_t)found->want;
    (void)edl_hosts_free(found);
    return 0;
}

int job_api_has_dataset(struct job_api *api, struct edl_error *error)
{
    return outcome(api, edl_dataset_exists(api->client), error);
}

int job_api_put_dataset(struct job_api *api, const json_t *dataset, struct edl_error *error)
{
    int r = client_ask(api->client, "PUT", "/jobs/self/dataset", dataset, NULL);

    return outcome(api, client_result(api->client, r), error);
}

int job_api_trained(struct job_api *api, uint64_t *ret_leased, struct edl_error *error)
{
    json_t *tasks = NULL;
    int r = client_ask(api->client, "GET", "/jobs/self/tasks", NULL, &tasks);
    bool trained = json_integer_value(json_object_get(tasks, "records_total")) > 0;

    *ret_leased = (uint64_t)json_integer_value(json_object_get(tasks, "leased"));
    json_decref(tasks);
    return r < 0 ? outcome(api, client_result(api->client, r), error) : trained;
}

int job_api_values_lost(struct job_api *api, struct edl_error *error)
{
    json_t *told = json_pack("{s:s}", "source", "nothing");
    int r = client_ask(api->client, "POST", "/jobs/self/recovered", told, NULL);

    json_decref(told);
    return outcome(api, client_result(api->client, r), error);
}

void task_clear(struct task *task)
{
    task->lease = edl_task_free(task->lease);
    dataset_chunks_free(task->chunks, task->n_chunks);
    *task = (struct task){ 0 };
}

static void take_task(struct edl_task *lease, struct task *ret)
{
    *ret = (struct task){ .lease = lease,
                          .pass_number = (int64_t)lease->pass,
                          .chunks = xcalloc(lease->n_chunks, sizeof *ret->chunks),
                          .n_chunks = lease->n_chunks };
    for (size_t i = 0; i < lease->n_chunks; i++)
        ret->chunks[i] = (struct dataset_chunk){ .path = xstrdup(lease->chunks[i].path),
                                                 .offset = lease->chunks[i].offset_bytes,
                                                 .records = lease->chunks[i].n_records };
}

int job_api_lease(struct job_api *api, struct task *ret_task, bool *ret_save_model,
                  struct edl_error *error)
{
    struct edl_task *lease = NULL;
    int r = edl_task_next(api->client, EDL_FOREVER, &lease);

    if (r == EDL_NEXT_TASK) {
        take_task(lease, ret_task);
        return LEASE_TASK;
    }
    if (r < 0)
        return outcome(api, r, error);
    *ret_save_model = r == EDL_NEXT_SAVE_MODEL;
    return LEASE_FINISHED;
}

int job_api_finish(struct job_api *api, const struct task *task, struct edl_error *error)
{
    return outcome(api, edl_task_done(api->client, task->lease), error);
}

int job_api_fail(struct job_api *api, const struct task *task, bool returned, const char *reason,
                 struct edl_error *error)
{
    return outcome(api,
                   returned ? edl_task_return(api->client, task->lease, reason)
                            : edl_task_failed(api->client, task->lease, reason),
                   error);
}

int job_api_metrics(struct job_api *api, const json_t *metrics, struct edl_error *error)
{
    int r = client_ask(api->client, "POST", "/jobs/self/metrics", metrics, NULL);

    return outcome(api, client_result(api->client, r), error);
}

void job_api_progress(struct job_api *api, const json_t *progress)
{
    char *text = json_to_text(progress, NULL);

    if (text != NULL)
        (void)edl_progress(api->client, text);
    free(text);
}

void job_api_alive(struct job_api *api, uint64_t within_us)
{
    (void)edl_alive(api->client, within_us);
}

void job_api_owe_model(struct job_api *api)
{
    json_t *body = json_pack("{s:b}", "saved", 0);

    (void)client_ask(api->client, "POST", "/jobs/self/save-model", body, NULL);
    json_decref(body);
}

int job_api_save_model(struct job_api *api, const char *path, struct edl_error *error)
{
    return outcome(api, edl_model_saved(api->client, path), error);
}

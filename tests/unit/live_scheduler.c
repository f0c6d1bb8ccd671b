/* SPDX-License-Identifier: Apache-2.0 */
/* live_scheduler.c - for tests: a whole scheduler and its clients on one event loop */
#include "tests/unit/live_scheduler.h"

#include <dirent.h>
#include <inttypes.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <utlist.h>

#include "scheduler/calls/dispatch.h"
#include "scheduler/accounts/users.h"
#include "scheduler/store/far/far_internal.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/macro.h"

#define DEADLINE_US (120 * USEC_PER_SEC)

void live_start(struct live *live)
{
    struct scheduler_options options = { .listen = { { .address = "127.0.0.1" } },
                                         .n_listen = 1,
                                         .policy = &policy_fulfilment,
                                         .max_load_permille = 1000,
                                         .role_defaults = { .cpu_millicores = 100 },
                                         .lease_us = LIVE_LEASE_US };
    struct edl_error error = { 0 };
    char base[64];

    (void)snprintf(options.state_dir, sizeof options.state_dir, "%s", live->folder);
    (void)snprintf(options.port_file, sizeof options.port_file, "%s/address", live->folder);
    if (live->local) {
        struct listen_spec *spec = &options.listen[options.n_listen++];

        spec->is_unix = true;
        spec->mode = 0666;
        (void)snprintf(spec->address, sizeof spec->address, "%s/socket", live->folder);
        options.socket_role = USER_USER;
    }
    if (scheduler_new(&options, &live->scheduler, &error) < 0)
        fail_msg("%s", error.text);
    (void)snprintf(base, sizeof base, "http://127.0.0.1:%u",
                   live->scheduler->listeners.specs[0].port);
    if (http_async_new(live->scheduler->event, base, &live->async, &error) < 0)
        fail_msg("%s", error.text);
}

void live_stop(struct live *live)
{
    live->async = http_async_free(live->async);
    live->scheduler = scheduler_free(live->scheduler);
}

static int set_up(void **state, bool local)
{
    struct live *live = xcalloc(1, sizeof *live);

    live->local = local;
    (void)snprintf(live->folder, sizeof live->folder, "/tmp/edl-test-live-XXXXXX");
    if (mkdtemp(live->folder) == NULL)
        return -1;
    live_start(live);
    *state = live;
    return 0;
}

int live_setup(void **state)
{
    return set_up(state, false);
}

int live_setup_local(void **state)
{
    return set_up(state, true);
}

static void remove_folder(const char *path)
{
    _cleanup_closedir_ DIR *folder = opendir(path);
    const struct dirent *entry;

    assert_non_null(folder);
    while ((entry = readdir(folder)) != NULL)
        (void)unlinkat(dirfd(folder), entry->d_name, 0);
    assert_int_equal(rmdir(path), 0);
}

int live_teardown(void **state)
{
    struct live *live = *state;
    char workspaces[128];

    live_disk_full(false);
    live_stop(live);
    (void)snprintf(workspaces, sizeof workspaces, "%s/workspaces", live->folder);
    remove_folder(workspaces);
    remove_folder(live->folder);
    free(live);
    return 0;
}

void live_restart(struct live *live)
{
    live_stop(live);
    live_start(live);
}

/* One step of the loop; the scheduler must not have been told to end. */
static void step(struct live *live, uint64_t end_us)
{
    assert_true(clock_read_us(CLOCK_BOOTTIME) < end_us);
    assert_true(sd_event_run(live->scheduler->event, 100 * USEC_PER_MSEC) >= 0);
}

static void on_answer(const struct http_answer *answer, void *userdata)
{
    struct reply *reply = userdata;

    reply->n++;
    reply->status = answer->status;
    reply->retry_after_s = answer->retry_after_s;
    reply->json = json_incref(answer->json);
    reply->size = answer->body_size;
    reply->body = xcalloc(answer->body_size + 1, 1);
    if (answer->body != NULL)
        memcpy(reply->body, answer->body, answer->body_size);
    (void)http_answer_error(answer, &reply->error);
}

void live_send(struct live *live, const char *method, const char *path, const char *key,
               const char *body, struct reply *reply)
{
    live_send_as(live, live->token != NULL ? live->token : live->scheduler->admin_token, method,
                 path, key, body, reply);
}

void live_send_with(struct live *live, const char *token, const char *header, const char *method,
                    const char *path, const char *body, struct reply *reply)
{
    struct http_call call = { .method = method,
                              .path = path,
                              .bearer_token = token,
                              .body = body,
                              .body_size = body != NULL ? strlen(body) : 0,
                              .timeout_us = DEADLINE_US };
    struct edl_error error = { 0 };

    call.headers[0] = header;
    reply_clear(reply);
    if (http_async_start(live->async, &call, on_answer, reply, NULL, &error) < 0)
        fail_msg("%s", error.text);
}

void live_send_as(struct live *live, const char *token, const char *method, const char *path,
                  const char *key, const char *body, struct reply *reply)
{
    char header[400];

    (void)snprintf(header, sizeof header, "Idempotency-Key: %s", key != NULL ? key : "");
    live_send_with(live, token, key != NULL ? header : NULL, method, path, body, reply);
}

void live_send_for(struct live *live, const struct process *process, const char *method,
                   const char *path, const char *body, struct reply *reply)
{
    char header[120];

    (void)snprintf(header, sizeof header, "X-EDL-Process: %" PRIu64 ".%s.%u.%" PRIu64,
                   process->job->id, process->job->spec->roles[process->role].name, process->index,
                   process->incarnation);
    live_send_with(live, live->token != NULL ? live->token : live->scheduler->admin_token, header,
                   method, path, body, reply);
}

void live_wait(struct live *live, const struct reply *reply)
{
    uint64_t end_us = clock_read_us(CLOCK_BOOTTIME) + DEADLINE_US;

    while (reply->n == 0)
        step(live, end_us);
}

unsigned live_ask(struct live *live, const char *method, const char *path, const char *key,
                  const char *body, struct reply *reply)
{
    live_send(live, method, path, key, body, reply);
    live_wait(live, reply);
    return reply->status;
}

void live_hold(struct live *live)
{
    uint64_t end_us = clock_read_us(CLOCK_BOOTTIME) + DEADLINE_US;

    while (!live->scheduler->turn_wanted)
        step(live, end_us);
    assert_true(sd_event_source_set_enabled(live->scheduler->turn, SD_EVENT_OFF) >= 0);
}

void live_release(struct live *live)
{
    assert_true(sd_event_source_set_enabled(live->scheduler->turn, SD_EVENT_ONESHOT) >= 0);
}

static sem_t writing_goes_on;

static void stand_still(struct worker_job *job)
{
    (void)job;
    while (sem_wait(&writing_goes_on) == -1)
        continue;
}

static void stood_still(struct worker_job *job)
{
    free(job);
}

void live_stop_writing(struct live *live)
{
    struct worker_job *job = xcalloc(1, sizeof *job);

    *job = (struct worker_job){ .run = stand_still, .done = stood_still };
    assert_int_equal(sem_init(&writing_goes_on, 0, 0), 0);
    worker_start(far_of(live->scheduler->store)->writing, job);
}

void live_go_on_writing(void)
{
    assert_int_equal(sem_post(&writing_goes_on), 0);
}

void live_readers(struct live *live, size_t wanted)
{
    uint64_t end_us = clock_read_us(CLOCK_BOOTTIME) + DEADLINE_US;

    while (dispatch_n_readers(live->scheduler) < wanted)
        step(live, end_us);
}

void live_disk_full(bool full)
{
    static struct rlimit before;
    struct rlimit none;

    if (before.rlim_max == 0)
        assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    none = (struct rlimit){ .rlim_cur = 1, .rlim_max = before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_FSIZE, full ? &none : &before), 0);
}

void reply_clear(struct reply *reply)
{
    free(reply->body);
    json_decref(reply->json);
    *reply = (struct reply){ 0 };
}

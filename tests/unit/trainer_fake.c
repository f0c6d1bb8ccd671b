/* SPDX-License-Identifier: Apache-2.0 */
/* trainer_fake.c - a stand-in scheduler behind a Unix socket, in a child process
 *
 * Knows one job: hands out the tasks that a trainer has put, counts passes. Takes back the tasks
 * of trainers that died: it asks the kernel for its peers' process ids. */
#include "trainer_fixture.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/hex.h"
#include "shared/http_server.h"

#define TASKS_MAX 1000

enum task_state { TODO, LEASED, DONE };

struct fake_server {
    struct fake_state *state;
    int events;
    json_t *dataset;
    struct {
        enum task_state state;
        pid_t holder;
        uint32_t lease;
    } tasks[TASKS_MAX];
    uint32_t next_lease;
    pid_t saver;      /* 0: nobody is saving */
    bool asked_hosts; /* since the last question of tasks */
};

static void tell(struct fake_server *fake, enum fake_event event)
{
    char byte = (char)event;

    assert_int_equal(write(fake->events, &byte, 1), 1);
}

static pid_t peer_of(struct http_request *request)
{
    struct ucred peer = { 0 };
    socklen_t size = sizeof peer;

    (void)getsockopt(http_request_peer_fd(request), SOL_SOCKET, SO_PEERCRED, &peer, &size);
    return peer.pid;
}

static void on_hosts(struct http_request *request, void *userdata)
{
    struct fake_server *fake = userdata;
    json_t *list = json_array();

    fake->asked_hosts = true;
    for (uint32_t i = 0; i < fake->state->n_hosts; i++)
        json_array_append_new(
            list, json_pack("{s:i, s:I, s:s, s:[i,i], s:s}", "index", (int)i, "incarnation",
                            (json_int_t)fake->state->hosts[i].incarnation, "address", "127.0.0.1",
                            "ports", (int)fake->state->hosts[i].port, 1, "state", "running"));
    http_reply_json(request, 200,
                    json_pack("{s:s, s:i, s:o}", "role", "pserver", "want",
                              (int)fake->state->n_hosts, "hosts", list));
}

static void on_secret(struct http_request *request, void *userdata)
{
    char text[2 * JOB_SECRET_BYTES + 1];

    (void)userdata;
    hex_encode(TEST_SECRET, JOB_SECRET_BYTES, text);
    http_reply_json(request, 200, json_pack("{s:s}", "secret", text));
}

static void take_back(struct fake_server *fake)
{
    for (uint32_t i = 0; i < fake->state->n_tasks; i++)
        if (fake->tasks[i].state == LEASED && kill(fake->tasks[i].holder, 0) < 0) {
            fake->tasks[i].state = TODO;
            fake->state->n_requeued++;
        }
    if (fake->saver != 0 && kill(fake->saver, 0) < 0)
        fake->saver = 0;
}

static uint32_t count(const struct fake_server *fake, enum task_state state)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < fake->state->n_tasks; i++)
        n += fake->tasks[i].state == state;
    return n;
}

static void on_tasks(struct http_request *request, void *userdata)
{
    struct fake_server *fake = userdata;

    const bool is_away = fake->state->hides_tasks && !fake->asked_hosts;

    fake->asked_hosts = false;
    if (is_away) {
        http_reply_json(request, 503, json_object());
        return;
    }
    take_back(fake);
    http_reply_json(request, 200,
                    json_pack("{s:i, s:i}", "records_total", (int)fake->state->n_finished, "leased",
                              (int)count(fake, LEASED)));
}

/* A trainer says that nobody has the values of a server. */
static void on_recovered(struct http_request *request, void *userdata)
{
    struct fake_server *fake = userdata;

    fake->state->n_lost++;
    http_reply_json(request, 200, json_object());
}

static void on_dataset_get(struct http_request *request, void *userdata)
{
    struct fake_server *fake = userdata;

    if (fake->dataset == NULL)
        http_reply_json(request, 404, json_object());
    else
        http_reply_json(request, 200, json_pack("{s:i}", "tasks", (int)fake->state->n_tasks));
}

static void on_dataset_put(struct http_request *request, void *userdata)
{
    struct fake_server *fake = userdata;
    json_t *dataset = NULL;

    if (http_request_json(request, &dataset, NULL) < 0) {
        http_reply_json(request, 400, json_object());
        return;
    }
    fake->state->n_puts++;
    if (fake->dataset != NULL && !json_equal(dataset, fake->dataset)) {
        json_decref(dataset);
        http_reply_json(request, 409, json_object());
        return;
    }
    json_decref(fake->dataset);
    fake->dataset = dataset;
    fake->state->n_tasks = (uint32_t)json_array_size(json_object_get(dataset, "tasks"));
    assert_true(fake->state->n_tasks > 0 && fake->state->n_tasks <= TASKS_MAX);
    http_reply_json(request, 200, json_pack("{s:i}", "tasks", (int)fake->state->n_tasks));
}

static void reply_finished(struct fake_server *fake, struct http_request *request)
{
    bool save = !fake->state->saved && fake->saver == 0;

    if (save)
        fake->saver = peer_of(request);
    http_reply_json(request, 200, json_pack("{s:b, s:b}", "finished", 1, "save_model", (int)save));
}

static void on_lease(struct http_request *request, void *userdata)
{
    struct fake_server *fake = userdata;
    json_t *tasks = json_object_get(fake->dataset, "tasks"), *task;
    const uint32_t most = fake->state->finished_most;
    const bool gives = most == 0 || fake->state->n_finished < most;

    take_back(fake);
    if (fake->state->pass >= fake->state->passes) {
        reply_finished(fake, request);
        return;
    }
    for (uint32_t i = 0; gives && i < fake->state->n_tasks; i++) {
        if (fake->tasks[i].state != TODO)
            continue;
        fake->tasks[i].state = LEASED;
        fake->tasks[i].holder = peer_of(request);
        fake->tasks[i].lease = ++fake->next_lease;
        task = json_pack("{s:i, s:i, s:i, s:O}", "id", (int)i + 1, "pass", (int)fake->state->pass,
                         "lease", (int)fake->tasks[i].lease, "chunks",
                         json_object_get(json_array_get(tasks, i), "chunks"));
        tell(fake, FAKE_LEASED);
        http_reply_json(request, 200, json_pack("{s:o}", "task", task));
        return;
    }
    http_reply_json(request, 200,
                    json_pack("{s:b}", "wait", 1)); /* does not wait: tests are in a hurry */
}

/* Index of the task that the body's lease holds, or -1. */
static int held_task(struct fake_server *fake, const json_t *body)
{
    json_int_t id = json_integer_value(json_object_get(body, "task"));
    json_int_t lease = json_integer_value(json_object_get(body, "lease"));
    json_int_t pass = json_integer_value(json_object_get(body, "pass"));

    if (id < 1 || id > (json_int_t)fake->state->n_tasks || fake->tasks[id - 1].state != LEASED ||
        fake->tasks[id - 1].lease != lease || fake->state->pass != pass)
        return -1;
    return (int)id - 1;
}

static void finish_task(struct fake_server *fake, int task)
{
    fake->tasks[task].state = DONE;
    fake->state->n_finished++;
    if (count(fake, DONE) == fake->state->n_tasks) {
        for (uint32_t i = 0; i < fake->state->n_tasks; i++)
            fake->tasks[i].state = TODO;
        fake->state->pass++;
    }
    tell(fake, FAKE_FINISHED);
}

static void on_finish(struct http_request *request, void *userdata)
{
    struct fake_server *fake = userdata;
    json_t *body = NULL;
    int task = http_request_json(request, &body, NULL) < 0 ? -1 : held_task(fake, body);

    json_decref(body);
    if (task >= 0)
        finish_task(fake, task);
    if (task >= 0 && fake->state->refuse_finish > 0) {
        fake->state->refuse_finish--;
        task = -1;
    }
    http_reply_json(request, task < 0 ? 409 : 200, json_pack("{s:b}", "pass_ended", 0));
}

static void on_fail(struct http_request *request, void *userdata)
{
    struct fake_server *fake = userdata;
    json_t *body = NULL;
    int task = http_request_json(request, &body, NULL) < 0 ? -1 : held_task(fake, body);
    bool returned = json_is_true(json_object_get(body, "returned"));

    json_decref(body);
    if (task >= 0) {
        fake->tasks[task].state = returned ? TODO : DONE;
        if (returned)
            fake->state->n_returned++;
        else
            fake->state->n_failed++;
        tell(fake, FAKE_RETURNED);
    }
    http_reply_json(request, 200, json_object());
}

static void on_metrics(struct http_request *request, void *userdata)
{
    struct fake_server *fake = userdata;
    size_t size;
    const char *body = http_request_body(request, &size);

    (void)snprintf(fake->state->metrics, sizeof fake->state->metrics, "%.*s", (int)size, body);
    http_reply_json(request, 200, json_object());
}

static void on_save_model(struct http_request *request, void *userdata)
{
    struct fake_server *fake = userdata;
    json_t *body = NULL;

    if (http_request_json(request, &body, NULL) >= 0 &&
        json_is_false(json_object_get(body, "saved"))) {
        json_decref(body);
        fake->state->owed = true;
        http_reply_json(request, 200, json_pack("{s:b}", "save_model", 1));
        return;
    }
    if (body != NULL)
        (void)snprintf(fake->state->model, sizeof fake->state->model, "%s",
                       json_string_value(json_object_get(body, "path")));
    json_decref(body);
    fake->state->saved++;
    tell(fake, FAKE_SAVED);
    http_reply_json(request, 200, json_object());
}

static const struct http_route routes[] = {
    { .method = "GET", .path = "/jobs/self/hosts", .handler = on_hosts, .query = "role" },
    { .method = "GET", .path = "/jobs/self/secret", .handler = on_secret },
    { .method = "GET", .path = "/jobs/self/tasks", .handler = on_tasks },
    { .method = "POST",
      .path = "/jobs/self/recovered",
      .handler = on_recovered,
      .max_body_bytes = 65536 },
    { .method = "GET", .path = "/jobs/self/dataset", .handler = on_dataset_get },
    { .method = "PUT",
      .path = "/jobs/self/dataset",
      .handler = on_dataset_put,
      .max_body_bytes = 1 << 20 },
    { .method = "POST",
      .path = "/jobs/self/tasks/lease",
      .handler = on_lease,
      .max_body_bytes = 65536 },
    { .method = "POST",
      .path = "/jobs/self/tasks/finish",
      .handler = on_finish,
      .max_body_bytes = 65536 },
    { .method = "POST",
      .path = "/jobs/self/tasks/fail",
      .handler = on_fail,
      .max_body_bytes = 65536 },
    { .method = "POST",
      .path = "/jobs/self/metrics",
      .handler = on_metrics,
      .max_body_bytes = 65536 },
    { .method = "POST",
      .path = "/jobs/self/save-model",
      .handler = on_save_model,
      .max_body_bytes = 65536 },
    { .method = NULL, .path = NULL, .handler = NULL },
};

static int serve(struct fake_server *fake, int listen_fd)
{
    struct http_server_config config = {
        .listen_fd = listen_fd, .routes = routes, .n_routes = ELEMENTS(routes) - 1, .userdata = fake
    };
    struct http_server *server = NULL;
    sd_event *event = NULL;

    if (sd_event_new(&event) < 0 || http_server_new(event, &config, &server, NULL) < 0)
        return 99;
    return sd_event_loop(event);
}

void fake_start(struct fake *fake, const char *folder, const struct test_server *servers,
                uint32_t n, uint32_t passes)
{
    struct fake_server server = { 0 };
    int pipes[2], listen_fd;

    *fake = (struct fake){ 0 };
    (void)snprintf(fake->socket, sizeof fake->socket, "%s/socket", folder);
    fake->state =
        mmap(NULL, sizeof *fake->state, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(fake->state != MAP_FAILED);
    fake->state->passes = passes;
    fake->state->n_hosts = n;
    for (uint32_t i = 0; i < n; i++)
        fake_set_server(fake, &servers[i]);
    assert_int_equal(pipe(pipes), 0);
    listen_fd = http_listen_unix(fake->socket, 0600, NULL);
    assert_true(listen_fd >= 0);
    server.state = fake->state;
    server.events = pipes[1];
    (void)fflush(NULL);
    fake->pid = fork();
    if (fake->pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(serve(&server, listen_fd));
    }
    (void)safe_close(pipes[1]);
    (void)safe_close(listen_fd);
    fake->events = pipes[0];
}

void fake_stop(struct fake *fake)
{
    (void)kill(fake->pid, SIGKILL);
    (void)child_wait(fake->pid);
    (void)safe_close(fake->events);
    (void)munmap(fake->state, sizeof *fake->state);
}

void fake_set_server(struct fake *fake, const struct test_server *server)
{
    fake->state->hosts[server->index].port = server->port;
    fake->state->hosts[server->index].incarnation = server->incarnation;
}

void fake_wait(struct fake *fake, enum fake_event event, unsigned n)
{
    uint64_t deadline_us = clock_read_us(CLOCK_BOOTTIME) + 300 * USEC_PER_SEC;
    struct pollfd polled = { .fd = fake->events, .events = POLLIN };
    char byte;

    while (n > 0) {
        if (poll(&polled, 1, 1000) == 1) {
            assert_int_equal(read(fake->events, &byte, 1), 1);
            n -= byte == (char)event;
        }
        if (clock_read_us(CLOCK_BOOTTIME) > deadline_us)
            fail_msg("event %c did not come", event);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* client_fixture.h - the command `edl` against a server that says what a test expects, and writes
 * down what it was asked */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "client/dev_state.h"
#include "client/json_read.h"
#include "client/server.h"
#include "client/text.h"
#include "client/top_line.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/macro.h"

static char *make_folder(void)
{
    char *path = xstrdup("/tmp/edl-test-client-XXXXXX");

    assert_non_null(mkdtemp(path));
    return path;
}

struct fixture {
    char *folder;
    pid_t server;
    int asked_fd; /* "METHOD PATH BODY\n" of each request */
};

static int n_cluster_calls;

static void note(struct http_request *request, int fd)
{
    _cleanup_free_ char *line = NULL;
    size_t size = 0;
    const char *body = http_request_body(request, &size);
    const char *token = http_request_header(request, "Authorization");

    line = text_format("%s %s %s %.*s\n", http_request_method(request), http_request_path(request),
                       token != NULL ? token : "-", (int)size, body != NULL ? body : "");
    (void)!write(fd, line, strlen(line));
}

static void serve_json(struct http_request *request, unsigned status, const char *text)
{
    http_reply_json(request, status, json_loads(text, 0, NULL));
}

static void serve_plan(struct http_request *request, const char *which)
{
    static const char shrink[] =
        "{\"dry_run\":true,\"verdict\":\"after-shrinking\","
        "\"reason\":{\"code\":\"gives-way\",\"text\":\"job a gives up 1 of 3 trainers\"},"
        "\"wait_us\":{\"least\":1000000,\"most\":30000000},"
        "\"placements\":[{\"node\":\"n1\"},{\"node\":\"n2\"},{\"node\":\"n1\"}],"
        "\"roles\":[{\"role\":\"trainer\",\"from\":0,\"to\":3,\"later\":5}],"
        "\"jobs\":[{\"job\":\"a\",\"role\":\"trainer\",\"from\":3,\"to\":2,\"later\":2,"
        "\"victims\":[{\"process\":\"trainer-2\",\"node\":\"n1\"}]}],"
        "\"cost\":{\"lost_task_us\":7000000,\"stopped\":1,\"resizes\":1},"
        "\"utilisation_ppm\":{\"before\":900000,\"after\":1000000},"
        "\"ignored\":[\"/spec/image\"]}";
    static const char never[] = "{\"verdict\":\"never\",\"reason\":{\"text\":\"too large\"}}";
    static const char waits[] = "{\"verdict\":\"unknown\",\"reason\":{\"text\":\"full\"}}";

    serve_json(request, 200,
               streq(which, "shrink")  ? shrink
               : streq(which, "never") ? never
                                       : waits);
}

static void serve_submit(struct http_request *request, void *userdata)
{
    size_t size = 0;
    const char *body = http_request_body(request, &size);

    note(request, *(int *)userdata);
    if (http_request_query(request, "dry_run") != NULL)
        serve_plan(request, body != NULL && strstr(body, "never") != NULL ? "never" : "shrink");
    else if (body != NULL && strstr(body, "bad") != NULL)
        serve_json(request, 422,
                   "{\"status\":422,\"detail\":\"not valid\",\"remedy\":\"make it 1\","
                   "\"errors\":[{\"pointer\":\"/spec/trainer/min-instance\",\"detail\":\"is 0\"},"
                   "{\"pointer\":\"/spec/x\",\"detail\":\"is unknown\"}]}");
    else if (body != NULL && strstr(body, "once") != NULL)
        serve_json(request, 409,
                   "{\"status\":409,\"detail\":\"taken\",\"errors\":["
                   "{\"pointer\":\"/name\",\"detail\":\"taken\"}]}");
    else
        serve_json(request, 201,
                   "{\"job\":\"example\",\"id\":1,\"state\":\"queued\","
                   "\"ignored\":[\"/spec/image\"]}");
}

static void serve_job(struct http_request *request, void *userdata)
{
    const char *name = http_request_param(request, "job");

    note(request, *(int *)userdata);
    if (streq(name, "none") || streq(name, "sweep"))
        serve_json(request, 404, "{\"status\":404,\"detail\":\"there is no job none\"}");
    else if (streq(name, "broken"))
        serve_json(request, 200,
                   "{\"id\":2,\"name\":\"broken\",\"state\":\"failed\",\"reason\":\"exit 1\"}");
    else
        serve_json(request, 200,
                   "{\"id\":1,\"name\":\"example\",\"state\":\"succeeded\",\"roles\":["
                   "{\"role\":\"trainer\"},{\"role\":\"pserver\"},{\"role\":\"idle\"}]}");
}

/* The array sweep, of which an earlier one has that name as well. */
static void serve_jobs(struct http_request *request, void *userdata)
{
    const char *array = http_request_query(request, "array");

    note(request, *(int *)userdata);
    serve_json(request, 200,
               array == NULL || !streq(array, "sweep")
                   ? "{\"jobs\":[],\"next\":null}"
                   : "{\"jobs\":["
                     "{\"id\":1,\"name\":\"sweep-0\",\"user\":\"a\",\"state\":\"failed\"},"
                     "{\"id\":2,\"name\":\"sweep-1\",\"user\":\"a\",\"state\":\"failed\"},"
                     "{\"id\":3,\"name\":\"sweep-0\",\"user\":\"a\",\"state\":\"succeeded\"},"
                     "{\"id\":4,\"name\":\"sweep-1\",\"user\":\"a\",\"state\":\"failed\","
                     "\"reason_code\":\"x\",\"reason\":\"exit 1\"},"
                     "{\"id\":5,\"name\":\"sweep-2\",\"user\":\"a\",\"state\":\"queued\","
                     "\"reason_code\":\"queued\",\"reason\":\"waits behind 1\"},"
                     "{\"id\":6,\"name\":\"sweep-3\",\"user\":\"a\",\"state\":\"queued\","
                     "\"reason_code\":\"queued\",\"reason\":\"waits behind 2\"}"
                     "],\"next\":null}");
}

static void serve_array(struct http_request *request, void *userdata)
{
    note(request, *(int *)userdata);
    if (streq(http_request_param(request, "array"), "sweep"))
        serve_json(request, 202, "{\"array\":\"sweep\",\"jobs\":2}");
    else
        serve_json(request, 404, "{\"status\":404,\"detail\":\"there is no array\"}");
}

static void serve_node(struct http_request *request, void *userdata)
{
    note(request, *(int *)userdata);
    serve_plan(request, "waits");
}

/* Words that were made to lie to whoever reads them. */
#define FORGED "\\u001b[31mred\\nnode n1: FORGED\\u009b"

static void serve_why(struct http_request *request, void *userdata)
{
    (void)userdata;
    if (streq(http_request_param(request, "job"), "none"))
        serve_json(request, 404, "{\"status\":404,\"detail\":\"no " FORGED "\"}");
    else if (streq(http_request_param(request, "job"), "fixed"))
        serve_json(request, 200,
                   "{\"state\":\"running\",\"waits_for\":{\"process\":\"trainer-0\",\"text\":\"2 "
                   "processes seem to wait for trainer-0\"}}");
    else
        serve_json(request, 200,
                   "{\"state\":\"killed\",\"code\":\"killed\",\"reason\":\"" FORGED "\","
                   "\"needs\":{\"role\":\"x\"},\"nodes\":[{\"node\":\"n1\",\"note\":\"" FORGED
                   "\"}],"
                   "\"others\":{\"" FORGED "\":1}}");
}

static void serve_events(struct http_request *request, void *userdata)
{
    const char *after = http_request_query(request, "after");

    (void)userdata;
    if (after != NULL && streq(after, "90")) {
        serve_json(request, 200,
                   "{\"events\":[{\"revision\":91,\"time_us\":1000000,\"event\":\"job-killed\","
                   "\"node\":null,\"text\":\"" FORGED "\",\"job_id\":1}],"
                   "\"oldest\":5,\"newest\":91}");
        return;
    }
    serve_json(request, 200,
               http_request_query(request, "after") == NULL
                   ? "{\"events\":[{\"revision\":5,\"time_us\":1000000,\"event\":\"node-joined\","
                     "\"node\":\"n1\",\"text\":\"comes in\",\"job_id\":null}],"
                     "\"oldest\":5,\"newest\":5}"
                   : "{\"events\":[],\"oldest\":5,\"newest\":5}");
}

static void serve_cluster(struct http_request *request, void *userdata)
{
    (void)userdata;
    n_cluster_calls++;
    serve_json(request, 200,
               n_cluster_calls == 1
                   ? "{\"submitted_jobs\":1,\"pending_jobs\":0,\"utilisation\":0.5,\"jobs\":"
                     "[{\"name\":\"example\",\"running_trainers\":2}]}"
                   : "{\"submitted_jobs\":0,\"pending_jobs\":0,\"utilisation\":0,\"jobs\":[]}");
}

/* in two pages */
static void serve_nodes(struct http_request *request, void *userdata)
{
    const char *cursor = http_request_query(request, "cursor");

    (void)userdata;
    if (cursor != NULL && streq(cursor, "n1"))
        serve_json(request, 200,
                   "{\"nodes\":[{\"name\":\"n2\",\"state\":\"draining\",\"labels\":{},"
                   "\"reason\":\"waits for room elsewhere: job-a\"}],\"next\":null}");
    else
        serve_json(request, 200,
                   "{\"nodes\":[{\"name\":\"n1\",\"state\":\"ready\",\"address\":\"10.0.0.7\","
                   "\"cpu_millicores\":4000,\"cpu_granted_millicores\":1500,"
                   "\"memory_bytes\":1073741824,\"memory_granted_bytes\":0,\"gpus\":4,"
                   "\"gpus_granted\":3,\"foreign_cpu_millicores\":100,\"processes\":2,"
                   "\"last_report_us\":0,\"labels\":{\"gpu\":\"a100\",\"rack\":\"\"}}],"
                   "\"next\":\"n1\"}");
}

static void serve_one_node(struct http_request *request, void *userdata)
{
    (void)userdata;
    serve_json(request, 200,
               "{\"name\":\"n1\",\"state\":\"ready\",\"address\":\"10.0.0.7\","
               "\"machine\":{\"load_milli\":[80,1500,12340],\"memory_available_bytes\":1048576,"
               "\"pressure\":{\"cpu\":{\"some_ppm\":123400},\"io\":{\"some_ppm\":500}},"
               "\"disks\":[{\"name\":\"state\",\"free_bytes\":1024,\"size_bytes\":4096}],"
               "\"nics\":[{\"name\":\"eno1\",\"received_bytes\":2048,\"sent_bytes\":5,"
               "\"speed_mbit_per_s\":1000},{\"name\":\"ib0\",\"received_bytes\":0,"
               "\"sent_bytes\":0}]}}");
}

static void serve_services(struct http_request *request, void *userdata)
{
    (void)userdata;
    serve_json(request, 200,
               "{\"services\":[{\"service\":\"search\",\"job_id\":1,\"user\":\"ann\",\"serving\":2,"
               "\"want\":3},{\"service\":\"distill.teacher\",\"job_id\":2,\"user\":\"bob\","
               "\"serving\":0,\"want\":12}]}");
}

static void serve_one_service(struct http_request *request, void *userdata)
{
    note(request, *(int *)userdata);
    serve_json(request, 200,
               "{\"service\":\"a.b\",\"job_id\":1,\"version\":7,\"processes\":[{\"role\":\"b\","
               "\"index\":0,\"incarnation\":1,\"node\":\"n1\",\"address\":\"10.0.0.7\",\"ports\":"
               "[20000,20001],\"started_us\":0},{\"role\":\"b\",\"index\":11,\"incarnation\":4,"
               "\"node\":\"n2\",\"address\":\"10.0.0.8\",\"ports\":[],\"started_us\":0}]}");
}

/* Not in order, as after a restart; trainer-1 is not there yet, and only one has GPUs. */
static void serve_processes(struct http_request *request, void *userdata)
{
    note(request, *(int *)userdata);
    serve_json(request, 200,
               "{\"processes\":["
               "{\"role\":\"trainer\",\"index\":10,\"incarnation\":3,\"node\":\"n2\",\"address\":"
               "\"10.0.0.8\",\"ports\":[20000],\"gpus\":[0,3],\"state\":\"running\"},"
               "{\"role\":\"trainer\",\"index\":2,\"incarnation\":9,\"node\":\"n2\",\"address\":"
               "\"10.0.0.8\",\"ports\":[20001,20002],\"gpus\":[],\"state\":\"running\"},"
               "{\"role\":\"pserver\",\"index\":0,\"incarnation\":1,\"node\":\"n1\",\"address\":"
               "\"10.0.0.7\",\"ports\":[],\"gpus\":[],\"state\":\"running\"},"
               "{\"role\":\"trainer\",\"index\":1,\"incarnation\":4,\"node\":\"n1\",\"address\":"
               "\"10.0.0.7\",\"ports\":[20000],\"gpus\":[],\"state\":\"preparing\"}]}");
}

static void serve_logs(struct http_request *request, void *userdata)
{
    bool first = http_request_query(request, "after") == NULL;

    note(request, *(int *)userdata);
    serve_json(request, 200,
               first ? "{\"entries\":[{\"role\":\"trainer\",\"index\":0,\"incarnation\":1,\"text\":"
                       "\"hel\"}],"
                       "\"cursor\":\"7\",\"end\":false}"
                     : "{\"entries\":[{\"role\":\"trainer\",\"index\":0,\"incarnation\":1,\"text\":"
                       "\"lo\\n\"}],"
                       "\"cursor\":\"9\",\"end\":true}");
}

static const struct http_route routes[] = {
    { .method = "POST",
      .path = "/jobs",
      .handler = serve_submit,
      .max_body_bytes = 1 << 20,
      .query = "dry_run" },
    { .method = "GET", .path = "/jobs", .handler = serve_jobs, .query = "state array cursor" },
    { .method = "DELETE",
      .path = "/arrays/{array}",
      .handler = serve_array,
      .max_body_bytes = 4096 },
    { .method = "GET", .path = "/jobs/{job}", .handler = serve_job },
    { .method = "DELETE", .path = "/jobs/{job}", .handler = serve_job, .max_body_bytes = 4096 },
    { .method = "PATCH",
      .path = "/jobs/{job}",
      .handler = serve_job,
      .max_body_bytes = 4096,
      .query = "dry_run" },
    { .method = "GET", .path = "/jobs/{job}/why", .handler = serve_why },
    { .method = "GET",
      .path = "/jobs/{job}/processes",
      .handler = serve_processes,
      .query = "state" },
    { .method = "GET",
      .path = "/jobs/{job}/logs",
      .handler = serve_logs,
      .query = "role index after follow wait" },
    { .method = "PATCH",
      .path = "/nodes/{node}",
      .handler = serve_node,
      .max_body_bytes = 4096,
      .query = "dry_run" },
    { .method = "GET", .path = "/nodes/{node}", .handler = serve_one_node },
    { .method = "GET", .path = "/events", .handler = serve_events, .query = "after limit wait" },
    { .method = "GET", .path = "/cluster", .handler = serve_cluster },
    { .method = "GET", .path = "/nodes", .handler = serve_nodes, .query = "limit cursor" },
    { .method = "GET", .path = "/services", .handler = serve_services },
    { .method = "GET", .path = "/services/{name}", .handler = serve_one_service },
};

static _Noreturn void serve(int listen_fd, int asked_fd)
{
    sd_event *event = NULL;
    struct http_server *server = NULL;
    struct http_server_config config = { .listen_fd = listen_fd,
                                         .routes = routes,
                                         .n_routes = ELEMENTS(routes),
                                         .userdata = &asked_fd };

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (sd_event_new(&event) < 0 || http_server_new(event, &config, &server, NULL) < 0)
        _exit(1);
    (void)sd_event_loop(event);
    _exit(0);
}

static int set_up(void **state)
{
    struct fixture *fixture = xcalloc(1, sizeof(*fixture));
    struct edl_error error = { 0 };
    uint16_t port = 0;
    int asked[2];
    int listen_fd = http_listen_tcp("127.0.0.1", 0, &port, &error);

    assert_true(listen_fd >= 0);
    assert_int_equal(pipe2(asked, O_CLOEXEC | O_NONBLOCK), 0);
    fixture->folder = make_folder();
    fixture->server = fork();
    if (fixture->server == 0)
        serve(listen_fd, asked[1]);
    (void)safe_close(listen_fd);
    (void)safe_close(asked[1]);
    fixture->asked_fd = asked[0];

    _cleanup_free_ char *base = text_format("127.0.0.1:%u", port);

    assert_int_equal(setenv("EDL_SERVER", base, 1), 0);
    assert_int_equal(setenv("EDL_TOKEN", "secret", 1), 0);
    assert_int_equal(setenv("XDG_RUNTIME_DIR", fixture->folder, 1), 0);
    (void)unsetenv("EDL_TOKEN_FILE");
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    (void)kill(fixture->server, SIGKILL);
    (void)waitpid(fixture->server, NULL, 0);
    (void)dev_state_remove_tree(fixture->folder);
    fixture->asked_fd = safe_close(fixture->asked_fd);
    free(fixture->folder);
    free(fixture);
    return 0;
}

static char *read_all(const char *path)
{
    char *text = xcalloc(1, 8192);
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_true(read(fd, text, 8191) >= 0);
    return text;
}

/* Runs `edl ...`; out and err (owned by the caller) may be NULL. */
static int edl(const struct fixture *fixture, char **out, char **err, const char *const *argv)
{
    _cleanup_free_ char *out_path = text_format("%s/out", fixture->folder);
    _cleanup_free_ char *err_path = text_format("%s/err", fixture->folder);
    int status = -1;
    int argc = 0;

    while (argv[argc] != NULL)
        argc++;
    (void)fflush(NULL);
    pid_t pid = fork();

    if (pid == 0) {
        (void)alarm(120);
        if (freopen(out_path, "w", stdout) == NULL || freopen(err_path, "w", stderr) == NULL)
            _exit(99);
        status = verb_main(argc, (char **)argv);
        (void)fflush(NULL);
        _exit(status);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (out != NULL)
        *out = read_all(out_path);
    if (err != NULL)
        *err = read_all(err_path);
    return WEXITSTATUS(status);
}

#define EDL(out, err, ...) edl(fixture, out, err, (const char *const[]){ "edl", __VA_ARGS__, NULL })

static char *asked(const struct fixture *fixture)
{
    char *text = xcalloc(1, 8192);

    (void)!read(fixture->asked_fd, text, 8191);
    return text;
}

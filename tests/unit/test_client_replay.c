/* SPDX-License-Identifier: Apache-2.0 */
/* test_client_replay.c - `edl replay` against a small server of our own, which tells a record page
 * by page, forgets events while they are read, or has no nodes */
#include <stdint.h>

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "client/json_read.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

/* What the server does. */
enum mode { WHOLE, COMPACTS, NO_NODES, NO_EVENTS };

static void serve_text(struct http_request *request, unsigned status, const char *text)
{
    json_t *json = json_loads(text, 0, NULL);

    assert_non_null(json);
    http_reply_json(request, status, json);
}

#define ROLES                                                                                      \
    "\"roles\":[{\"role\":\"pserver\",\"min\":2,\"max\":2},"                                       \
    "{\"role\":\"trainer\",\"min\":1,\"max\":3}]"

/* two pages; the second job was forgotten since */
static void serve_jobs(struct http_request *request, void *userdata)
{
    (void)userdata;
    if (http_request_query(request, "cursor") == NULL)
        serve_text(
            request, 200,
            "{\"jobs\":[{\"id\":1,\"name\":\"a-1\",\"user\":\"ann\",\"submitted_us\":1000000,"
            "\"resizes\":1," ROLES "}],\"next\":\"1\"}");
    else
        serve_text(request, 200,
                   "{\"jobs\":[{\"id\":2,\"name\":\"old\",\"user\":\"bob\",\"submitted_us\":5,"
                   "\"resizes\":0," ROLES "}],\"next\":null}");
}

static void serve_job(struct http_request *request, void *userdata)
{
    (void)userdata;
    if (!streq(http_request_param(request, "job"), "1"))
        serve_text(request, 404, "{\"status\":404,\"detail\":\"there is no job\"}");
    else
        serve_text(request, 200,
                   "{\"id\":1," ROLES ",\"spec\":{\"roles\":["
                   "{\"role\":\"pserver\",\"cpu\":\"200m\",\"memory\":1048576,\"gpus\":0},"
                   "{\"role\":\"trainer\",\"cpu\":\"500m\",\"memory\":1048576,\"gpus\":1}]}}");
}

#define EVENT(revision, seconds, event, text)                                                      \
    "{\"revision\":" #revision ",\"time_us\":" #seconds "000000,\"event\":\"" event                \
    "\",\"node\":\"n\",\"text\":\"" text "\",\"job_id\":1}"

static void serve_events(struct http_request *request, void *userdata)
{
    const char *after = http_request_query(request, "after");
    enum mode mode = *(const enum mode *)userdata;

    if (mode == NO_EVENTS)
        serve_text(request, 200, "{\"events\":[],\"oldest\":1,\"newest\":0}");
    else if (after == NULL)
        serve_text(request, 200,
                   "{\"events\":[" EVENT(7, 1, "job-queued", "a-1 was submitted") "," EVENT(
                       8, 2, "process-running",
                       "pserver-0") "," EVENT(9, 2, "process-running",
                                              "pserver-1") "],\"oldest\":7,\"newest\":13}");
    else if (mode == COMPACTS)
        serve_text(request, 410,
                   "{\"status\":410,\"detail\":\"compacted\",\"after\":11,\"remedy\":\"anew\"}");
    else if (streq(after, "9"))
        serve_text(request, 200,
                   "{\"events\":[" EVENT(10, 2, "process-running", "trainer-0") "," EVENT(
                       11, 2, "job-running", "") "],\"oldest\":7,\"newest\":13}");
    else
        serve_text(request, 200,
                   "{\"events\":[" EVENT(12, 12, "process-exited", "trainer-0") "," EVENT(
                       13, 12, "job-succeeded", "") "],\"oldest\":7,\"newest\":13}");
}

/* The median request is 500m, 1 MiB and a GPU: 3 and 6 fit, and of the node that drains nothing is
 * taken. */
static void serve_nodes(struct http_request *request, void *userdata)
{
    if (*(const enum mode *)userdata == NO_NODES)
        serve_text(request, 200, "{\"nodes\":[],\"next\":null}");
    else
        serve_text(
            request, 200,
            "{\"nodes\":["
            "{\"name\":\"a\",\"state\":\"ready\",\"cpu_millicores\":4000,\"memory_bytes\":8388608,"
            "\"gpus\":3,\"last_report_us\":20000000},"
            "{\"name\":\"b\",\"state\":\"ready\",\"cpu_millicores\":3000,\"memory_bytes\":8388608,"
            "\"gpus\":8,\"last_report_us\":20000000},"
            "{\"name\":\"c\",\"state\":\"draining\",\"cpu_millicores\":64000,\"memory_bytes\":"
            "83886080,\"gpus\":64,\"last_report_us\":20000000}],\"next\":null}");
}

static void serve_cluster(struct http_request *request, void *userdata)
{
    (void)userdata;
    serve_text(request, 200, "{\"policy\":\"goodput\",\"max_load\":0.9}");
}

static const struct http_route routes[] = {
    { .method = "GET", .path = "/cluster", .handler = serve_cluster },
    { .method = "GET", .path = "/jobs", .handler = serve_jobs, .query = "state cursor limit" },
    { .method = "GET", .path = "/jobs/{job}", .handler = serve_job },
    { .method = "GET", .path = "/events", .handler = serve_events, .query = "after limit wait" },
    { .method = "GET", .path = "/nodes", .handler = serve_nodes, .query = "limit cursor" },
};

static _Noreturn void serve(int listen_fd, enum mode mode)
{
    struct http_server_config config = {
        .listen_fd = listen_fd, .routes = routes, .n_routes = ELEMENTS(routes), .userdata = &mode
    };
    struct http_server *server = NULL;
    sd_event *event = NULL;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (sd_event_new(&event) < 0 || http_server_new(event, &config, &server, NULL) < 0)
        _exit(1);
    (void)sd_event_loop(event);
    _exit(0);
}

static char *read_back(FILE *file)
{
    size_t room = 64 * 1024;
    char *text = xcalloc(1, room);

    rewind(file);
    text[fread(text, 1, room - 1, file)] = '\0';
    return text;
}

/* edl - `edl ...` with a server of that mode; out (owned by the caller) has what it printed */
static int edl(enum mode mode, char **ret_out, const char *const *argv)
{
    struct edl_error error = { 0 };
    uint16_t port = 0;
    int listen_fd = http_listen_tcp("127.0.0.1", 0, &port, &error), status, argc = 0;
    _cleanup_free_ char *base = text_format("127.0.0.1:%u", port);
    _cleanup_fclose_ FILE *out = tmpfile();
    pid_t server, pid;

    assert_true(listen_fd >= 0 && out != NULL);
    while (argv[argc] != NULL)
        argc++;
    (void)fflush(NULL);
    server = fork();
    if (server == 0)
        serve(listen_fd, mode);
    (void)safe_close(listen_fd);
    pid = fork();
    if (pid == 0) {
        (void)alarm(120);
        if (setenv("EDL_SERVER", base, 1) < 0 || setenv("EDL_TOKEN", "secret", 1) < 0 ||
            unsetenv("EDL_TOKEN_FILE") < 0 || dup2(fileno(out), STDOUT_FILENO) < 0 ||
            dup2(fileno(out), STDERR_FILENO) < 0)
            _exit(99);
        status = verb_main(argc, (char **)(uintptr_t)argv);
        (void)fflush(NULL);
        _exit(status);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    (void)kill(server, SIGKILL);
    (void)waitpid(server, NULL, 0);
    *ret_out = read_back(out);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

#define EDL(mode, out, ...) edl(mode, out, (const char *const[]){ "edl", __VA_ARGS__, NULL })

static void expect(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("no \"%s\" in: %s", part, text);
}

static void expect_number(const json_t *object, const char *name, double expected)
{
    double value = json_number_value(json_object_get(object, name));

    if (!(fabs(value - expected) < 1e-6))
        fail_msg("%s is %g instead of %g", name, value, expected);
}

TEST(test_pages_and_places)
{
    _cleanup_free_ char *out = NULL;
    _cleanup_json_ json_t *json = NULL;
    const json_t *level, *recorded, *record;

    assert_int_equal(EDL(WHOLE, &out, "replay", "--json", "--policy", "fulfilment"), STATUS_OK);
    json = json_loads(out, 0, NULL);
    assert_non_null(json);
    expect_number(json, "nodes", 2);
    expect_number(json, "places_per_node", 4); /* 3 and 6, without the rest */
    record = json_object_get(json, "record");
    expect_number(record, "jobs", 1);
    expect_number(record, "end_us", 20e6);
    expect_number(record, "left_out_unseen", 1);
    expect_number(record, "bounds_guessed", 0);
    expect_number(record, "peak_instances", 3);
    expect_number(record, "max_load", 0.9);
    assert_string_equal(json_text(record, "policy"), "goodput");
    level = json_array_get(json_object_get(json, "levels"), 0);
    recorded = json_array_get(json_object_get(level, "policies"), 0);
    assert_string_equal(json_text(recorded, "policy"), "recorded");
    expect_number(json_object_get(recorded, "mean"), "completion_avg_s", 11);
    expect_number(json_object_get(recorded, "mean"), "waiting_avg_s", 1);
}

TEST(test_compacted_meanwhile)
{
    _cleanup_free_ char *out = NULL;

    assert_int_equal(EDL(COMPACTS, &out, "replay"), STATUS_FAILED);
    expect(out, "the events behind 9 were compacted while they were read");
    expect(out, "try: once more; --keep-events of edl-scheduler(8)");
}

TEST(test_nothing_to_replay)
{
    _cleanup_free_ char *none = NULL, *nodes = NULL, *given = NULL;

    assert_int_equal(EDL(NO_EVENTS, &none, "replay"), STATUS_BAD_INPUT);
    expect(none, "no job of the record can be replayed");
    assert_int_equal(EDL(NO_NODES, &nodes, "replay"), STATUS_BAD_INPUT);
    expect(nodes, "how many instances fit cannot be told");
    expect(nodes, "try: --nodes NODESxINSTANCES");
    assert_int_equal(EDL(NO_NODES, &given, "replay", "--nodes", "1x5"), STATUS_OK);
    expect(given, "record of 1 job,");
    expect(given, "the policy goodput, which lets jobs grow until 90 % of the cores are granted");
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_client_verbs.c - whole verbs of the command `edl` against a small server of our own
 *
 * The server runs in a forked child (verbs block); it answers from a table and notes what it was
 * asked in a pipe. stdout and stderr of a verb go to files in a temporary folder. */
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
        serve_json(request, 200, "{\"id\":1,\"name\":\"example\",\"state\":\"succeeded\"}");
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
        (void)alarm(30);
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

static void test_help_names_every_verb_and_option(void **state)
{
    const struct fixture *fixture = *state;
    _cleanup_free_ char *out = NULL;
    _cleanup_free_ char *of_verb = NULL;

    assert_int_equal(EDL(&out, NULL, "--help"), STATUS_OK);
    assert_non_null(strstr(out, "submit"));
    assert_int_equal(EDL(&of_verb, NULL, "help", "top"), STATUS_OK);
    assert_non_null(strstr(of_verb, "--until-idle             end when"));
    assert_non_null(strstr(of_verb, "--server URL"));
}

static void test_unknown_verb_names_the_nearest(void **state)
{
    const struct fixture *fixture = *state;
    _cleanup_free_ char *err = NULL;

    assert_int_equal(EDL(NULL, &err, "sumbit"), STATUS_BAD_INPUT);
    assert_non_null(strstr(err, "try: edl submit"));
    assert_int_equal(EDL(NULL, NULL, "show"), STATUS_BAD_INPUT);
    assert_int_equal(EDL(NULL, NULL, "show", "a", "b"), STATUS_BAD_INPUT);
}

static void test_submit_sends_the_document_as_it_is(void **state)
{
    const struct fixture *fixture = *state;
    _cleanup_free_ char *path = text_format("%s/job.yaml", fixture->folder);
    _cleanup_free_ char *out = NULL;
    _cleanup_free_ char *err = NULL;
    FILE *file = fopen(path, "we");

    (void)fputs("metadata: {name: example}", file);
    (void)fclose(file);
    assert_int_equal(EDL(&out, &err, "submit", path), STATUS_OK);
    assert_string_equal(out, "job example (1) queued\n");
    assert_string_equal(err, "note: /spec/image is ignored\n");

    _cleanup_free_ char *seen = asked(fixture);

    assert_string_equal(seen, "POST /jobs Bearer secret metadata: {name: example}\n");
}

static void test_submit_refused_prints_every_pointer(void **state)
{
    const struct fixture *fixture = *state;
    _cleanup_free_ char *err = NULL;

    assert_int_equal(EDL(NULL, &err, "submit", "--name", "bad", "--", "true"), STATUS_BAD_INPUT);
    assert_string_equal(err, "edl: not valid\n  /spec/trainer/min-instance: is 0\n  /spec/x: is "
                             "unknown\ntry: make it 1\n");
    free(TAKE_PTR(err));
    assert_int_equal(EDL(NULL, &err, "submit", "--name", "once", "--", "true"), STATUS_FAILED);
    assert_string_equal(err, "edl: taken\n  /name\n");
}

static void test_submit_follow_exits_as_the_job_ends(void **state)
{
    const struct fixture *fixture = *state;
    _cleanup_free_ char *out = NULL;

    assert_int_equal(EDL(&out, NULL, "submit", "-f", "--", "true"), STATUS_OK);
    assert_string_equal(out,
                        "job example (1) queued\n[trainer-0] hello\njob example (1) succeeded\n");
}

static void assert_one_line_each(const char *text, int lines)
{
    int n = 0;

    for (const char *c = text; *c != '\0'; c++) {
        assert_true((unsigned char)*c >= ' ' || *c == '\n');
        n += *c == '\n';
    }
    assert_null(strstr(text, "\302\233"));
    assert_int_equal(n, lines);
}

static void test_no_verb_prints_control_characters(void **state)
{
    const struct fixture *fixture = *state;
    _cleanup_free_ char *why = NULL;
    _cleanup_free_ char *none = NULL;
    _cleanup_free_ char *events = NULL;
    _cleanup_free_ char *json = NULL;

    assert_int_equal(EDL(&why, NULL, "why", "example"), STATUS_OK);
    assert_one_line_each(why, 6);
    assert_non_null(strstr(why, ": ?[31mred?node n1: FORGED?? [killed]\n"));
    assert_int_equal(EDL(NULL, &none, "why", "none"), STATUS_FAILED);
    assert_one_line_each(none, 1);
    assert_int_equal(EDL(&events, NULL, "events", "--after", "90"), STATUS_OK);
    assert_one_line_each(events, 1);
    /* as the server gave it: escaped by its form */
    assert_int_equal(EDL(&json, NULL, "why", "example", "--json"), STATUS_OK);
    assert_non_null(strstr(json, "\\u001B[31mred\\nnode"));
}

static void test_submit_wrong_use(void **state)
{
    const struct fixture *fixture = *state;

    assert_int_equal(EDL(NULL, NULL, "submit"), STATUS_BAD_INPUT);
    assert_int_equal(EDL(NULL, NULL, "submit", "--min", "2", "/dev/null"), STATUS_BAD_INPUT);
    assert_int_equal(EDL(NULL, NULL, "submit", "/nonexistent/job.yaml"), STATUS_BAD_INPUT);
}

static void write_file(const char *path, const char *text, mode_t mode)
{
    _cleanup_fclose_ FILE *file = fopen(path, "we");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fchmod(fileno(file), mode), 0);
}

/* A command without its "--": what is typed instead is in the remedy. */
static void test_submit_of_a_program_tells_how(void **state)
{
    const struct fixture *fixture = *state;
    _cleanup_free_ char *script = text_format("%s/run.sh", fixture->folder);
    _cleanup_free_ char *module = text_format("%s/train.py", fixture->folder);
    _cleanup_free_ char *document = text_format("%s/job.yaml", fixture->folder);
    _cleanup_free_ char *wanted = NULL;
    _cleanup_free_ char *err = NULL;

    write_file(script, "#!/bin/sh\nexit 0\n", 0755);
    write_file(module, "import sys\n", 0644);
    write_file(document, "metadata: {name: example}\n", 0755);
    wanted = text_format("edl: %s is a program and no document\ntry: edl submit -- %s\n", script,
                         script);
    assert_int_equal(EDL(NULL, &err, "submit", script), STATUS_BAD_INPUT);
    assert_string_equal(err, wanted);
    free(TAKE_PTR(err));
    assert_int_equal(EDL(NULL, &err, "plan", module), STATUS_BAD_INPUT);
    free(TAKE_PTR(wanted));
    wanted = text_format("try: edl plan -- python3 %s\n", module);
    assert_non_null(strstr(err, wanted));
    free(TAKE_PTR(err));
    assert_int_equal(EDL(NULL, &err, "submit", "sleep", "30"), STATUS_BAD_INPUT);
    assert_non_null(strstr(err, "try: edl submit -- sleep 30\n"));
    free(TAKE_PTR(err));
    assert_int_equal(EDL(NULL, &err, "submit", module, "--epochs", "3"), STATUS_BAD_INPUT);
    assert_non_null(strstr(err, "there is no option --epochs"));
    assert_non_null(strstr(err, "go behind --"));
    free(TAKE_PTR(err));
    assert_int_equal(EDL(NULL, &err, "submit", document, "--folow"), STATUS_BAD_INPUT);
    assert_non_null(strstr(err, "try: --follow\n"));
    assert_int_equal(EDL(NULL, NULL, "submit", document), STATUS_OK);
}

static void test_submit_of_nothing_is_refused(void **state)
{
    static const char *const options[] = { "--min", "--max", "--cpu", "--memory", "--passes" };
    const struct fixture *fixture = *state;

    for (size_t i = 0; i < ELEMENTS(options); i++) {
        _cleanup_free_ char *err = NULL;

        assert_int_equal(EDL(NULL, &err, "submit", options[i], "0", "--", "true"),
                         STATUS_BAD_INPUT);
        assert_non_null(strstr(err, options[i]));
        assert_non_null(strstr(err, "\ntry: "));
    }
}

static void test_wait_tells_the_outcome(void **state)
{
    const struct fixture *fixture = *state;
    _cleanup_free_ char *out = NULL;

    assert_int_equal(EDL(NULL, NULL, "wait", "example"), STATUS_OK);
    assert_int_equal(EDL(&out, NULL, "wait", "broken"), STATUS_FAILED);
    assert_string_equal(out, "job broken (2) failed: exit 1\n");
    assert_int_equal(EDL(NULL, NULL, "wait", "none"), STATUS_FAILED);
}

/* The newest array of that name, in each verb that takes a job. */
static void test_array_by_its_name(void **state)
{
    const struct fixture *fixture = *state;
    _cleanup_free_ char *out = NULL;

    assert_int_equal(EDL(&out, NULL, "show", "sweep"), STATUS_OK);
    assert_string_equal(out, "array sweep: 4 jobs (3 to 6): 2 queued, 1 succeeded, 1 failed\n"
                             "1 job succeeded (sweep-0)\n"
                             "1 job failed (sweep-1): exit 1\n"
                             "2 jobs queued (sweep-2 to sweep-3): waits behind 1\n");
    free(TAKE_PTR(out));
    assert_int_equal(EDL(&out, NULL, "wait", "sweep"), STATUS_FAILED);
    assert_string_equal(out, "array sweep: 4 jobs (3 to 1): 3 succeeded, 1 failed\n"
                             "1 job failed (sweep-1): exit 1\n"); /* the server calls each 1 */
    free(TAKE_PTR(out));
    assert_int_equal(EDL(&out, NULL, "logs", "sweep"), STATUS_OK);
    assert_non_null(strstr(out, "[sweep-0 trainer-0] hel"));
    assert_non_null(strstr(out, "[sweep-3 trainer-0] hel"));
    free(TAKE_PTR(out));
    assert_int_equal(EDL(&out, NULL, "why", "sweep"), STATUS_OK);
    assert_non_null(strstr(out, "1 job failed (sweep-1): exit 1\n"));
    assert_non_null(strstr(out, "2 jobs queued (sweep-2 to sweep-3): "));
    free(TAKE_PTR(out));
    assert_int_equal(EDL(&out, NULL, "kill", "sweep"), STATUS_OK);
    assert_string_equal(out, "array sweep: 2 jobs are being stopped\n");
}

static void test_kill_goes_on_after_a_refusal(void **state)
{
    const struct fixture *fixture = *state;

    assert_int_equal(EDL(NULL, NULL, "kill", "none", "example", "--reason", "why not"),
                     STATUS_FAILED);

    _cleanup_free_ char *seen = asked(fixture);

    assert_non_null(strstr(seen, "DELETE /jobs/none "));
    assert_non_null(strstr(seen, "DELETE /jobs/example Bearer secret {\"reason\":\"why not\"}"));
}

static void test_scale_sends_bounds(void **state)
{
    const struct fixture *fixture = *state;

    assert_int_equal(EDL(NULL, NULL, "scale", "example", "2:6"), STATUS_OK);

    _cleanup_free_ char *seen = asked(fixture);

    assert_non_null(strstr(seen, "PATCH /jobs/example "));
    assert_non_null(strstr(seen, "{\"role\":\"trainer\",\"min\":2,\"max\":6}"));
    assert_int_equal(EDL(NULL, NULL, "scale", "example", "6:2"), STATUS_BAD_INPUT);
}

static void test_events_from_the_oldest_and_from_a_revision(void **state)
{
    const struct fixture *fixture = *state;
    _cleanup_free_ char *out = NULL;

    assert_int_equal(EDL(&out, NULL, "events"), STATUS_OK);
    assert_int_equal(strncmp(out, "5  1970-01-01 ", 14), 0);
    assert_non_null(strstr(out, "  node-joined  node n1  comes in\n"));
    free(TAKE_PTR(out));
    assert_int_equal(EDL(&out, NULL, "events", "--after", "5", "--json"), STATUS_OK);
    assert_string_equal(out, "");
    assert_int_equal(EDL(NULL, NULL, "events", "--after", "x"), STATUS_BAD_INPUT);
}

static void test_plan_tells_what_would_happen(void **state)
{
    const struct fixture *fixture = *state;
    _cleanup_free_ char *out = NULL;
    _cleanup_free_ char *err = NULL;

    assert_int_equal(EDL(&out, &err, "plan", "--name", "b", "--", "true"), STATUS_OK);
    assert_string_equal(
        out, "would start in about 1s (at most 30s) on n1 (2), n2 (1): job a gives up 1 of 3 "
             "trainers\n"
             "then from 3 to 5 trainers\n\n"
             "JOB  ROLE     NOW  THEN  LATER  STOPS\n"
             "a    trainer    3     2      2  trainer-2 on n1\n\n"
             "cost: 1 process stops, 7s of work on tasks is done again, 1 resize of other jobs\n"
             "utilisation: 90.0%, then 100.0%\n");
    assert_string_equal(err, "note: /spec/image is ignored\n");

    _cleanup_free_ char *seen = asked(fixture);

    assert_non_null(strstr(seen, "POST /jobs Bearer secret {"));
    assert_non_null(strstr(seen, "\"name\":\"b\""));
}

static void test_plan_exits_with_the_verdict(void **state)
{
    const struct fixture *fixture = *state;
    _cleanup_free_ char *out = NULL;

    assert_int_equal(EDL(&out, NULL, "plan", "--name", "never", "--", "true"), STATUS_NEVER);
    assert_string_equal(out, "would never start: too large\n");
    free(out);
    assert_int_equal(EDL(&out, NULL, "plan", "--drain", "n1"), STATUS_WAITS);
    assert_non_null(strstr(out, "node n1 would wait to be empty: full\n"));

    _cleanup_free_ char *seen = asked(fixture);

    assert_non_null(strstr(seen, "PATCH /nodes/n1 Bearer secret {\"state\":\"draining\"}"));
}

static void test_plan_wrong_use(void **state)
{
    const struct fixture *fixture = *state;

    assert_int_equal(EDL(NULL, NULL, "plan"), STATUS_BAD_INPUT);
    assert_int_equal(EDL(NULL, NULL, "plan", "a", "b"), STATUS_BAD_INPUT);
    assert_int_equal(EDL(NULL, NULL, "plan", "--min", "2", "a"), STATUS_BAD_INPUT);
    assert_int_equal(EDL(NULL, NULL, "plan", "--drain", "n", "--scale", "j", "1"),
                     STATUS_BAD_INPUT);
    assert_int_equal(EDL(NULL, NULL, "plan", "--scale", "j"), STATUS_BAD_INPUT);
    assert_int_equal(EDL(NULL, NULL, "plan", "--scale", "j", "2:1"), STATUS_BAD_INPUT);
    assert_int_equal(EDL(NULL, NULL, "plan", "--role", "r", "--drain", "n"), STATUS_BAD_INPUT);
    assert_int_equal(EDL(NULL, NULL, "plan", "--drain", "n", "--", "true"), STATUS_BAD_INPUT);
}

static void test_top_until_idle_prints_changes_and_ends(void **state)
{
    const struct fixture *fixture = *state;
    _cleanup_free_ char *out = NULL;

    assert_int_equal(EDL(&out, NULL, "top", "--until-idle", "--interval", "100ms"), STATUS_OK);
    assert_string_equal(out, TOP_HEADER "\n1    0    example:2    50.00%\n0    0    -    0.00%\n");
}

static void test_nodes_shows_labels_and_gpus(void **state)
{
    const struct fixture *fixture = *state;
    _cleanup_free_ char *out = NULL;

    assert_int_equal(EDL(&out, NULL, "nodes"), STATUS_OK);
    assert_string_equal(
        out,
        "NODE  STATE     ADDRESS   CPU  GRANTED  FOREIGN  MEMORY  GRANTED  GPUS  PROCESSES  REPORT "
        " LABELS\n"
        "n1    ready     10.0.0.7    4      1.5      0.1     1Gi        0   3/4          2  never  "
        " gpu=a100,rack=\n"
        "n2    draining              0        0        0       0        0   0/0          0  never  "
        " -\n"
        "node n2 waits for room elsewhere: job-a\n");
}

static void test_one_node_with_its_machine(void **state)
{
    const struct fixture *fixture = *state;
    _cleanup_free_ char *out = NULL;

    assert_int_equal(EDL(&out, NULL, "nodes", "n1"), STATUS_OK);
    assert_non_null(strstr(out, "\n"
                                "\nload       0.08, 1.50, 12.34 (1, 5, 15 min)\n"
                                "available  1Mi of memory\n"
                                "pressure   cpu 12.34 %, io 0.05 %\n"
                                "\n"
                                "DISK   SIZE  FREE\n"
                                "state   4Ki   1Ki\n"
                                "\n"
                                "NETWORK  MBIT/S  RECEIVED  SENT\n"
                                "eno1       1000       2Ki     5\n"
                                "ib0           -         0     0\n"));
}

static void test_services_and_who_serves(void **state)
{
    const struct fixture *fixture = *state;
    _cleanup_free_ char *all = NULL;
    _cleanup_free_ char *one = NULL;
    _cleanup_free_ char *json = NULL;

    assert_int_equal(EDL(&all, NULL, "services"), STATUS_OK);
    assert_string_equal(all, "SERVICE          USER  SERVING  WANT\n"
                             "search           ann         2     3\n"
                             "distill.teacher  bob         0    12\n");
    assert_int_equal(EDL(&one, NULL, "services", "a.b"), STATUS_OK);
    assert_string_equal(one, "PROCESS  NODE  WHERE                          SINCE\n"
                             "b-0      n1    10.0.0.7:20000,10.0.0.7:20001  -\n"
                             "b-11     n2    10.0.0.8                       -\n");
    assert_int_equal(EDL(&json, NULL, "services", "--json", "a.b"), STATUS_OK);
    assert_non_null(strstr(json, "\"version\": 7"));

    _cleanup_free_ char *seen = asked(fixture);

    assert_non_null(strstr(seen, "GET /services/a.b "));
    assert_int_equal(EDL(NULL, NULL, "services", "a", "b"), STATUS_BAD_INPUT);
}

static void test_no_server_is_status_3(void **state)
{
    const struct fixture *fixture = *state;
    _cleanup_free_ char *err = NULL;

    assert_int_equal(EDL(NULL, &err, "ps", "--server", "http://127.0.0.1:1"), STATUS_NO_SERVER);
    assert_non_null(strstr(err, "try: "));
    (void)unsetenv("EDL_SERVER");
    assert_int_equal(EDL(NULL, NULL, "ps"), STATUS_NO_SERVER);
}

#define WITH_SERVER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SERVER(test_help_names_every_verb_and_option),
        WITH_SERVER(test_unknown_verb_names_the_nearest),
        WITH_SERVER(test_submit_sends_the_document_as_it_is),
        WITH_SERVER(test_submit_refused_prints_every_pointer),
        WITH_SERVER(test_submit_follow_exits_as_the_job_ends),
        WITH_SERVER(test_no_verb_prints_control_characters),
        WITH_SERVER(test_submit_wrong_use),
        WITH_SERVER(test_array_by_its_name),
        WITH_SERVER(test_submit_of_a_program_tells_how),
        WITH_SERVER(test_submit_of_nothing_is_refused),
        WITH_SERVER(test_wait_tells_the_outcome),
        WITH_SERVER(test_kill_goes_on_after_a_refusal),
        WITH_SERVER(test_scale_sends_bounds),
        WITH_SERVER(test_events_from_the_oldest_and_from_a_revision),
        WITH_SERVER(test_plan_tells_what_would_happen),
        WITH_SERVER(test_plan_exits_with_the_verdict),
        WITH_SERVER(test_plan_wrong_use),
        WITH_SERVER(test_top_until_idle_prints_changes_and_ends),
        WITH_SERVER(test_nodes_shows_labels_and_gpus),
        WITH_SERVER(test_one_node_with_its_machine),
        WITH_SERVER(test_services_and_who_serves),
        WITH_SERVER(test_no_server_is_status_3),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

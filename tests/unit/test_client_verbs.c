/* SPDX-License-Identifier: Apache-2.0 */
/* test_client_verbs.c - whole verbs of the command `edl` against a small server of our own
 *
 * The server runs in a forked child (verbs block); it answers from a table and notes what it was
 * asked in a pipe. stdout and stderr of a verb go to files in a temporary folder. */
#include <stdint.h>

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
#include "client/interrupt.h"
#include "client/json_read.h"
#include "client/server.h"
#include "client/text.h"
#include "client/top_line.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/macro.h"
#include "tests/unit/client_fixture.h"
#include "tests/unit/test.h"

TEST_EACH(set_up, tear_down);

TEST(test_help_names_every_verb_and_option)
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

TEST(test_unknown_verb_names_the_nearest)
{
    const struct fixture *fixture = *state;
    _cleanup_free_ char *err = NULL;

    assert_int_equal(EDL(NULL, &err, "sumbit"), STATUS_BAD_INPUT);
    assert_non_null(strstr(err, "try: edl submit"));
    assert_int_equal(EDL(NULL, NULL, "show"), STATUS_BAD_INPUT);
    assert_int_equal(EDL(NULL, NULL, "show", "a", "b"), STATUS_BAD_INPUT);
}

TEST(test_submit_sends_the_document_as_it_is)
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

TEST(test_submit_refused_prints_every_pointer)
{
    const struct fixture *fixture = *state;
    _cleanup_free_ char *err = NULL;

    assert_int_equal(EDL(NULL, &err, "submit", "--no-upload", "--name", "bad", "--", "true"),
                     STATUS_BAD_INPUT);
    assert_string_equal(err, "edl: not valid\n  /spec/trainer/min-instance: is 0\n  /spec/x: is "
                             "unknown\ntry: make it 1\n");
    free(TAKE_PTR(err));
    assert_int_equal(EDL(NULL, &err, "submit", "--no-upload", "--name", "once", "--", "true"),
                     STATUS_FAILED);
    assert_string_equal(err, "edl: taken\n  /name\n");
}

TEST(test_submit_follow_exits_as_the_job_ends)
{
    const struct fixture *fixture = *state;
    _cleanup_free_ char *out = NULL;

    assert_int_equal(EDL(&out, NULL, "submit", "--no-upload", "-f", "--", "true"), STATUS_OK);
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

TEST(test_no_verb_prints_control_characters)
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

TEST(test_why_names_who_is_waited_for)
{
    const struct fixture *fixture = *state;
    _cleanup_free_ char *out = NULL;

    assert_int_equal(EDL(&out, NULL, "why", "fixed"), STATUS_OK);
    assert_string_equal(out, "job fixed is running\n2 processes seem to wait for trainer-0\n");
}

TEST(test_submit_wrong_use)
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
TEST(test_submit_of_a_program_tells_how)
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

TEST(test_submit_of_nothing_is_refused)
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

TEST(test_memory_without_a_unit_is_refused)
{
    const struct fixture *fixture = *state;
    _cleanup_free_ char *err = NULL;

    assert_int_equal(EDL(NULL, &err, "submit", "--memory", "64", "--", "true"), STATUS_BAD_INPUT);
    assert_non_null(strstr(err, "--memory: \"64\" does not fit"));
    assert_non_null(strstr(err, "with the unit (64 is 64 bytes)"));
    free(TAKE_PTR(err));
    assert_int_equal(EDL(NULL, &err, "submit", "--memory", "4095Ki", "--", "true"),
                     STATUS_BAD_INPUT);
}

TEST(test_wait_tells_the_outcome)
{
    const struct fixture *fixture = *state;
    _cleanup_free_ char *out = NULL;

    assert_int_equal(EDL(NULL, NULL, "wait", "example"), STATUS_OK);
    assert_int_equal(EDL(NULL, NULL, "wait", "example", "--timeout", "0"), STATUS_OK);
    assert_int_equal(EDL(&out, NULL, "wait", "broken"), STATUS_FAILED);
    assert_string_equal(out, "job broken (2) failed: exit 1\n");
    assert_int_equal(EDL(NULL, NULL, "wait", "none"), STATUS_FAILED);
}

/* The newest array of that name, in each verb that takes a job. */
TEST(test_array_by_its_name)
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

TEST(test_kill_goes_on_after_a_refusal)
{
    const struct fixture *fixture = *state;

    assert_int_equal(EDL(NULL, NULL, "kill", "none", "--reason", "why not", "--", "example"),
                     STATUS_FAILED);

    _cleanup_free_ char *seen = asked(fixture);

    assert_non_null(strstr(seen, "DELETE /jobs/none "));
    assert_non_null(strstr(seen, "DELETE /jobs/example Bearer secret {\"reason\":\"why not\"}"));
}

TEST(test_scale_sends_bounds)
{
    const struct fixture *fixture = *state;

    assert_int_equal(EDL(NULL, NULL, "scale", "example", "2:6"), STATUS_OK);

    _cleanup_free_ char *seen = asked(fixture);

    assert_non_null(strstr(seen, "PATCH /jobs/example "));
    assert_non_null(strstr(seen, "{\"role\":\"trainer\",\"min\":2,\"max\":6}"));
    assert_int_equal(EDL(NULL, NULL, "scale", "example", "6:2"), STATUS_BAD_INPUT);
}

TEST(test_events_from_the_oldest_and_from_a_revision)
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

TEST(test_plan_tells_what_would_happen)
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

TEST(test_plan_exits_with_the_verdict)
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

TEST(test_plan_wrong_use)
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

TEST(test_top_until_idle_prints_changes_and_ends)
{
    const struct fixture *fixture = *state;
    _cleanup_free_ char *out = NULL;

    assert_int_equal(EDL(&out, NULL, "top", "--until-idle", "--interval", "100ms"), STATUS_OK);
    assert_string_equal(out, TOP_HEADER "\n1    0    example:2    50.00%\n0    0    -    0.00%\n");
}

TEST(test_nodes_shows_labels_and_gpus)
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

TEST(test_one_node_with_its_machine)
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

static void assert_hosts(const struct fixture *fixture, const char *expected, const char *job,
                         const char *form, const char *more)
{
    _cleanup_free_ char *out = NULL;

    assert_int_equal(EDL(&out, NULL, "hosts", job, form, more), STATUS_OK);
    assert_string_equal(out, expected);
}

TEST(test_hosts_in_the_forms_of_other_launchers)
{
    const struct fixture *fixture = *state;

    assert_hosts(fixture,
                 "HOST        NODE  ADDRESS   PORTS        SLOTS  STATE\n"
                 "pserver-0   n1    10.0.0.7  -                1  running\n"
                 "trainer-1   n1    10.0.0.7  20000            1  preparing\n"
                 "trainer-2   n2    10.0.0.8  20001,20002      1  running\n"
                 "trainer-10  n2    10.0.0.8  20000            2  running\n",
                 "example", NULL, NULL);
    assert_hosts(fixture, "trainer-2:1\ntrainer-10:2\n", "ann.b/example.trainer", "--discovery",
                 NULL);
    assert_hosts(fixture, "trainer-2 slots=1\ntrainer-10 slots=2\n", "example.trainer",
                 "--hostfile", NULL);
    assert_hosts(fixture, "10.0.0.8:3\n", "example.trainer", "--discovery", "--addresses");
    assert_hosts(fixture, "10.0.0.8\n10.0.0.8\n", "example.trainer", "--addresses", NULL);
    assert_hosts(fixture, "", "example.idle", "--discovery", NULL);

    _cleanup_free_ char *seen = asked(fixture);

    assert_non_null(strstr(seen, "GET /jobs/ann.b%2Fexample/processes Bearer secret "));
}

TEST(test_hosts_as_json)
{
    const struct fixture *fixture = *state;
    _cleanup_free_ char *out = NULL;

    assert_int_equal(EDL(&out, NULL, "hosts", "example.pserver", "--json"), STATUS_OK);

    _cleanup_json_ json_t *json = json_loads(out, 0, NULL);
    const json_t *host = json_array_get(json_object_get(json, "hosts"), 0);

    assert_int_equal(json_array_size(json_object_get(json, "hosts")), 1);
    assert_string_equal(json_text(host, "host"), "pserver-0");
    assert_int_equal(json_u64(host, "slots"), 1);
    assert_string_equal(json_text(host, "address"), "10.0.0.7");
}

TEST(test_hosts_wrong_use)
{
    const struct fixture *fixture = *state;
    _cleanup_free_ char *role = NULL;
    _cleanup_free_ char *nobody = NULL;

    (void)unsetenv("EDL_SOCKET");
    assert_int_equal(EDL(NULL, &role, "hosts", "example.trainers"), STATUS_FAILED);
    assert_string_equal(role, "edl: job example has no role \"trainers\"\ntry: edl hosts "
                              "example.trainer\n");
    assert_int_equal(EDL(NULL, &nobody, "hosts"), STATUS_BAD_INPUT);
    assert_non_null(strstr(nobody, "of which job?"));
    assert_int_equal(EDL(NULL, NULL, "hosts", "example", "--discovery", "--hostfile"),
                     STATUS_BAD_INPUT);
}

TEST(test_services_and_who_serves)
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

TEST(test_no_server_is_status_3)
{
    const struct fixture *fixture = *state;
    _cleanup_free_ char *err = NULL;

    assert_int_equal(EDL(NULL, &err, "ps", "--server", "http://127.0.0.1:1"), STATUS_NO_SERVER);
    assert_non_null(strstr(err, "try: "));
    (void)unsetenv("EDL_SERVER");
    assert_int_equal(EDL(NULL, NULL, "ps"), STATUS_NO_SERVER);
}

/* Nobody is there any more who could be asked to kill the job: the default counts again. */
TEST(test_interrupts_end_the_verb_once_its_job_is_over)
{
    static const struct common_options options = { 0 };
    int status = 0;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        struct interrupt interrupt = { 0 };
        bool killed =
            interrupt_start(&interrupt, &options, 1, "job", NULL) < 0 || interrupt_end(&interrupt);

        (void)raise(SIGINT);
        _exit(killed ? 1 : 2);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
}

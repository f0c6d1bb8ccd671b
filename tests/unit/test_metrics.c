/* SPDX-License-Identifier: Apache-2.0 */
/* test_metrics.c - the text that Prometheus reads: its grammar, and that the figures are true;
 * readiness */
#include <stdlib.h>

#include "scheduler/json/exposition.h"
#include "scheduler/scheduler.h"
#include "shared/cleanup.h"
#include "shared/process_progress.h"
#include "shared/yaml.h"
#include "tests/unit/exposition_parse.h"
#include "tests/unit/scheduler_fixture.h"
#include "tests/unit/test.h"

/* --- the reader is strict --- */

#define GAUGE "# HELP a x\n# TYPE a gauge\n"
#define HISTOGRAM "# HELP h x\n# TYPE h histogram\n"

TEST(test_reader_takes_what_is_good)
{
    struct exposition *text = exposition_parse(
        GAUGE "a{l=\"v\\\\\\\"\\n\",m=\"\"} 1.5\na 2\n" HISTOGRAM "h_bucket{le=\"0.1\"} 1\n"
              "h_bucket{le=\"+Inf\"} 2\nh_sum 3\nh_count 2\n# HELP b_total x\\n\\\\\n"
              "# TYPE b_total counter\nb_total 0\n");

    assert_string_equal(text->error, "");
    assert_int_equal(text->n_families, 3);
    assert_float_equal(*exposition_value(text, "a{l=\"v\\\\\\\"\\n\",m=\"\"}"), 1.5, 0);
    free(text);
}

TEST(test_reader_refuses_what_is_not)
{
    static const char *const bad[] = {
        "",
        "a 1\n",
        "# HELP a x\na 1\n",
        "# TYPE a gauge\na 1\n",
        GAUGE,
        GAUGE "a 1",
        GAUGE "a 1\n\n",
        GAUGE "a 1\n# a remark\n",
        GAUGE "a 1\na 1\n",
        GAUGE "a{l=\"1\"} 1\na{l=\"1\"} 2\n",
        GAUGE "a 1\n" GAUGE "a 2\n",
        GAUGE "b 1\n",
        GAUGE "a_sum 1\n",
        GAUGE "a  1\n",
        GAUGE "a x\n",
        GAUGE "a NaN\n",
        GAUGE "a 1 2 3\n",
        GAUGE "a{} 1\n",
        GAUGE "a{l=1} 1\n",
        GAUGE "a{1l=\"\"} 1\n",
        GAUGE "a{l=\"\",} 1\n",
        GAUGE "a{l=\"\",l=\"\"} 1\n",
        GAUGE "a{l=\"\\t\"} 1\n",
        GAUGE "a{l=\"\"\"} 1\n",
        "# HELP a x\\t\n# TYPE a gauge\na 1\n",
        "# HELP a_total x\n# TYPE a_total gauge\na_total 1\n",
        "# HELP a x\n# TYPE a counter\na 1\n",
        "# HELP a x\n# TYPE a thing\na 1\n",
        HISTOGRAM "h_bucket{le=\"1\"} 1\n",
        HISTOGRAM "h_bucket{le=\"1\"} 1\nh_sum 1\nh_count 1\n",
        HISTOGRAM "h_bucket{le=\"1\"} 2\nh_bucket{le=\"+Inf\"} 1\nh_sum 1\nh_count 1\n",
        HISTOGRAM "h_bucket{le=\"2\"} 1\nh_bucket{le=\"1\"} 1\n",
        HISTOGRAM "h_bucket{le=\"+Inf\"} 1\nh_sum 1\nh_count 2\n",
        HISTOGRAM "h_bucket 1\n",
        HISTOGRAM "h_sum 1\nh_count 1\n",
    };

    for (size_t i = 0; i < ELEMENTS(bad); i++) {
        struct exposition *text = exposition_parse(bad[i]);

        if (text->error[0] == '\0')
            fail_msg("taken: %s", bad[i]);
        free(text);
    }
}

/* --- the writer --- */

static struct exposition *write_one(uint64_t value, unsigned digits, const char *label)
{
    const struct exposition_label labels[] = { { "l", label } };
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    struct exposition *read;

    assert_non_null(out);
    exposition_family(out, "a", EXPOSE_GAUGE, "back\\slash, \"quotes\"\nand a line");
    exposition_sample(out, "a", labels, 1, value, digits);
    (void)fclose(out);
    read = exposition_parse(text);
    free(text);
    if (read->error[0] != '\0')
        fail_msg("%s", read->error);
    return read;
}

TEST(test_labels_are_escaped)
{
    struct exposition *read = write_one(1, SCALE_ONE, "\"} 7\nb 1\\");

    assert_int_equal(read->n_series, 1);
    assert_string_equal(read->series[0].key, "a{l=\"\\\"} 7\\nb 1\\\\\"}");
    free(read);
}

TEST(test_values_are_scaled_exactly)
{
    static const struct {
        uint64_t value;
        unsigned digits;
        double expected;
    } rows[] = {
        { 0, SCALE_MICRO, 0 },         { 1, SCALE_MICRO, 0.000001 },
        { 1500000, SCALE_MICRO, 1.5 }, { 1000100, SCALE_MICRO, 1.0001 },
        { 250, SCALE_MILLI, 0.25 },    { 1 << 20, SCALE_ONE, 1 << 20 },
        { 64000, SCALE_MILLI, 64 },    { 10, SCALE_MICRO, 0.00001 },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        struct exposition *read = write_one(rows[i].value, rows[i].digits, "");

        assert_true(read->series[0].value == rows[i].expected);
        free(read);
    }
}

/* --- a scheduler --- */

struct fixture {
    char folder[64];
    struct scheduler *scheduler;
};

static int set_up(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);
    struct scheduler_options options = { .listen = { { .address = "127.0.0.1" } },
                                         .n_listen = 1,
                                         .policy = &policy_fulfilment,
                                         .max_load_permille = 970,
                                         .lease_us = 20 * USEC_PER_SEC };
    struct edl_error error = { 0 };

    (void)snprintf(f->folder, sizeof f->folder, "/tmp/edl-test-metrics-XXXXXX");
    if (mkdtemp(f->folder) == NULL)
        return -1;
    (void)snprintf(options.state_dir, sizeof options.state_dir, "%s", f->folder);
    (void)snprintf(options.port_file, sizeof options.port_file, "%s/address", f->folder);
    if (scheduler_new(&options, &f->scheduler, &error) < 0) {
        print_error("%s\n", error.text);
        return -1;
    }
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    static const char *const files[] = { "edl.db", "admin-token", "join-token", "address" };
    struct fixture *f = *state;

    (void)scheduler_free(f->scheduler);
    for (size_t i = 0; i < ELEMENTS(files); i++) {
        char path[128];

        (void)snprintf(path, sizeof path, "%s/%s", f->folder, files[i]);
        (void)unlink(path);
    }
    (void)rmdir(f->folder);
    free(f);
    return 0;
}

TEST_EACH(set_up, tear_down);

static struct exposition *scrape(const struct fixture *f)
{
    _cleanup_free_ char *text = metrics_text(f->scheduler);
    struct exposition *read = exposition_parse(text);

    if (read->error[0] != '\0')
        fail_msg("%s", read->error);
    return read;
}

static void assert_figure(const struct exposition *read, const char *key, double expected)
{
    const double *value = exposition_value(read, key);

    if (value == NULL || *value != expected)
        fail_msg("%s is %g, not %g", key, value != NULL ? *value : -1, expected);
}

TEST(test_every_name_is_ours_and_no_label_grows)
{
    static const char *const growing[] = { "job=", "user=", "node=", "id=", "path=" };
    struct exposition *read = scrape(*state);

    for (size_t i = 0; i < read->n_series; i++) {
        const char *key = read->series[i].key;

        if (strncmp(key, "edl_", 4) != 0 && strncmp(key, "process_", 8) != 0)
            fail_msg("%s", key);
        for (size_t g = 0; g < ELEMENTS(growing); g++)
            if (strstr(key, growing[g]) != NULL)
                fail_msg("%s has a label that grows with use", key);
    }
    free(read);
}

/* report_as - a second after the last report; progress: "": of a process that told of none; NULL:
 * no process runs */
static void report_as(struct scheduler *scheduler, const char *role, const char *progress)
{
    static uint64_t now_us;
    json_t *processes =
        json_pack("[{s:i,s:s,s:i,s:i}]", "job_id", 1, "role", role, "index", 0, "incarnation", 1);

    if (progress == NULL)
        (void)json_array_clear(processes);
    else if (progress[0] != '\0')
        (void)json_object_set_new(json_array_get(processes, 0), "progress",
                                  json_loads(progress, 0, NULL));
    now_us += USEC_PER_SEC;
    progresses_take(&scheduler->progresses, "n1", processes, now_us);
    json_decref(processes);
}

static void report_pushes(struct scheduler *scheduler, const char *progress)
{
    report_as(scheduler, "pserver", progress);
}

static void assert_pushes(const struct fixture *f, double committed, double discarded)
{
    struct exposition *read = scrape(f);

    assert_figure(read, "edl_pushes_total{result=\"committed\"}", committed);
    assert_figure(read, "edl_pushes_total{result=\"discarded\"}", discarded);
    free(read);
}

/* What a report repeats counts once, also when one without it came between; a program that says
 * less takes nothing away. */
TEST(test_pushes_are_counted_once)
{
    static const struct {
        const char *progress;
        double committed, discarded;
    } reports[] = {
        { "{\"pushes\":[[0,0,60,1],[1,0,60,0]]}", 120, 1 },
        { "{\"pushes\":[[0,0,60,1],[1,0,60,0]]}", 120, 1 },
        { "{\"pushes\":[[0,0,61,1],[1,0,60,2],[0,5,1,0]]}", 122, 3 },
        { "{\"pushes\":[[0,0,1,0]]}", 122, 3 },
        { "{\"pushes\":[[0,0,61,1],[0,5,1,0],[1,0,60,2]]}", 122, 3 },
        { "{\"step\":3}", 122, 3 },
        { "{\"pushes\":[[1,0,62,2]]}", 124, 3 },
        { "", 124, 3 },
        { "{\"pushes\":[[1,0,62,2],[1,0,63,0],[1,0,61,0]]}", 125, 3 },
        { "{\"pushes\":7}", 125, 3 },
        { "{\"pushes\":[[-1,0,9,0]]}", 125, 3 },
        { "{\"pushes\":[[1,0,63,2]]}", 125, 3 },
        { NULL, 125, 3 },
        { "{\"pushes\":[[1,0,5,2]]}", 130, 5 },
    };
    const struct fixture *f = *state;

    report_pushes(f->scheduler, NULL);
    for (size_t i = 0; i < ELEMENTS(reports); i++) {
        report_pushes(f->scheduler, reports[i].progress);
        assert_pushes(f, reports[i].committed, reports[i].discarded);
    }
}

/* Numbers are what programs say: none adds more than 10^6 a second, in all its rows. */
TEST(test_a_program_does_not_spoil_the_pushes)
{
    const struct fixture *f = *state;

    report_pushes(f->scheduler, NULL);
    report_pushes(f->scheduler, "{\"pushes\":[[0,0,0,1],[0,1,9223372036854775807,0],"
                                "[0,2,9223372036854775807,9]]}");
    assert_pushes(f, 999999, 1);
    report_pushes(f->scheduler, "");
    report_pushes(f->scheduler, "{\"pushes\":[[0,0,3000000,1]]}");
    assert_pushes(f, 2999999, 1); /* two seconds later */
    report_pushes(f->scheduler, "{\"pushes\":[[0,0,3000009,2]]}");
    assert_pushes(f, 3000008, 2);
}

/* Any program may tell of pushes; those of servers count. */
TEST(test_pushes_of_servers_alone_count)
{
    const struct fixture *f = *state;

    report_as(f->scheduler, "trainer", NULL);
    report_as(f->scheduler, "trainer", "{\"pushes\":[[0,0,60,1]]}");
    assert_pushes(f, 0, 0);
}

/* What ran before the scheduler began was counted by the one before it. */
TEST(test_pushes_are_not_counted_by_two_schedulers)
{
    const struct fixture *f = *state;

    report_pushes(f->scheduler, "{\"pushes\":[[2,0,1,0],[2,0,60,0]]}");
    report_pushes(f->scheduler, "{\"pushes\":[[0,0,60,1]]}");
    assert_pushes(f, 0, 0);
    report_pushes(f->scheduler, "{\"pushes\":[[0,0,62,1],[1,0,60,1]]}");
    assert_pushes(f, 2, 0);
    report_pushes(f->scheduler, NULL);
    report_pushes(f->scheduler, "{\"pushes\":[[0,0,5,1]]}"); /* another program */
    assert_pushes(f, 7, 1);
}

/* However many servers a process says it has, some are kept, and none of them counts again. */
TEST(test_pushes_of_many_servers_are_bounded)
{
    const struct fixture *f = *state;
    char rows[64];

    report_pushes(f->scheduler, NULL);
    for (int shard = 0; shard < PROGRESS_PUSHES_MAX + 10; shard++) {
        (void)snprintf(rows, sizeof rows, "{\"pushes\":[[%d,0,1,0]]}", shard);
        report_pushes(f->scheduler, rows);
        report_pushes(f->scheduler, "{\"pushes\":[[0,0,1,0]]}");
    }
    assert_pushes(f, PROGRESS_PUSHES_MAX, 0);
}

/* What people look for who know other schedulers. */
TEST(test_the_usual_names_are_there)
{
    static const char *const names[] = {
        "edl_build_info",
        "edl_nodes",
        "edl_jobs",
        "edl_gpus",
        "edl_queue_wait_seconds",
        "edl_schedule_cycle_seconds",
        "edl_resize_seconds",
        "edl_resizes_total",
        "edl_orphans_reaped_total",
        "edl_heartbeat_age_seconds",
        "edl_db_commit_seconds",
    };
    const struct fixture *f = *state;
    _cleanup_free_ char *text = metrics_text(f->scheduler);

    for (size_t i = 0; i < ELEMENTS(names); i++) {
        char line[80];

        (void)snprintf(line, sizeof line, "# TYPE %s ", names[i]);
        if (strstr(text, line) == NULL)
            fail_msg("there is no %s", names[i]);
    }
}

TEST(test_figures_follow_a_job)
{
    struct fixture *f = *state;
    struct cluster *cluster = f->scheduler->cluster;
    struct node_report report = node_says(NULL, 0);
    struct instant now = clock_instant();
    struct exposition *read;
    struct node *node;
    struct job *job;

    read = scrape(f);
    assert_figure(read, "edl_jobs{state=\"queued\"}", 0);
    assert_figure(read, "edl_db_commit_seconds_count", 0);
    free(read);
    assert_int_equal(cluster_submit(cluster, parse_job(job_text), "me", now, &job, NULL), 0);
    job->submitted_wall_us -= 5 * USEC_PER_SEC;
    assert_int_equal(scheduler_turn(f->scheduler), 0);
    read = scrape(f);
    assert_figure(read, "edl_jobs{state=\"queued\"}", 1);
    assert_figure(read, "edl_jobs_submitted_total", 1);
    assert_figure(read, "edl_schedule_cycle_seconds_count", 1);
    assert_figure(read, "edl_db_commit_seconds_count", 1);
    assert_figure(read, "edl_nodes{state=\"ready\"}", 0);
    assert_true(*exposition_value(read, "edl_queue_oldest_wait_seconds") >= 5);
    assert_true(*exposition_value(read, "edl_db_size_bytes{file=\"wal\"}") > 0);
    free(read);

    assert_int_equal(cluster_join_node(cluster, "n1", "c0ffee", &report.offer, now, &node, NULL),
                     0);
    report.foreign_cpu_millicores = 250;
    report.offer.gpus = 2;
    assert_int_equal(cluster_report(cluster, node, &report, now, NULL), 0);
    assert_int_equal(scheduler_turn(f->scheduler), 0);
    assert_int_equal(scheduler_turn(f->scheduler), 0); /* nothing to do: nothing is counted */
    read = scrape(f);
    assert_figure(read, "edl_jobs{state=\"queued\"}", 0);
    assert_figure(read, "edl_jobs{state=\"starting\"}", 1);
    assert_figure(read, "edl_queue_oldest_wait_seconds", 0);
    assert_figure(read, "edl_queue_wait_seconds_count", 1);
    assert_figure(read, "edl_queue_wait_seconds_bucket{le=\"1\"}", 0);
    assert_figure(read, "edl_queue_wait_seconds_bucket{le=\"10\"}", 1);
    assert_figure(read, "edl_nodes{state=\"ready\"}", 1);
    assert_figure(read, "edl_cpu_capacity_cores", 4);
    assert_figure(read, "edl_cpu_granted_cores", 3.5);
    assert_figure(read, "edl_cpu_foreign_cores", 0.25);
    assert_figure(read, "edl_cpu_utilisation_ratio", 0.9375);
    assert_figure(read, "edl_memory_capacity_bytes", 4294967296.0);
    assert_figure(read, "edl_memory_granted_bytes", 419430400);
    assert_figure(read, "edl_gpus{state=\"free\"}", 2);
    assert_figure(read, "edl_gpus{state=\"withheld\"}", 0);
    assert_figure(read, "edl_processes{state=\"assigned\"}", 3);
    assert_figure(read, "edl_process_starts_total{cause=\"new\"}", 3);
    assert_figure(read, "edl_schedule_cycle_seconds_count", 2);
    assert_figure(read, "edl_db_commit_seconds_count", 2);
    free(read);

    assert_int_equal(cluster_kill_job(cluster, job, NULL, now, NULL), 0);
    report.processes = NULL;
    assert_int_equal(scheduler_turn(f->scheduler), 0);
    read = scrape(f);
    assert_figure(read, "edl_processes{state=\"stopping\"}", 3);
    assert_figure(read, "edl_jobs{state=\"stopping\"}", 1);
    free(read);
}

static void assert_not_ready(const struct fixture *f, const char *why)
{
    struct edl_error error = { 0 };

    assert_int_equal(scheduler_ready(f->scheduler, &error), -EAGAIN);
    assert_int_equal(error_code_http_status(error.code), 503);
    if (strstr(error.text, why) == NULL)
        fail_msg("%s", error.text);
}

TEST(test_ready_once_stored_and_while_the_store_is_well)
{
    struct fixture *f = *state;
    struct edl_error error = { 0 };
    char path[96], aside[96];

    assert_not_ready(f, "not stored yet");
    assert_int_equal(scheduler_turn(f->scheduler), 0);
    assert_int_equal(scheduler_ready(f->scheduler, &error), 0);
    (void)snprintf(path, sizeof path, "%s/edl.db", f->folder);
    (void)snprintf(aside, sizeof aside, "%s/aside", f->folder);
    assert_int_equal(rename(path, aside), 0);
    assert_not_ready(f, "was moved");
    assert_int_equal(rename(aside, path), 0);
    assert_int_equal(scheduler_ready(f->scheduler, &error), 0);
    f->scheduler->failed = true;
    assert_not_ready(f, "commit failed");
    f->scheduler->failed = false;
}

static int end_loop(sd_event_source *source, uint64_t usec, void *userdata)
{
    (void)source;
    (void)usec;
    return sd_event_exit(userdata, 0);
}

/* Blocks the loop as a slow handler would. */
static int dawdle(sd_event_source *source, uint64_t usec, void *userdata)
{
    uint64_t end_us = clock_read_us(CLOCK_MONOTONIC) + 30 * USEC_PER_MSEC;

    (void)source;
    (void)usec;
    (void)userdata;
    while (clock_read_us(CLOCK_MONOTONIC) < end_us)
        ;
    return 0;
}

TEST(test_a_pass_of_the_loop_that_takes_long_is_seen)
{
    struct fixture *f = *state;
    sd_event *event = f->scheduler->event;
    const struct histogram *busy = &f->scheduler->metrics.loop_busy;
    uint64_t long_ones = 0;
    sd_event_source *slow = NULL, *end = NULL;

    assert_true(sd_event_add_time_relative(event, &slow, CLOCK_MONOTONIC, 1000, 1, dawdle, NULL) >=
                0);
    assert_true(sd_event_add_time_relative(event, &end, CLOCK_MONOTONIC, 200 * USEC_PER_MSEC, 1,
                                           end_loop, event) >= 0);
    assert_int_equal(sd_event_loop(event), 0);
    for (size_t i = 0; i < HISTOGRAM_BOUNDS + 1; i++)
        if (i == HISTOGRAM_BOUNDS || busy->bounds_us[i] > 30 * USEC_PER_MSEC)
            long_ones += busy->counts[i];
    assert_true(long_ones >= 1);
    assert_true(histogram_count(busy) < 50); /* waiting 0.2 s turned nothing */
    (void)sd_event_source_disable_unref(slow);
    (void)sd_event_source_disable_unref(end);
}

/* --- the manual and the example --- */

static char *read_source(const char *path)
{
    const char *folder = getenv("EDL_SOURCE_DIR");
    char *text = xcalloc(1, 200000);
    char full[4096];
    _cleanup_fclose_ FILE *file = NULL;

    (void)snprintf(full, sizeof full, "%s/%s", folder != NULL ? folder : ".", path);
    file = fopen(full, "re");
    if (file == NULL)
        fail_msg("%s cannot be read", full);
    (void)!fread(text, 1, 199999, file);
    return text;
}

static bool is_of_family(const char *word, size_t length, const struct family *family)
{
    static const char *const parts[] = { "", "_bucket", "_sum", "_count" };
    size_t n = strlen(family->name);

    for (size_t i = 0; i < (streq(family->type, "histogram") ? ELEMENTS(parts) : 1); i++)
        if (length == n + strlen(parts[i]) && strncmp(word, family->name, n) == 0 &&
            strncmp(word + n, parts[i], length - n) == 0)
            return true;
    return false;
}

/* Every word that looks like a metric is one. */
static void check_words(const struct exposition *read, const char *path)
{
    _cleanup_free_ char *text = read_source(path);

    for (char *at = text; (at = strstr(at, "edl_")) != NULL;) {
        size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyz_");
        bool found = false;

        for (size_t i = 0; i < read->n_families; i++)
            found = found || is_of_family(at, length, &read->families[i]);
        if (!found)
            fail_msg("%s: there is no %.*s", path, (int)length, at);
        at += length;
    }
}

static bool has_word(const char *text, const char *word)
{
    for (const char *at = text; (at = strstr(at, word)) != NULL; at++)
        if (strspn(at, "abcdefghijklmnopqrstuvwxyz_") == strlen(word))
            return true;
    return false;
}

static void check_rules(const char *path)
{
    _cleanup_free_ char *text = read_source(path);
    struct edl_error error = { 0 };
    json_t *document = NULL, *groups, *group, *rules, *rule;
    size_t i, k, n = 0;

    if (yaml_to_json(text, strlen(text), NULL, &document, &error) < 0)
        fail_msg("%s: %s", path, error.text);
    groups = json_object_get(document, "groups");
    json_array_foreach(groups, i, group)
    {
        rules = json_object_get(group, "rules");
        json_array_foreach(rules, k, rule)
        {
            assert_true(json_is_string(json_object_get(rule, "alert")));
            assert_true(json_is_string(json_object_get(rule, "expr")));
            assert_true(
                json_is_string(json_object_get(json_object_get(rule, "annotations"), "summary")));
            n++;
        }
    }
    assert_true(n > 5);
    json_decref(document);
}

TEST(test_the_manual_and_the_rules_name_what_there_is)
{
    struct exposition *read = scrape(*state);
    _cleanup_free_ char *manual = read_source("docs/man/edl-metrics.5");

    check_rules("conf/examples/alerts.yaml");
    check_words(read, "docs/man/edl-metrics.5");
    check_words(read, "conf/examples/alerts.yaml");
    for (size_t i = 0; i < read->n_families; i++)
        if (!has_word(manual, read->families[i].name))
            fail_msg("edl-metrics(5) does not tell of %s", read->families[i].name);
    free(read);
}

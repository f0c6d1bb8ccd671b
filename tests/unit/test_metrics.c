/* SPDX-License-Identifier: Apache-2.0 */
/* test_metrics.c - the text that Prometheus reads: that the figures are true; readiness */
#include <stdlib.h>

#include "scheduler/json/exposition.h"
#include "scheduler/scheduler.h"
#include "shared/cleanup.h"
#include "shared/process_progress.h"
#include "shared/yaml.h"
#include "tests/unit/exposition_parse.h"
#include "tests/unit/scheduler_fixture.h"
#include "tests/unit/test.h"

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

static struct exposition *scrape_cluster(const struct fixture *f)
{
    _cleanup_free_ char *text = metrics_cluster_text(f->scheduler);
    struct exposition *read = exposition_parse(text);

    if (read->error[0] != '\0')
        fail_msg("%s", read->error);
    return read;
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
    job->submitted_wall_us -= 100 * USEC_PER_SEC;
    assert_int_equal(scheduler_turn(f->scheduler), 0);
    read = scrape(f);
    assert_figure(read, "edl_jobs{state=\"queued\"}", 1);
    assert_figure(read, "edl_jobs_submitted_total", 1);
    assert_figure(read, "edl_schedule_cycle_seconds_count", 1);
    assert_figure(read, "edl_db_commit_seconds_count", 1);
    assert_figure(read, "edl_nodes{state=\"ready\"}", 0);
    assert_true(*exposition_value(read, "edl_queue_oldest_wait_seconds") >= 100);
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
    assert_figure(read, "edl_queue_wait_seconds_bucket{le=\"60\"}", 0);
    assert_figure(read, "edl_queue_wait_seconds_bucket{le=\"300\"}", 1);
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

/* --- figures of each --- */

static struct node *join(struct cluster *cluster, const char *name, uint32_t gpus)
{
    struct node_report report = node_says(NULL, 0);
    struct node *node;

    report.offer.gpus = gpus;
    assert_int_equal(cluster_join_node(cluster, name, "c0ffee", &report.offer, clock_instant(),
                                       &node, NULL),
                     0);
    report.foreign_cpu_millicores = 250;
    assert_int_equal(cluster_report(cluster, node, &report, clock_instant(), NULL), 0);
    return node;
}

/* told - figures of the machine as its agent reports them, of its first GPU too */
static void told(struct scheduler *scheduler, const char *node)
{
    json_t *body = json_loads(
        "{\"machine\":{\"load_milli\":[1500,1,1],\"memory_available_bytes\":4096,"
        "\"pressure\":{\"cpu\":{\"some_ppm\":1000}},"
        "\"disks\":[{\"name\":\"state\",\"free_bytes\":77,\"size_bytes\":99}],"
        "\"gpus\":[{\"uuid\":\"GPU-1\",\"pci_bus_id\":\"0:1\",\"memory_total_bytes\":9000,"
        "\"memory_used_bytes\":1000,\"utilisation_ppm\":250000}]}}",
        0, NULL);
    struct edl_error error = { 0 };
    struct machine *machine = NULL;

    assert_non_null(body);
    if (machine_from_json(body, &machine, &error) < 0)
        fail_msg("%s", error.text);
    assert_non_null(machine);
    machines_take(&scheduler->machines, node, machine);
    json_decref(body);
}

TEST(test_figures_of_each)
{
    struct fixture *f = *state;
    struct scheduler *scheduler = f->scheduler;
    struct group_spec spec = { .name = "vision", .guaranteed_permille = 100, .weight = 1 };
    struct user_group *group;
    struct exposition *read;
    struct user *user;
    struct job *job;

    assert_int_equal(users_put(scheduler->users, "ann", USER_USER, 1, &user, NULL), 0);
    assert_int_equal(groups_put(scheduler->users, &spec, 1, &group, NULL), 0);
    users_join(scheduler->users, user, group);
    (void)join(scheduler->cluster, "n1", 2);
    told(scheduler, "n1");
    assert_int_equal(cluster_submit(scheduler->cluster, parse_job(job_text), "ann", clock_instant(),
                                    &job, NULL),
                     0);
    assert_int_equal(scheduler_turn(scheduler), 0);
    assert_int_equal(job->state, JOB_STARTING);
    assert_int_equal(cluster_submit(scheduler->cluster, parse_job(job_text), "eve", clock_instant(),
                                    &job, NULL),
                     0);
    read = scrape_cluster(f);
    assert_figure(read, "edl_node_info{node=\"n1\",state=\"ready\"}", 1);
    assert_figure(read, "edl_node_cores{node=\"n1\",amount=\"offered\"}", 4);
    assert_figure(read, "edl_node_cores{node=\"n1\",amount=\"granted\"}", 3.5);
    assert_figure(read, "edl_node_cores{node=\"n1\",amount=\"foreign\"}", 0.25);
    assert_figure(read, "edl_node_memory_bytes{node=\"n1\",amount=\"granted\"}", 419430400);
    assert_figure(read, "edl_node_gpus{node=\"n1\",amount=\"offered\"}", 2);
    assert_figure(read, "edl_node_processes{node=\"n1\"}", 3);
    assert_figure(read, "edl_node_load{node=\"n1\"}", 1.5);
    assert_figure(read, "edl_node_pressure_ratio{node=\"n1\",resource=\"cpu\"}", 0.001);
    assert_figure(read, "edl_node_disk_free_bytes{node=\"n1\",disk=\"state\"}", 77);
    assert_figure(read, "edl_gpu_info{node=\"n1\",gpu=\"0\",state=\"free\"}", 1);
    assert_figure(read, "edl_gpu_utilisation_ratio{node=\"n1\",gpu=\"0\"}", 0.25);
    assert_null(exposition_value(read, "edl_gpu_utilisation_ratio{node=\"n1\",gpu=\"1\"}"));
    assert_figure(read, "edl_user_cores{user=\"ann\"}", 3.5);
    assert_figure(read, "edl_user_jobs{user=\"ann\",state=\"running\"}", 1);
    assert_figure(read, "edl_user_jobs{user=\"eve\",state=\"waiting\"}", 1);
    assert_figure(read, "edl_user_cores{user=\"eve\"}", 0);
    assert_figure(read, "edl_group_cores{group=\"vision\"}", 3.5);
    assert_figure(read, "edl_group_jobs{group=\"vision\",state=\"waiting\"}", 0);
    assert_figure(read, "edl_series_left_out{of=\"users\"}", 0);
    free(read);
}

/* However many users wait, so many are told, and those that hold something first. */
TEST(test_users_are_bounded)
{
    struct fixture *f = *state;
    struct cluster *cluster = f->scheduler->cluster;
    struct exposition *read;
    struct job *job;
    char user[16];

    for (int i = 0; i < 250; i++) {
        (void)snprintf(user, sizeof user, "u%d", i);
        assert_int_equal(cluster_submit(cluster, parse_job(job_text), user, clock_instant(), &job,
                                        NULL),
                         0);
    }
    (void)join(cluster, "n1", 0);
    assert_int_equal(scheduler_turn(f->scheduler), 0);
    read = scrape_cluster(f);
    assert_figure(read, "edl_series_left_out{of=\"users\"}", 50);
    assert_figure(read, "edl_user_cores{user=\"u0\"}", 3.5);
    assert_null(exposition_value(read, "edl_node_gpus{node=\"n1\",amount=\"offered\"}"));
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
static void check_words(const struct exposition *read, const struct exposition *of_each,
                        const char *path)
{
    _cleanup_free_ char *text = read_source(path);

    for (char *at = text; (at = strstr(at, "edl_")) != NULL;) {
        size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyz_");
        bool found = false;

        for (size_t i = 0; i < read->n_families; i++)
            found = found || is_of_family(at, length, &read->families[i]);
        for (size_t i = 0; i < of_each->n_families; i++)
            found = found || is_of_family(at, length, &of_each->families[i]);
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
    static const char *const files[] = { "docs/man/edl-metrics.5", "conf/examples/alerts.yaml",
                                         "conf/examples/grafana-dashboard.json" };
    struct fixture *f = *state;
    _cleanup_free_ char *manual = read_source("docs/man/edl-metrics.5");
    struct exposition *read = scrape(f), *of_each;
    struct group_spec spec = { .name = "vision", .weight = 1 };
    struct user_group *group;
    struct job *job;

    assert_int_equal(groups_put(f->scheduler->users, &spec, 1, &group, NULL), 0);
    (void)join(f->scheduler->cluster, "n1", 1);
    told(f->scheduler, "n1");
    assert_int_equal(cluster_submit(f->scheduler->cluster, parse_job(job_text), "ann",
                                    clock_instant(), &job, NULL),
                     0);
    of_each = scrape_cluster(f);
    check_rules("conf/examples/alerts.yaml");
    for (size_t i = 0; i < ELEMENTS(files); i++)
        check_words(read, of_each, files[i]);
    for (size_t i = 0; i < read->n_families; i++)
        if (!has_word(manual, read->families[i].name))
            fail_msg("edl-metrics(5) does not tell of %s", read->families[i].name);
    for (size_t i = 0; i < of_each->n_families; i++)
        if (!has_word(manual, of_each->families[i].name))
            fail_msg("edl-metrics(5) does not tell of %s", of_each->families[i].name);
    free(of_each);
    free(read);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_search_jobs.c - the jobs of a search: the record in each, the trials that follow from them,
 * and how those are shown */
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "client/json_read.h"
#include "client/search_core.h"
#include "client/search_jobs.h"
#include "client/search_picture.h"
#include "client/search_record.h"
#include "client/search_view.h"
#include "client/text.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

static const char space_text[] = "parameters:\n"
                                 "  lr: {kind: float, min: 0.001, max: 1, log: true}\n"
                                 "  kind: [a, \"b, c\"]\n"
                                 "metric: {name: score, direction: maximize}\n"
                                 "resource: {name: epoch, min: 1, max: 9}\n"
                                 "budget: {trials: 9}\n"
                                 "method: {kind: asha, eta: 3}\n"
                                 "seed: 5\n";

static void make_record(struct search_record *ret)
{
    struct search_space *space = NULL;
    struct edl_error error = { 0 };
    json_t *job =
        json_loads("{\"metadata\": {\"name\": \"s\"}, \"spec\": {\"env\": {\"A\": \"1\"}, "
                   "\"roles\": [{\"command\": [\"sh\", \"{x}\", \"run\", \"--lr={lr}\", "
                   "\"{kind}\", \"{resource}\"]}]}}",
                   0, NULL);

    assert_int_equal(search_space_parse(space_text, strlen(space_text), &space, &error), 0);
    assert_int_equal(search_record_make("s", space, job, 4, "/shared", ret, &error), 0);
    (void)search_space_free(space);
    json_decref(job);
}

TEST(test_a_job_carries_the_whole_search)
{
    struct search_record record, again;
    struct edl_error error = { 0 };
    const double values[] = { 0.5, 1 };
    const struct search_action action = { .number = 7, .rung = 1, .resource = 3 };

    make_record(&record);
    _cleanup_free_ char *text = search_job_document(&record, &action, 2, values);
    _cleanup_json_ json_t *job = json_loads(text, 0, NULL);
    const json_t *spec = json_object_get(job, "spec"), *env = json_object_get(spec, "env");
    const json_t *role = json_array_get(json_object_get(spec, "roles"), 0);
    _cleanup_free_ char *command = json_dumps(json_object_get(role, "command"), JSON_COMPACT);
    _cleanup_json_ json_t *trial = json_loads(json_text(env, "EDL_TRIAL"), 0, NULL);

    assert_string_equal(json_text(json_object_get(job, "metadata"), "name"), "s-7-r1");
    assert_string_equal(command, "[\"sh\",\"{x}\",\"run\",\"--lr=0.5\",\"b, c\",\"3\"]");
    assert_string_equal(json_text(env, "A"), "1");
    assert_string_equal(json_text(env, "EDL_CHECKPOINT_DIR"), "/shared/s/7");
    assert_string_equal(json_text(trial, "search"), "s");
    assert_int_equal(json_u64(trial, "trial"), 7);
    assert_int_equal(json_u64(trial, "rung"), 1);
    assert_int_equal(json_u64(trial, "attempt"), 2);
    assert_int_equal(json_u64(trial, "until"), 3);

    /* who reads it back writes the same: both submit one job */
    assert_int_equal(search_record_parse(json_text(env, "EDL_SEARCH"), &again, &error), 0);
    _cleanup_free_ char *same = search_job_document(&again, &action, 2, values);
    _cleanup_free_ char *key = search_job_key(&again, 7, 1, 2);

    assert_string_equal(text, same);
    assert_string_equal(key, "edl-search/s/5/7/1/2");
    search_record_clear(&again);
    search_record_clear(&record);
}

TEST(test_what_is_no_record_is_refused)
{
    static const char *const texts[] = { "",
                                         "{",
                                         "[]",
                                         "{}",
                                         "{\"version\": 2, \"search\": \"s\"}",
                                         "{\"version\": 1, \"search\": \"s\", \"words\": 1}" };

    for (size_t i = 0; i < ELEMENTS(texts); i++) {
        struct search_record record;
        struct edl_error error = { 0 };

        assert_int_equal(search_record_parse(texts[i], &record, &error), EDL_EBADSPEC);
    }
}

/* add - a job as the server shows it */
static void add(struct search_jobs *jobs, uint64_t id, unsigned trial, unsigned rung,
                unsigned attempt, const char *state, const char *reason, const char *metrics)
{
    _cleanup_free_ char *text = text_format(
        "{\"id\": %u, \"name\": \"s-%u\", \"user\": \"ann\", \"state\": \"%s\", \"intent\": "
        "\"%s\", \"reason\": \"%s\", \"submitted_us\": %u000000, \"ended_us\": 100000000, "
        "\"metrics\": %s, \"usage\": {\"work\": {\"cpu_core_seconds\": 2.5}}, "
        "\"trial\": {\"search\": \"s\", \"trial\": %u, \"rung\": %u, \"attempt\": %u, "
        "\"parameters\": {\"lr\": 0.5, \"kind\": \"a\"}}}",
        (unsigned)id, trial, state, streq(state, "killed") ? "killed" : "", reason, (unsigned)id,
        metrics, trial, rung, attempt);
    _cleanup_json_ json_t *job = json_loads(text, 0, NULL);

    assert_non_null(job);
    assert_true(search_jobs_take(jobs, job));
}

static void make_jobs(struct search_jobs *ret)
{
    *ret = (struct search_jobs){ .name = xstrdup("s"), .user = xstrdup("ann") };
    make_record(&ret->record);
    add(ret, 12, 1, 1, 0, "succeeded", "", "{\"_curve\": [[2, 0.6], [3, 0.7]]}");
    add(ret, 10, 1, 0, 0, "succeeded", "", "{\"_curve\": [[1, 0.5]]}");
    add(ret, 11, 2, 0, 0, "failed", "=its last <words>, \\\"x\\\"", "{\"score\": 0.9}");
    add(ret, 13, 3, 0, 0, "killed", SEARCH_STOPPED, "{\"_curve\": [[1, 0.99]]}");
    add(ret, 14, 3, 0, 1, "running", "", "{\"score\": 0.8, \"epoch\": 1}");
    add(ret, 15, 4, 0, 0, "killed", SEARCH_STOPPED, "null");
    add(ret, 16, 5, 0, 0, "killed", SEARCH_REACHED, "{\"score\": 0.1}");
    add(ret, 17, 6, 0, 0, "killed", "killed by ann", "{\"score\": 1.0}");
    add(ret, 18, 7, 0, 0, "queued", "", "null");
}

TEST(test_jobs_tell_of_trials)
{
    static const enum search_trial_state states[] = { SEARCH_TRIAL_DONE, SEARCH_TRIAL_FAILED,
                                                      SEARCH_TRIAL_RUNS, SEARCH_TRIAL_WAITS,
                                                      SEARCH_TRIAL_DONE, SEARCH_TRIAL_FAILED,
                                                      SEARCH_TRIAL_WAITS };
    struct search_jobs jobs;
    struct search_trials trials;

    make_jobs(&jobs);
    search_trials_make(&jobs, &trials);
    assert_int_equal(trials.n, 7);
    for (size_t i = 0; i < trials.n; i++) {
        assert_int_equal(trials.trials[i].number, i + 1);
        assert_int_equal(trials.trials[i].state, states[i]);
        assert_int_equal(trials.jobs[i].is_stopped, i == 3);
    }
    /* a rung goes on where the one before was; of each rung the newest job counts */
    assert_int_equal(trials.trials[0].rung, 1);
    assert_int_equal(trials.trials[0].n_points, 3);
    assert_true(trials.trials[0].points[2].value == 0.7 && trials.trials[0].points[2].rung == 1);
    assert_true(trials.trials[0].core_s == 5);
    assert_int_equal(trials.trials[2].n_points, 1);
    assert_true(trials.trials[2].points[0].value == 0.8 &&
                trials.trials[2].points[0].resource == 1);
    assert_int_equal(trials.first_us, 10000000);
    assert_true(search_trials_history(&trials, 25000000).elapsed_s == 15);
    search_trials_clear(&trials);
    search_jobs_clear(&jobs);
}

TEST(test_jobs_of_others_are_left_out)
{
    static const char *const texts[] = {
        "{\"id\": 1, \"user\": \"ann\"}",
        "{\"id\": 1, \"user\": \"ann\", \"trial\": {\"search\": \"t\", \"trial\": 1}}",
        "{\"id\": 1, \"user\": \"bob\", \"trial\": {\"search\": \"s\", \"trial\": 1}}",
        "{\"id\": 1, \"user\": \"ann\", \"trial\": {\"search\": \"s\", \"trial\": -1}}",
        "{\"id\": 1, \"user\": \"ann\", \"trial\": {\"search\": \"s\", \"trial\": 0}}",
        "{\"id\": 1, \"user\": \"ann\", \"trial\": {\"search\": \"s\", \"trial\": 1, \"rung\": "
        "99}}",
    };
    struct search_jobs jobs = { .name = xstrdup("s"), .user = xstrdup("ann") };

    for (size_t i = 0; i < ELEMENTS(texts); i++) {
        _cleanup_json_ json_t *job = json_loads(texts[i], 0, NULL);

        assert_non_null(job);
        assert_false(search_jobs_take(&jobs, job));
    }
    assert_false(search_jobs_has(&jobs, 1));
    search_jobs_clear(&jobs);
}

/* printed - what is printed of the jobs above; new string */
static char *printed(void (*print)(const struct search_jobs *, const struct search_trials *,
                                   FILE *))
{
    struct search_jobs jobs;
    struct search_trials trials;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    make_jobs(&jobs);
    search_trials_make(&jobs, &trials);
    print(&jobs, &trials, out);
    search_trials_clear(&trials);
    search_jobs_clear(&jobs);
    (void)fclose(out);
    return text;
}

TEST(test_a_table_has_the_best_first_and_failures_last)
{
    _cleanup_free_ char *csv = printed(search_view_csv);
    _cleanup_free_ char *table = printed(search_view_table);

    assert_string_equal(csv, "trial,state,score,lr,kind,rung,core_seconds,job,error\n"
                             "3,runs,0.80000000000000004,0.5,a,0,5.000,s-3,\n"
                             "1,done,0.69999999999999996,0.5,a,1,5.000,s-1,\n"
                             "5,done,0.10000000000000001,0.5,a,0,2.500,s-5,\n"
                             "4,stopped,,0.5,a,0,2.500,s-4,\n"
                             "7,waits,,0.5,a,0,2.500,s-7,\n"
                             "2,failed,,0.5,a,0,2.500,s-2,\"'=its last <words>, \"\"x\"\"\"\n"
                             "6,failed,,0.5,a,0,2.500,s-6,killed by ann\n");
    assert_non_null(strstr(table, "TRIAL  STATE    score  lr   kind  RUNG  CORE-TIME"));
}

TEST(test_a_picture_has_each_result)
{
    _cleanup_free_ char *svg = printed(search_picture);
    size_t lines = 0;

    for (const char *at = svg; (at = strstr(at, "<polyline")) != NULL; at++)
        lines++;
    assert_int_equal(lines, 3); /* of trials with a result that did not fail */
    assert_non_null(strstr(svg, "</svg>"));
    assert_null(strstr(svg, "nan"));
    assert_null(strstr(svg, "inf"));
}

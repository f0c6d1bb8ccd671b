/* SPDX-License-Identifier: Apache-2.0 */
/* test_record.c - what a cluster remembers, as a trace: a record made by hand with known answers */
#include "simulator/trace/record.h"

#include <stdio.h>

#include "tests/unit/test.h"
#include "tests/unit/trace_world.h"

#define BEGIN_S 1000 /* of the record, by its clock */

struct line {
    double at_s;
    uint64_t job;
    const char *event, *text;
};

static void tell(struct record *record, const struct line *lines, size_t n)
{
    for (size_t i = 0; i < n; i++)
        record_event_add(record, &(struct record_event){
                                     .time_us = (uint64_t)((BEGIN_S + lines[i].at_s) * 1e6),
                                     .job_id = lines[i].job,
                                     .event = lines[i].event,
                                     .text = lines[i].text });
}

static struct recording made_of(const struct record *record, const struct record_options *options)
{
    struct edl_error error = { 0 };
    struct recording recording;

    if (recording_of(record, options, &recording, &error) < 0)
        fail_msg("%s; %s", error.text, error.remedy);
    return recording;
}

static const struct record_options everything = { .since_us = 0 };

/* Job 1 waits 10 s, runs with one for 20 s, with three for 30 s, one of which fails and is away for
 * 5 s of them. Job 2 is killed. Job 3 has no end. */
static const struct line three[] = {
    { 0, 1, "job-queued", "one-7 was submitted" },
    { 10, 1, "process-assigned", "trainer-0: incarnation 1" },
    { 10, 1, "process-preparing", "trainer-0" },
    { 12, 1, "process-running", "trainer-0" },
    { 12, 1, "job-running", "" },
    { 20, 2, "job-queued", "two was submitted" },
    { 20, 2, "process-assigned", "trainer-0: incarnation 1" },
    { 21, 2, "process-running", "trainer-0" },
    { 21, 2, "job-running", "" },
    { 30, 1, "job-resized", "trainer: 1 -> 3 (grown: load 61.2% of 97.0%)" },
    { 30, 1, "process-assigned", "trainer-1: incarnation 2" },
    { 30, 1, "process-assigned", "trainer-2: incarnation 3" },
    { 32, 1, "process-running", "trainer-1" },
    { 32, 1, "process-running", "trainer-2" },
    { 35, 0, "node-joined", "b joined with 4000m CPU" },
    { 40, 1, "process-exited", "trainer-2: exit 1" },
    { 43, 1, "process-assigned", "trainer-2: incarnation 4" },
    { 45, 1, "process-running", "trainer-2" },
    { 50, 3, "job-queued", "three was submitted" },
    { 51, 3, "process-assigned", "trainer-0: incarnation 1" },
    { 53, 3, "process-running", "trainer-0" },
    { 60, 2, "job-stopping", "killed" },
    { 60, 2, "process-stopping", "trainer-0: killed" },
    { 61, 2, "process-exited", "trainer-0: killed" },
    { 61, 2, "job-killed", "killed" },
    { 62, 1, "process-exited", "trainer-0" },
    { 62, 1, "process-exited", "trainer-1" },
    { 62, 1, "process-exited", "trainer-2" },
    { 62, 1, "job-succeeded", "done" },
};

TEST(test_known_answers)
{
    struct record *record = record_new();
    struct recording made;
    const struct run_job_result *one;

    tell(record, three, ELEMENTS(three));
    record_job_add(record, &(struct record_job){ .id = 1,
                                                 .submitted_us = BEGIN_S * 1000000,
                                                 .name = "one-7",
                                                 .user = "ann",
                                                 .role = "trainer",
                                                 .min = 1,
                                                 .max = 5 });
    made = made_of(record, &(struct record_options){ .end_us = (BEGIN_S + 73) * 1000000 });
    assert_int_equal(made.trace->n, 3);
    assert_string_equal(made.trace->jobs[0].name, "one-7");
    assert_string_equal(made.trace->jobs[0].family, "one");
    assert_string_equal(made.trace->jobs[0].user, "ann");
    assert_int_equal(made.trace->jobs[0].min, 1);
    assert_int_equal(made.trace->jobs[0].max, 5);
    assert_int_equal(made.trace->jobs[0].requested, 1);
    assert_near(made.trace->jobs[0].work_steps, 20 + 3 * 30 - 5);
    one = &made.result.jobs[0];
    assert_near(one->submit_s, 0);
    assert_near(one->start_s, 10);
    assert_near(one->done_s, 62);
    assert_near(one->wait_s, 10);
    assert_near(one->held_s, 20 + 3 * 32 - 3);
    assert_near(one->lost_s, 2 + 2 * 2 + 2);
    assert_near(one->served_s, 105);
    assert_int_equal(one->restarts, 1);
    /* killed: work until it was asked to stop */
    assert_near(made.trace->jobs[1].submit_s, 20);
    assert_near(made.trace->jobs[1].work_steps, 39);
    assert_near(made.result.jobs[1].done_s, 61);
    assert_near(made.result.jobs[1].held_s, 41);
    assert_int_equal(made.trace->jobs[1].max, 1);
    /* without an end: until that of the record */
    assert_near(made.trace->jobs[2].work_steps, 20);
    assert_near(made.result.jobs[2].done_s, 73);
    assert_near(made.result.end_s, 73);
    assert_near(made.result.used_s, 113 + 41 + 22);
    assert_near(made.start_s, 2);
    assert_int_equal(made.peak, 5);
    assert_int_equal(made.n_cut, 1);
    assert_int_equal(made.n_killed, 1);
    assert_int_equal(made.n_failed, 0);
    assert_int_equal(made.n_guessed, 2);
    assert_int_equal(made.n_assumed, 3);
    assert_int_equal(made.n_measured, 0);
    recording_done(&made);
    record_free(record);
}

/* What is not in the list has the bounds that it was seen with. */
TEST(test_bounds_guessed)
{
    static const struct line scaled[] = {
        { 35, 1, "job-scaled", "trainer: 1..12 -> 2..9" },
    };
    struct record *record = record_new();
    struct recording made;

    tell(record, three, ELEMENTS(three));
    made = made_of(record, &everything);
    assert_int_equal(made.trace->jobs[0].min, 1);
    assert_int_equal(made.trace->jobs[0].max, 3);
    assert_int_equal(made.n_guessed, 3);
    assert_near(made.trace->jobs[2].work_steps, 9); /* the newest event is at 62 */
    recording_done(&made);
    tell(record, scaled, ELEMENTS(scaled));
    record_job_add(
        record, &(struct record_job){
                    .id = 1, .name = "one-7", .user = "", .role = "trainer", .min = 2, .max = 9 });
    made = made_of(record, &everything);
    assert_int_equal(made.trace->jobs[0].min, 1);
    assert_int_equal(made.trace->jobs[0].max, 12); /* it might have had so many */
    assert_int_equal(made.trace->jobs[0].requested, 2);
    recording_done(&made);
    record_free(record);
}

/* A job of fixed size is not elastic because one of its instances was faster than the others; its
 * parameter server takes a place, and is not what makes it fast. */
TEST(test_roles)
{
    static const struct line lines[] = {
        { 0, 4, "job-queued", "fixed was submitted" }, { 1, 4, "process-running", "pserver-0" },
        { 2, 4, "process-running", "trainer-0" },      { 3, 4, "process-exited", "trainer-0" },
        { 4, 4, "process-running", "trainer-1" },      { 4, 4, "job-running", "" },
        { 9, 4, "process-exited", "trainer-1" },       { 9, 4, "job-succeeded", "" },
        { 20, 4, "process-exited", "pserver-0" },
    };
    struct record *record = record_new();
    struct edl_error error = { 0 };
    struct recording made;
    const struct pace *pace;

    tell(record, lines, ELEMENTS(lines));
    for (int others = 0; others < 2; others++) { /* told nothing, and told by the list */
        made = made_of(record, &everything);
        assert_int_equal(made.trace->jobs[0].min, others == 0 ? 2 : 3);
        assert_int_equal(made.trace->jobs[0].requested, others == 0 ? 2 : 3);
        assert_int_equal(made.trace->jobs[0].max, others == 0 ? 2 : 5);
        assert_near(made.trace->jobs[0].work_steps, 6); /* the trainers', not the server's */
        pace = profile_pace_of(made.trace->jobs[0].profile, 3, 10, &error);
        assert_near(pace->rate[0], others == 0 ? 1 : 2);
        assert_near(made.result.jobs[0].done_s, 9);
        assert_near(made.result.jobs[0].wait_s, 3);     /* 0 to 2, and 3 to 4 */
        assert_near(made.result.jobs[0].held_s, 6 + 8); /* until its end */
        assert_near(made.result.jobs[0].served_s, others == 0 ? 12 : 9);
        assert_int_equal(made.peak, 2);
        recording_done(&made);
        record_job_add(record, &(struct record_job){ .id = 4,
                                                     .name = "fixed",
                                                     .user = "",
                                                     .role = "trainer",
                                                     .min = 2,
                                                     .max = 4,
                                                     .others = 1 });
    }
    record_free(record);
}

/* With parameter servers there is a row of the table for each amount, also when there are many. */
TEST(test_many_amounts)
{
    static const struct line lines[] = {
        { 0, 4, "job-queued", "wide was submitted" },
        { 1, 4, "process-running", "pserver-0" },
        { 2, 4, "process-running", "trainer-0" },
        { 9, 4, "job-succeeded", "" },
    };
    struct record *record = record_new();
    const struct profile *profile;
    struct recording made;

    tell(record, lines, ELEMENTS(lines));
    record_job_add(record, &(struct record_job){ .id = 4,
                                                 .name = "wide",
                                                 .user = "",
                                                 .role = "trainer",
                                                 .min = 1,
                                                 .max = 1024,
                                                 .others = 1 });
    made = made_of(record, &everything);
    profile = made.trace->jobs[0].profile;
    assert_int_equal(profile->n_counts, 256);
    assert_int_equal(profile->counts[0], 2);
    assert_int_equal(profile->counts[255], 1025);
    for (size_t i = 1; i < profile->n_counts; i++)
        assert_true(profile->counts[i] > profile->counts[i - 1]);
    recording_done(&made);
    record_free(record);
}

/* Passes of the same work with 1, 4, and (half the time each) 1 and 4: the speed is n^0.5. */
TEST(test_speed_of_passes)
{
    static const struct line lines[] = {
        { 0, 1, "job-queued", "a-1 was submitted" },
        { 0, 1, "process-running", "trainer-0" },
        { 0, 1, "job-running", "" },
        { 70, 1, "pass-ended", "pass 1 of 4 ended" }, /* start-up: it shows nothing */
        { 130, 1, "pass-ended", "pass 2 of 4 ended" },
        { 130, 1, "job-resized", "trainer: 1 -> 4" },
        { 130, 1, "process-running", "trainer-1" },
        { 130, 1, "process-running", "trainer-2" },
        { 130, 1, "process-running", "trainer-3" },
        { 160, 1, "pass-ended", "pass 3 of 4 ended" },
        { 180, 1, "process-exited", "trainer-1" },
        { 180, 1, "process-exited", "trainer-2" },
        { 180, 1, "process-exited", "trainer-3" },
        { 200, 1, "pass-ended", "pass 4 of 4 ended" },
        { 200, 1, "process-exited", "trainer-0" },
        { 200, 1, "job-succeeded", "" },
        { 200, 2, "job-queued", "a-2 was submitted" },
        { 200, 2, "process-running", "trainer-0" },
        { 200, 2, "process-running", "trainer-1" },
        { 210, 2, "job-succeeded", "" },
        { 210, 3, "job-queued", "b was submitted" },
        { 210, 3, "process-running", "trainer-0" },
        { 210, 3, "process-running", "trainer-1" },
        { 220, 3, "job-succeeded", "" },
    };
    struct record *record = record_new();
    struct recording made;

    tell(record, lines, ELEMENTS(lines));
    made = made_of(record, &everything);
    assert_near(made.trace->jobs[0].work_steps, 130 + 2 * 50 + 20);
    assert_near(made.trace->jobs[1].work_steps, 10 * sqrt(2)); /* of the same family */
    assert_near(made.trace->jobs[2].work_steps, 20);           /* of another: linear */
    assert_int_equal(made.n_measured, 2);
    assert_int_equal(made.n_assumed, 1);
    assert_string_equal(made.trace->jobs[2].family, "b");
    recording_done(&made);
    record_free(record);
}

TEST(test_who_is_left_out)
{
    static const struct line lines[] = {
        { -5, 9, "process-running", "trainer-0" }, /* its submission was compacted */
        { 5, 8, "job-queued", "never was submitted" },
        { 6, 9, "job-succeeded", "" },
        { 7, 8, "job-queued", "a machine was lost" },
    };
    struct record *record = record_new();
    struct record_options since = { .since_us = (BEGIN_S + 20) * 1000000 };
    struct edl_error error = { 0 };
    struct recording made;

    tell(record, lines, ELEMENTS(lines));
    assert_int_equal(recording_of(record, &everything, &made, &error), -EINVAL);
    assert_non_null(strstr(error.text, "1 were submitted before it"));
    assert_non_null(strstr(error.text, "1 never ran"));
    assert_non_null(strstr(error.remedy, "--keep-events"));
    tell(record, three, ELEMENTS(three));
    made = made_of(record, &everything);
    assert_int_equal(made.trace->n, 3);
    assert_int_equal(made.n_unseen, 1);
    assert_int_equal(made.n_never_ran, 1);
    recording_done(&made);
    made = made_of(record, &since);
    assert_int_equal(made.trace->n, 2);
    assert_string_equal(made.trace->jobs[0].name, "two");
    assert_near(made.trace->jobs[0].submit_s, 0);
    assert_near(made.trace->jobs[1].submit_s, 30);
    assert_int_equal(made.n_earlier, 2);
    recording_done(&made);
    record_free(record);
}

/* Lines that no scheduler wrote, and a clock that was set back, do no harm. */
TEST(test_nonsense)
{
    static const struct line lines[] = {
        { 0, 1, "process-running", "trainer-99999999999999999999" },
        { 0, 1, "process-running", "trainer-4000" },
        { 0, 1, "process-running", "trainer-" },
        { 0, 1, "process-running", "-3" },
        { 0, 1, "process-running", "trainer-3x" },
        { 0, 1, "process-running", "a-role-with-a-name-that-is-too-long-for-any-3" },
        { 0, 1, "process-running", "" },
        { 0, 1, "job-scaled", "trainer: many" },
        { 0, 1, "job-resized", "at all" },
        { 0, 1, "job-queued", " was submitted" },
        { 0, 1, "no such event", "" },
        { 1, 1, "process-exited", "trainer-5" },
        { 10, 1, "job-queued", "odd was submitted" },
        { 20, 1, "process-running", "trainer-0" },
        { 15, 1, "process-running", "trainer-1" },
        { 30, 1, "job-succeeded", "" },
    };
    struct record *record = record_new();
    struct recording made;

    tell(record, lines, ELEMENTS(lines));
    made = made_of(record, &everything);
    assert_int_equal(made.trace->n, 1);
    assert_near(made.trace->jobs[0].work_steps, 20);
    recording_done(&made);
    record_free(record);
}

/* What was recorded, as a run: the figures of the laboratory; and a policy that does the same has
 * the same ones. */
TEST(test_figures)
{
    struct record *record = record_new();
    struct run_config config = cluster_of(1, 5);
    struct edl_error error = { 0 };
    struct recording made;
    struct figures figures;
    struct run_result run;

    tell(record, three, ELEMENTS(three));
    made = made_of(record, &(struct record_options){ .end_us = (BEGIN_S + 73) * 1000000 });
    assert_int_equal(figures_of(made.trace, &config, &made.result, &figures, &error), 0);
    assert_near(figures.completion_avg_s, (62 + 41 + 23) / 3.0);
    assert_near(figures.waiting_avg_s, (10 + 0 + 1) / 3.0);
    assert_near(figures.makespan_s, 73);
    assert_near(figures.allocated, 176 / (5 * 73.0));
    assert_near(figures.effective, (105 + 39 + 20) / (5 * 73.0));
    config.restart_s = 0;
    run = run_of(made.trace, policy_of("fulfilment"), &config);
    assert_near(run.jobs[1].done_s - run.jobs[1].submit_s,
                39); /* one instance from the beginning */
    assert_near(run.jobs[0].served_s, 105);
    run_result_done(&run);
    recording_done(&made);
    record_free(record);
}

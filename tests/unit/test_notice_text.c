/* SPDX-License-Identifier: Apache-2.0 */
/* test_notice_text.c - notices as owners of jobs get them: mails, and the bodies of webhooks */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "scheduler/core/core.h"
#include "scheduler/core/model/notices.h"
#include "scheduler/notices/mail_text.h"
#include "scheduler/notices/notice_json.h"
#include "shared/cleanup.h"
#include "shared/json_read.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

static const struct mail_head head = { .from = "edl@lab.example",
                                       .to = "ann@lab.example,bob",
                                       .domain = "home.example",
                                       .host = "n0",
                                       .id = "c-7",
                                       .wall_us = UINT64_C(1796000000) * USEC_PER_SEC };

#define FAILED                                                                                     \
    "{\"event\":\"fail\",\"job\":12,\"name\":\"train\",\"user\":\"ann\",\"state\":\"failed\","     \
    "\"reason\":\"it failed\",\"array\":null,\"submitted_at\":\"2026-12-01T18:00:00Z\","           \
    "\"started_at\":\"2026-12-01T18:00:05Z\",\"ended_at\":\"2026-12-01T19:01:06Z\","               \
    "\"ran_s\":3661,\"first_error\":{\"process\":\"trainer-0\",\"node\":\"n1\","                   \
    "\"text\":\"RuntimeError: no luck\"},\"see\":\"edl logs 12\"}\n"
#define ENDED                                                                                      \
    "{\"event\":\"end\",\"job\":104,\"name\":\"grid-99\",\"user\":\"ann\",\"state\":\"failed\","   \
    "\"reason\":\"the last\",\"array\":{\"name\":\"grid\",\"jobs\":100,\"succeeded\":97,"          \
    "\"failed\":2,\"killed\":1,\"first_failed\":9},\"ran_s\":3,"                                   \
    "\"see\":\"edl ps --all --array grid\"}\n"

static void has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("\"%s\" is not in: %s", part, text);
}

TEST(test_a_mail)
{
    _cleanup_free_ char *mail = mail_text_make(&head, FAILED, 0);

    has(mail, "From: EDL <edl@lab.example>\nTo: ann@lab.example,\n bob@home.example\n"
              "Subject: EDL: job train (12) has failed\nDate: Mon, 30 Nov 2026 00:53:20 +0000\n"
              "Message-ID: <c-7@n0>\nX-EDL-Notice-Id: c-7\nAuto-Submitted: auto-generated\n");
    has(mail, "\n\njob train (12) has failed\n\n");
    has(mail, "  why          it failed\n");
    has(mail, "  first error  trainer-0 on n1: RuntimeError: no luck\n");
    has(mail, "  ran for      1 h 1 min\n");
    has(mail, "  see          edl logs 12\n");
}

TEST(test_an_array)
{
    _cleanup_free_ char *mail = mail_text_make(&head, ENDED, 0);

    has(mail, "Subject: EDL: array grid is over: 97 of 100 succeeded, 2 failed, 1 killed\n");
    has(mail, "  see          edl ps --all --array grid\n");
    has(mail, "  failed first edl logs 9\n");
    assert_null(strstr(mail, "the last")); /* of one of its jobs */
}

TEST(test_many_in_one)
{
    _cleanup_free_ char *mail = mail_text_make(&head, FAILED ENDED FAILED, 5);

    has(mail, "Subject: EDL: notices of jobs: 8, of failures: 2\n");
    has(mail, "array grid is over");
    has(mail, "and 5 more: edl ps --all\n");
}

/* No line end of others ends a header, no odd byte is in one, and no line is too long. */
TEST(test_words_of_others_stay_in_their_line)
{
    static const char evil[] = "x\nBcc: eve@x\r\n\r\nbody\x1b[2J\xe2\x80\xae\xc3\xa4\x7f";
    char long_text[3000];
    json_t *notice;
    _cleanup_free_ char *line = NULL, *mail = NULL, *subject = NULL;
    const char *end;

    memset(long_text, 'y', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    notice = json_pack("{s:s,s:i,s:s,s:s,s:s,s:s,s:n,s:{s:s,s:s,s:s},s:s}", "event", evil, "job", 1,
                       "name", evil, "user", evil, "state", evil, "reason", long_text, "array",
                       "first_error", "process", evil, "node", evil, "text", evil, "see", evil);
    line = json_dumps(notice, JSON_COMPACT);
    json_decref(notice);
    mail = mail_text_make(&head, line, 0);
    subject = mail_text_subject(line, 0);
    end = strstr(mail, "\n\n");
    assert_non_null(end);
    assert_null(strstr(mail, "\nBcc"));
    assert_null(strchr(mail, '\r'));
    assert_null(strchr(mail, '\x1b'));
    for (const char *c = mail; c < end; c++)
        if (*c != '\n' && (*c < ' ' || *c > '~'))
            fail_msg("byte %d in a header", *c);
    for (const char *c = subject; *c != '\0'; c++)
        assert_in_range(*c, ' ', '~');
    assert_true(strlen(subject) <= 200);
    for (const char *c = mail; *c != '\0'; c += strcspn(c, "\n") + 1)
        assert_true(strcspn(c, "\n") < 998);
}

TEST(test_addresses_of_a_header)
{
    struct mail_head odd = head;
    _cleanup_free_ char *mail = NULL;

    odd.from = "a@b\nBcc: c@d";
    odd.to = "e@f\r\nBcc: g@h";
    odd.id = "1\nX: y";
    mail = mail_text_make(&odd, FAILED, 0);
    assert_null(strstr(mail, "\nBcc"));
    assert_null(strstr(mail, "\nX: "));
}

TEST(test_what_a_webhook_gets)
{
    _cleanup_free_ char *text = notices_envelope(FAILED ENDED, 3, "c-7");
    json_t *json = json_loads(text, 0, NULL);

    assert_non_null(json);
    assert_int_equal(json_u64(json, "version"), NOTICE_VERSION);
    assert_string_equal(json_text(json, "id"), "c-7");
    assert_int_equal(json_u64(json, "more"), 3);
    assert_int_equal(json_array_size(json_object_get(json, "notices")), 2);
    json_decref(json);
}

TEST(test_a_notice_of_a_job)
{
    struct world *w = world_new(1, 2500, GIB, 1000);
    struct job_spec *spec = world_spec("train", 1, 1, 200, 0, 0);
    struct job *job;
    struct array_notice array = { .n_jobs = 3, .n_failed = 1, .first_failed = 1 };
    json_t *json, *again;

    spec->restart_max = 0; /* its first failure is its end */
    job = world_submit(w, spec);
    for (int i = 0; i < 6; i++)
        world_second(w);
    world_says(w, world_live(job, "trainer", 0), "RuntimeError: no luck", 0);
    world_exit(w, world_live(job, "trainer", 0), 1, 0);
    world_run(w, 3);
    assert_int_equal(job->state, JOB_FAILED);
    json = notice_to_json(job, NOTIFY_FAIL, NULL, "mark", w->now);
    assert_string_equal(json_text(json, "id"), "mark-1-fail");
    assert_string_equal(json_text(json, "event"), "fail");
    assert_string_equal(json_text(json, "state"), "failed");
    assert_string_equal(json_text(json_object_get(json, "first_error"), "text"),
                        "RuntimeError: no luck");
    assert_true(json_u64(json, "ran_s") >= 3);
    assert_string_equal(json_text(json, "see"), "edl logs 1");
    assert_true(json_is_null(json_object_get(json, "array")));
    again = notice_to_json(job, NOTIFY_END, &array, "mark", w->now);
    assert_int_equal(json_u64(json_object_get(again, "array"), "failed"), 1);
    json_decref(json);
    json_decref(again);
    world_free(w);
}

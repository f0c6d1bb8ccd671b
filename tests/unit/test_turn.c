/* SPDX-License-Identifier: Apache-2.0 */
/* test_turn.c - nothing is told before it is on disk: the answers between a change and its
 * commit */
#include "tests/unit/live_scheduler.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "scheduler/turn_flight.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

static const char job[] =
    "{\"metadata\":{\"name\":\"early\"},\"spec\":{\"trainer\":{\"entrypoint\":"
    "\"true\",\"min-instance\":1,\"max-instance\":1}}}";

/* Reads that would tell of the job. */
static const char *const reads[] = { "/jobs",           "/jobs?state=all", "/jobs/early",
                                     "/jobs/early/why", "/cluster",        "/events?after=0",
                                     "/jobs/1/events" };

TEST_EACH(live_setup, live_teardown);

TEST(test_reads_wait_for_the_commit)
{
    struct live *live = *state;
    struct reply posted = { 0 }, health = { 0 }, seen[ELEMENTS(reads)] = { 0 };

    live_send(live, "POST", "/jobs", NULL, job, &posted);
    live_hold(live);
    for (size_t i = 0; i < ELEMENTS(reads); i++)
        live_send(live, "GET", reads[i], NULL, NULL, &seen[i]);
    live_readers(live, ELEMENTS(reads));
    assert_int_equal(live_ask(live, "GET", "/healthz", NULL, NULL, &health), 200);
    assert_int_equal(posted.n, 0);
    for (size_t i = 0; i < ELEMENTS(reads); i++)
        assert_int_equal(seen[i].n, 0);
    live_release(live);
    live_wait(live, &posted);
    assert_int_equal(posted.status, 201);
    for (size_t i = 0; i < ELEMENTS(reads); i++) {
        live_wait(live, &seen[i]);
        assert_int_equal(seen[i].status, 200);
        if (strstr(seen[i].body, "early") == NULL && strstr(reads[i], "why") == NULL)
            fail_msg("%s: %s", reads[i], seen[i].body);
        reply_clear(&seen[i]);
    }
    assert_false(live->scheduler->turn_wanted); /* reading asked for no turn */
    reply_clear(&posted);
    reply_clear(&health);
}

TEST(test_reads_know_nothing_of_a_commit_that_fails)
{
    struct live *live = *state;
    struct reply posted = { 0 }, after = { 0 }, seen[ELEMENTS(reads)] = { 0 };

    live_send(live, "POST", "/jobs", NULL, job, &posted);
    live_hold(live);
    for (size_t i = 0; i < ELEMENTS(reads); i++)
        live_send(live, "GET", reads[i], NULL, NULL, &seen[i]);
    live_readers(live, ELEMENTS(reads));
    live_disk_full(true);
    live_release(live);
    live_wait(live, &posted);
    live_disk_full(false);
    assert_int_equal(posted.status, 507);
    for (size_t i = 0; i < ELEMENTS(reads); i++) { /* they are told what is on disk */
        live_wait(live, &seen[i]);
        if (seen[i].status != 404)
            assert_int_equal(seen[i].status, 200);
        assert_true(seen[i].status == 404 || strstr(seen[i].body, "early") == NULL);
        reply_clear(&seen[i]);
    }
    live_restart(live);
    assert_int_equal(live_ask(live, "GET", "/jobs/early", NULL, NULL, &after), 404);
    reply_clear(&posted);
    reply_clear(&after);
}

static int raw_connect(const struct live *live)
{
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_port = htons(live->scheduler->listeners.specs[0].port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

/* Its headers had passed before the commit failed. */
TEST(test_a_late_read_knows_nothing_of_a_commit_that_failed)
{
    struct live *live = *state;
    struct reply posted = { 0 }, health = { 0 };
    uint64_t end_us = clock_read_us(CLOCK_BOOTTIME) + 120 * USEC_PER_SEC;
    char text[2048];
    int fd = raw_connect(live);
    ssize_t n;

    n = snprintf(text, sizeof text,
                 "GET /jobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"
                 "Content-Length: 1\r\n\r\n",
                 live->scheduler->admin_token);
    assert_int_equal(write(fd, text, (size_t)n), n);
    for (int i = 0; i < 3; i++) /* the loop has seen the headers by then */
        assert_int_equal(live_ask(live, "GET", "/healthz", NULL, NULL, &health), 200);
    live_send(live, "POST", "/jobs", NULL, job, &posted);
    live_hold(live);
    live_disk_full(true);
    live_release(live);
    live_wait(live, &posted);
    live_disk_full(false);
    assert_int_equal(write(fd, "x", 1), 1);
    while ((n = recv(fd, text, sizeof text - 1, MSG_DONTWAIT)) == -1) {
        assert_true(clock_read_us(CLOCK_BOOTTIME) < end_us);
        assert_true(sd_event_run(live->scheduler->event, 10 * USEC_PER_MSEC) >= 0);
    }
    text[n] = '\0';
    assert_non_null(strstr(text, "HTTP/1.1 200 "));
    assert_null(strstr(text, "early"));
    (void)safe_close(fd);
    reply_clear(&posted);
    reply_clear(&health);
}

TEST(test_long_polls_hear_of_the_turn)
{
    struct live *live = *state;
    struct reply posted = { 0 }, before = { 0 }, within = { 0 };

    assert_int_equal(live_ask(live, "GET", "/events?after=0", NULL, NULL, &before), 200);
    live_send(live, "GET", "/events?after=0&wait=30", NULL, NULL, &before);
    live_send(live, "POST", "/jobs", NULL, job, &posted);
    live_hold(live);
    live_send(live, "GET", "/events?after=0&wait=30", NULL, NULL, &within);
    live_readers(live, 1);
    live_release(live);
    live_wait(live, &before); /* at the news, not at the deadline: that is beyond the test's */
    live_wait(live, &within);
    assert_non_null(strstr(before.body, "job-queued"));
    assert_non_null(strstr(within.body, "job-queued"));
    live_wait(live, &posted);
    reply_clear(&posted);
    reply_clear(&before);
    reply_clear(&within);
}

/* It may name jobs that are not on disk yet, and so may a refusal. */
TEST(test_forecasts_and_refusals_wait_for_the_commit)
{
    struct live *live = *state;
    struct reply posted = { 0 }, forecast = { 0 }, refusal = { 0 }, health = { 0 };
    char other[sizeof job + 8];
    const char *name = strstr(job, "early");

    (void)snprintf(other, sizeof other, "%.*slater%s", (int)(name - job), job, name + 5);
    live_send(live, "POST", "/jobs", NULL, job, &posted);
    live_hold(live);
    live_send(live, "POST", "/jobs?dry_run=1", NULL, other, &forecast);
    live_send(live, "POST", "/jobs", NULL, job, &refusal);
    for (int i = 0; i < 3; i++) { /* on connections of their own: the loop has seen them by then */
        assert_int_equal(live_ask(live, "GET", "/healthz", NULL, NULL, &health), 200);
        assert_int_equal(forecast.n + refusal.n, 0);
    }
    live_release(live);
    live_wait(live, &forecast);
    live_wait(live, &refusal);
    assert_int_equal(forecast.status, 200);
    assert_int_equal(refusal.status, 409);
    live_wait(live, &posted);
    reply_clear(&posted);
    reply_clear(&forecast);
    reply_clear(&refusal);
    reply_clear(&health);
}

static const char join[] = "{\"node\":\"n1\",\"address\":\"127.0.0.1\",\"cpu_millicores\":4000,"
                           "\"memory_bytes\":1073741824,\"gpus\":0,\"port_first\":20000,"
                           "\"port_last\":20099}";

static void report_text(char *ret, size_t size, unsigned sent_us, unsigned foreign)
{
    (void)snprintf(ret, size,
                   "{\"address\":\"127.0.0.1\",\"cpu_millicores\":4000,"
                   "\"memory_bytes\":1073741824,\"gpus\":0,\"port_first\":20000,"
                   "\"port_last\":20099,\"boot_id\":\"b\",\"sent_us\":%u,"
                   "\"foreign_cpu_millicores\":%u,\"processes\":[]}",
                   sent_us, foreign);
}

/* Those that change nothing need no turn; those that do, or come while one is under way, wait. */
TEST(test_reports_wait_for_a_turn_that_is_due)
{
    struct live *live = *state;
    struct reply joined = { 0 }, posted = { 0 }, first = { 0 }, same = { 0 }, within = { 0 };
    char body[512];

    assert_int_equal(live_ask(live, "POST", "/nodes/join", NULL, join, &joined), 201);
    report_text(body, sizeof body, 1, 0);
    live_send(live, "POST", "/nodes/n1/report", NULL, body, &first);
    live_hold(live);
    assert_int_equal(first.n, 0);
    live_release(live);
    live_wait(live, &first);
    assert_int_equal(first.status, 200);

    live->scheduler->committed = false; /* a turn would set it */
    report_text(body, sizeof body, 2, 0);
    assert_int_equal(live_ask(live, "POST", "/nodes/n1/report", NULL, body, &same), 200);
    assert_false(live->scheduler->committed);
    assert_non_null(json_object_get(same.json, "orders_version"));
    assert_int_equal(json_integer_value(json_object_get(same.json, "next_report_us")), 5000);

    live_send(live, "POST", "/jobs", NULL, job, &posted);
    live_hold(live);
    report_text(body, sizeof body, 3, 0);
    live_send(live, "POST", "/nodes/n1/report", NULL, body, &within);
    for (int i = 0; i < 3; i++) { /* the loop has handled it by then */
        struct reply health = { 0 };

        assert_int_equal(live_ask(live, "GET", "/healthz", NULL, NULL, &health), 200);
        reply_clear(&health);
    }
    assert_int_equal(within.n, 0); /* its orders_version would tell of the job's process */
    live_release(live);
    live_wait(live, &within);
    live_wait(live, &posted);
    assert_int_equal(within.status, 200);
    assert_true(json_integer_value(json_object_get(within.json, "orders_version")) >
                json_integer_value(json_object_get(same.json, "orders_version")));
    reply_clear(&joined);
    reply_clear(&posted);
    reply_clear(&first);
    reply_clear(&same);
    reply_clear(&within);
}

/* Each agent keeps two connections open: what the operator allows is used. */
TEST(test_takes_as_many_connections_as_files_may_be_open)
{
    struct live *live = *state;
    struct rlimit before, limit;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    limit = (struct rlimit){ .rlim_cur = 128, .rlim_max = before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    live_restart(live);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_true(limit.rlim_cur >= MIN_OF(before.rlim_max, (rlim_t)65536));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

/* --- in flight --- */

TEST(test_reports_wait_for_turns_that_are_always_slow)
{
    static const struct {
        uint64_t took_ms[2], lease_ms, patience_ms;
    } cases[] = {
        { { 0, 0 }, 5000, 50 },    { { 1, 2 }, 5000, 50 },    { { 90, 95 }, 5000, 180 },
        { { 4000, 2 }, 5000, 50 }, { { 2, 4000 }, 5000, 50 }, { { 4000, 4000 }, 5000, 500 },
        { { 900, 900 }, 100, 50 },
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        const uint64_t took_us[] = { cases[i].took_ms[0] * USEC_PER_MSEC,
                                     cases[i].took_ms[1] * USEC_PER_MSEC };

        assert_int_equal(flight_patience_us(took_us, cases[i].lease_ms * USEC_PER_MSEC),
                         cases[i].patience_ms * USEC_PER_MSEC);
    }
}

/* --- what ends a scheduler --- */

static char told[1000];

static int keep_error(const struct log_record *record)
{
    if (record->level == LOG_LEVEL_ERROR)
        (void)snprintf(told, sizeof told, "%s", record->text);
    return 0;
}

/* Another one of several goes on. Nobody continues from a state that cannot be loaded. */
TEST(test_an_end_says_what_is_stored_and_who_goes_on)
{
    static const struct {
        enum end_cause cause;
        enum leadership_role role;
        const char *text;
    } rows[] = {
        { END_TURN_LOST, ROLE_ALONE,
          "bad row; nothing of this turn was stored. Ending: a restart continues from what is "
          "stored; mend it" },
        { END_TURN_LOST, ROLE_LEADER,
          "bad row; nothing of this turn was stored. Ending: the next leader continues from what "
          "is stored; mend it" },
        { END_NOT_LOADED, ROLE_ALONE,
          "bad row; the stored state could not be loaded. Ending: a restart tries that again; mend "
          "it" },
        { END_NOT_LOADED, ROLE_STANDBY,
          "bad row; the stored state could not be loaded. Ending: the next leader tries that "
          "again; mend it" },
        { END_DAMAGED, ROLE_ALONE,
          "bad row; nothing more is stored there. Ending: a restart looks at it again; mend it" },
    };
    struct live *live = *state;
    struct edl_error error = { 0 };

    (void)edl_error_set(&error, EDL_ECORRUPT, "bad row");
    (void)edl_error_remedy(&error, "mend it");
    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        live->scheduler->leadership.role = rows[i].role;
        log_to(keep_error);
        scheduler_end(live->scheduler, rows[i].cause, &error);
        log_to(NULL);
        assert_string_equal(told, rows[i].text);
        live->scheduler->leadership.role = ROLE_ALONE;
        live_restart(live);
    }
}

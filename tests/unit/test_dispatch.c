/* SPDX-License-Identifier: Apache-2.0 */
/* test_dispatch.c - how much of one caller may wait, callers that come in all the same, and their
 * answers */
#include "tests/unit/live_scheduler.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>

#include "shared/clock.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

enum { WAITING = 256, FORECASTS = 4 }; /* of one caller at most */

static const char job[] =
    "{\"metadata\":{\"name\":\"early\"},\"spec\":{\"trainer\":{\"entrypoint\":"
    "\"true\",\"min-instance\":1,\"max-instance\":1}}}";

static const char later[] =
    "{\"metadata\":{\"name\":\"later\"},\"spec\":{\"after\":[\"early\"],\"trainer\":{"
    "\"entrypoint\":\"true\",\"min-instance\":1,\"max-instance\":1}}}";

/* make_user - a viewer with a token, which the reply holds */
static const char *make_user(struct live *live, const char *name, struct reply *made)
{
    struct reply added = { 0 };
    char body[100];

    (void)snprintf(body, sizeof body, "{\"name\":\"%s\",\"role\":\"user\"}", name);
    assert_int_equal(live_ask(live, "POST", "/users", NULL, body, &added), 201);
    reply_clear(&added);
    (void)snprintf(body, sizeof body, "{\"user\":\"%s\",\"ttl_s\":600}", name);
    assert_int_equal(live_ask(live, "POST", "/tokens", NULL, body, made), 201);
    return json_string_value(json_object_get(made->json, "token"));
}

static void assert_refused(struct live *live, struct reply *reply, uint64_t began_us)
{
    live_wait(live, reply);
    assert_int_equal(reply->status, 429);
    assert_int_equal(reply->retry_after_s, 1);
    assert_non_null(strstr(reply->body, "of yours wait already"));
    assert_non_null(strstr(reply->body, "\"remedy\""));
    /* not at once: whoever asks again without a pause is not to keep the loop busy */
    assert_true(clock_read_us(CLOCK_MONOTONIC) - began_us >= USEC_PER_SEC);
    reply_clear(reply);
}

TEST_EACH(live_setup, live_teardown);

TEST(test_one_caller_has_a_bounded_number_waiting)
{
    struct live *live = *state;
    struct reply posted = { 0 }, made = { 0 }, others = { 0 }, more = { 0 };
    static struct reply many[WAITING];
    const char *ann = make_user(live, "ann", &made);
    uint64_t began_us;

    live_send(live, "POST", "/jobs", NULL, job, &posted);
    live_hold(live); /* what is read waits from here on */
    for (size_t i = 0; i < WAITING; i++)
        live_send(live, "GET", "/whoami", NULL, NULL, &many[i]);
    live_readers(live, WAITING);
    began_us = clock_read_us(CLOCK_MONOTONIC);
    live_send(live, "GET", "/whoami", NULL, NULL, &more);
    assert_refused(live, &more, began_us);
    assert_int_equal(live->scheduler->dispatch.refused[FAIR_CALLER_FULL], 1);
    live_send_as(live, ann, "GET", "/whoami", NULL, NULL, &others);
    live_readers(live, WAITING + 1);
    live_release(live);
    live_wait(live, &others);
    assert_int_equal(others.status, 200);
    for (size_t i = 0; i < WAITING; i++) {
        live_wait(live, &many[i]);
        assert_int_equal(many[i].status, 200);
        reply_clear(&many[i]);
    }
    reply_clear(&posted);
    reply_clear(&made);
    reply_clear(&others);
}

TEST(test_forecasts_wait_for_each_other_and_few_of_one_caller)
{
    struct live *live = *state;
    struct reply posted = { 0 }, made = { 0 }, others = { 0 }, more = { 0 }, few[FORECASTS] = { 0 };
    const char *ann = make_user(live, "ann", &made);
    uint64_t began_us;

    live_send(live, "POST", "/jobs", NULL, job, &posted);
    live_hold(live);
    for (size_t i = 0; i < FORECASTS; i++)
        live_send(live, "PATCH", "/jobs/early?dry_run=1", NULL, "{\"priority\":-1}", &few[i]);
    live_readers(live, FORECASTS);
    began_us = clock_read_us(CLOCK_MONOTONIC);
    live_send(live, "POST", "/jobs?dry_run=1", NULL, job, &more);
    assert_refused(live, &more, began_us);
    live_send_as(live, ann, "POST", "/jobs?dry_run=1", NULL, later, &others);
    live_readers(live, FORECASTS + 1);
    live_release(live);
    live_wait(live, &others);
    assert_int_equal(others.status, 200); /* the job that it names is on disk by now */
    for (size_t i = 0; i < FORECASTS; i++) {
        live_wait(live, &few[i]);
        assert_int_equal(few[i].status, 200);
        assert_true(json_is_true(json_object_get(few[i].json, "dry_run")));
        reply_clear(&few[i]);
    }
    reply_clear(&posted);
    reply_clear(&made);
    reply_clear(&others);
}

TEST(test_a_scheduler_that_ends_leaves_no_forecast_behind)
{
    struct live *live = *state;
    struct reply asked = { 0 };

    live_send(live, "POST", "/jobs?dry_run=1", NULL, job, &asked);
    while (live->scheduler->forecast == NULL)
        assert_true(sd_event_run(live->scheduler->event, 120 * USEC_PER_SEC) > 0);
    live_restart(live);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    assert_int_equal(asked.n, 0);
    assert_int_equal(live_ask(live, "POST", "/jobs?dry_run=1", NULL, job, &asked), 200);
    reply_clear(&asked);
}

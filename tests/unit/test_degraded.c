/* SPDX-License-Identifier: Apache-2.0 */
/* test_degraded.c - a scheduler that can store nothing: its refusals, the calls that go on, and the
 * way back */
#include "tests/unit/live_scheduler.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "scheduler/store/store.h"
#include "shared/clock.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define DEADLINE_US (120 * USEC_PER_SEC)
#define JOB(name_)                                                                                 \
    "{\"metadata\":{\"name\":\"" name_ "\"},\"spec\":{\"trainer\":{\"entrypoint\":\"true\","       \
    "\"min-instance\":1,\"max-instance\":1}}}"
#define OFFER                                                                                      \
    "\"address\":\"10.0.0.7\",\"cpu_millicores\":4000,\"memory_bytes\":4294967296,\"gpus\":0,"     \
    "\"port_first\":20000,\"port_last\":20099"
#define REPORT(boot_) "{\"boot_id\":\"" boot_ "\",\"sent_us\":1,\"processes\":[]," OFFER "}"

static void ask(struct live *live, unsigned status, const char *method, const char *path,
                const char *body, struct reply *reply)
{
    if (live_ask(live, method, path, NULL, body, reply) != status)
        fail_msg("%s %s: %u, %s", method, path, reply->status, reply->body);
}

/* The disk is full, and the scheduler has found out. */
static void fill(struct live *live)
{
    struct reply reply = { 0 };

    live_disk_full(true);
    ask(live, 507, "POST", "/jobs", JOB("vanished"), &reply);
    assert_true(live->scheduler->degraded.on);
    reply_clear(&reply);
}

static void await_recovery(struct live *live)
{
    uint64_t end_us = clock_read_us(CLOCK_BOOTTIME) + DEADLINE_US;

    live_disk_full(false);
    while (live->scheduler->degraded.on || live->scheduler->turn_wanted) {
        assert_true(clock_read_us(CLOCK_BOOTTIME) < end_us);
        assert_true(sd_event_run(live->scheduler->event, 100 * USEC_PER_MSEC) >= 0);
    }
}

TEST_EACH(live_setup, live_teardown);

TEST(test_changes_are_refused_and_reads_answered)
{
    static const char *const reads[] = { "/jobs",  "/jobs/kept",      "/cluster",
                                         "/nodes", "/events?after=0", "/metrics" };
    static const struct {
        const char *method, *path, *body;
    } changes[] = {
        { "POST", "/jobs", JOB("more") },
        { "DELETE", "/jobs/kept", NULL },
        { "PATCH", "/jobs/kept", "{\"max\":2}" },
        { "POST", "/nodes/join", "{\"node\":\"n2\"," OFFER "}" },
    };
    struct live *live = *state;
    struct reply reply = { 0 };

    ask(live, 201, "POST", "/jobs", JOB("kept"), &reply);
    fill(live);
    for (size_t i = 0; i < ELEMENTS(changes); i++) {
        ask(live, 507, changes[i].method, changes[i].path, changes[i].body, &reply);
        assert_non_null(strstr(reply.body, live->folder)); /* where, how much is left, what to do */
        assert_non_null(strstr(reply.body, "bytes free"));
        assert_true(reply.error.remedy[0] != '\0');
    }
    for (size_t i = 0; i < ELEMENTS(reads); i++) {
        ask(live, 200, "GET", reads[i], NULL, &reply);
        assert_null(strstr(reply.body, "vanished"));
    }
    assert_non_null(strstr(reply.body, "\nedl_db_writable 0\n"));
    ask(live, 503, "GET", "/readyz", NULL, &reply);
    assert_non_null(strstr(reply.body, "nothing can be stored"));
    ask(live, 200, "GET", "/healthz", NULL, &reply);
    ask(live, 200, "POST", "/jobs?dry_run=1", JOB("asked"), &reply);
    ask(live, 507, "POST", "/jobs?dry_run=0", JOB("asked"), &reply);
    reply_clear(&reply);
}

TEST(test_it_goes_on_by_itself)
{
    struct live *live = *state;
    struct reply reply = { 0 }, again = { 0 };

    assert_int_equal(live_ask(live, "POST", "/jobs", "k1", JOB("first"), &reply), 201);
    fill(live);
    assert_int_equal(live_ask(live, "POST", "/jobs", "k2", JOB("second"), &again), 507);
    /* What was acknowledged before has its answer still. */
    assert_int_equal(live_ask(live, "POST", "/jobs", "k1", JOB("first"), &again), 201);
    assert_string_equal(again.body, reply.body);
    assert_int_equal(live_ask(live, "POST", "/jobs", "k1", JOB("second"), &again), 422);
    await_recovery(live);
    ask(live, 200, "GET", "/readyz", NULL, &again);
    ask(live, 200, "GET", "/metrics", NULL, &again);
    assert_non_null(strstr(again.body, "\nedl_db_writable 1\n"));
    assert_int_equal(live_ask(live, "POST", "/jobs", "k1", JOB("first"), &again), 201);
    assert_string_equal(again.body, reply.body);
    /* The key was not used up. */
    assert_int_equal(live_ask(live, "POST", "/jobs", "k2", JOB("second"), &again), 201);
    ask(live, 404, "GET", "/jobs/vanished", NULL, &again);
    live_restart(live);
    ask(live, 200, "GET", "/jobs/second", NULL, &again);
    ask(live, 404, "GET", "/jobs/vanished", NULL, &again);
    reply_clear(&reply);
    reply_clear(&again);
}

/* Who may do what is in memory as well, and goes back to what is stored. */
TEST(test_a_user_that_was_not_stored_is_not_there)
{
    struct live *live = *state;
    struct reply reply = { 0 };

    ask(live, 201, "POST", "/users", "{\"name\":\"ann\",\"role\":\"viewer\"}", &reply);
    live_disk_full(true);
    ask(live, 507, "POST", "/users", "{\"name\":\"bob\",\"role\":\"admin\"}", &reply);
    ask(live, 200, "GET", "/users/ann", NULL, &reply);
    ask(live, 404, "GET", "/users/bob", NULL, &reply);
    await_recovery(live);
    ask(live, 404, "GET", "/users/bob", NULL, &reply);
    ask(live, 200, "GET", "/audit", NULL, &reply);
    assert_non_null(strstr(reply.body, "\"status\""));
    assert_null(strstr(reply.body, "bob"));
    reply_clear(&reply);
}

static void join(struct live *live, struct reply *reply)
{
    ask(live, 201, "POST", "/nodes/join", "{\"node\":\"n1\"," OFFER "}", reply);
    if (live_ask(live, "POST", "/nodes/n1/report", NULL, REPORT("boot-1"), reply) == 200)
        return;
    fail_msg("%s", reply->body);
}

TEST(test_reports_renew_the_lease_and_tell_nothing)
{
    static const char exited[] =
        "{\"boot_id\":\"boot-1\",\"sent_us\":2," OFFER
        ",\"processes\":[{\"job_id\":1,\"role\":\"trainer\",\"index\":0,\"incarnation\":1,"
        "\"state\":\"exited\",\"exit_code\":1}]}";
    struct live *live = *state;
    struct reply reply = { 0 };
    char again[sizeof exited + 64];
    json_int_t session;

    ask(live, 201, "POST", "/jobs", JOB("kept"), &reply);
    join(live, &reply);
    assert_true(json_object_get(reply.json, "stored") == NULL);
    ask(live, 200, "GET", "/jobs/kept", NULL, &reply);
    assert_string_equal(json_string_value(json_object_get(reply.json, "state")), "starting");
    fill(live);
    ask(live, 200, "POST", "/nodes/n1/report", exited, &reply);
    assert_true(json_integer_value(json_object_get(reply.json, "lease_us")) > 0);
    assert_true(json_is_false(json_object_get(reply.json, "stored")));
    assert_null(json_object_get(reply.json, "orders_version"));
    ask(live, 507, "POST", "/nodes/n1/report", REPORT("boot-2"), &reply); /* its processes ended */
    ask(live, 503, "GET", "/nodes/n1/orders?wait=0", NULL, &reply); /* it has those of before */
    ask(live, 200, "GET", "/jobs/kept", NULL, &reply);
    assert_string_equal(json_string_value(json_object_get(reply.json, "state")), "starting");
    await_recovery(live);
    ask(live, 409, "POST", "/nodes/n1/report", exited, &reply); /* as after a start: once more */
    session = json_integer_value(json_object_get(reply.json, "session"));
    (void)snprintf(again, sizeof again, "{\"session\":%lld,%s", (long long)session, exited + 1);
    ask(live, 200, "POST", "/nodes/n1/report", again, &reply); /* and now it is taken */
    assert_true(json_object_get(reply.json, "stored") == NULL);
    ask(live, 200, "GET", "/jobs/kept/processes?state=all", NULL, &reply);
    assert_non_null(strstr(reply.body, "\"exited\""));
    reply_clear(&reply);
}

TEST(test_a_lost_node_gets_no_lease)
{
    struct live *live = *state;
    struct reply reply = { 0 };
    struct instant late = clock_instant();

    join(live, &reply);
    late.now_us += 3600 * USEC_PER_SEC;
    cluster_tick(live->scheduler->cluster, late);
    scheduler_touch(live->scheduler);
    assert_int_equal(scheduler_turn(live->scheduler), 0);
    fill(live);
    ask(live, 507, "POST", "/nodes/n1/report", REPORT("boot-1"), &reply);
    reply_clear(&reply);
}

TEST(test_a_start_on_a_full_disk_reads)
{
    struct live *live = *state;
    struct reply reply = { 0 };

    ask(live, 201, "POST", "/jobs", JOB("kept"), &reply);
    fill(live);
    live_restart(live); /* the log is left over: it could not be brought into the file */
    assert_true(store_is_read_only(live->scheduler->store));
    ask(live, 200, "GET", "/jobs/kept", NULL, &reply);
    ask(live, 507, "POST", "/jobs", JOB("more"), &reply);
    await_recovery(live);
    assert_false(store_is_read_only(live->scheduler->store));
    ask(live, 201, "POST", "/jobs", JOB("more"), &reply);
    live_restart(live);
    ask(live, 200, "GET", "/jobs/kept", NULL, &reply);
    ask(live, 200, "GET", "/jobs/more", NULL, &reply);
    reply_clear(&reply);
}

/* Each try costs an fsync: they become rarer until a turn is stored. */
TEST(test_tries_become_rarer)
{
    struct live *live = *state;
    struct reply reply = { 0 };
    uint64_t delay_us;

    fill(live);
    delay_us = live->scheduler->degraded.delay_us;
    for (int i = 0; i < 2; i++) {
        while (live->scheduler->degraded.delay_us == delay_us)
            assert_true(sd_event_run(live->scheduler->event, USEC_PER_SEC) >= 0);
        assert_int_equal(live->scheduler->degraded.delay_us, 2 * delay_us);
        delay_us *= 2;
    }
    await_recovery(live);
    ask(live, 201, "POST", "/jobs", JOB("more"), &reply);
    assert_true(live->scheduler->degraded.delay_us < delay_us);
    reply_clear(&reply);
}

/* A long poll for a task is refused as soon as there is nothing to wait for. */
TEST(test_damage_is_no_reason_to_wait)
{
    static const int waits[] = { -ENOSPC, -EROFS, -EIO, -EAGAIN, -ENOMEM, -EFBIG };

    for (size_t i = 0; i < ELEMENTS(waits); i++)
        assert_true(degraded_survives(waits[i]));
    assert_false(degraded_survives(EDL_ECORRUPT));
    assert_false(degraded_survives(-EINVAL));
}

/* Words of the database name its server, its user and its files. */
TEST(test_nobody_hears_where_the_database_is)
{
    static const struct {
        int code;
        const char *told;
    } rows[] = {
        { -ENOTCONN, "does not lead now, as its database is away" },
        { -ESTALE, "does not lead now\"" },
        { -ENOSPC, "a disk is full on the server of the database" },
        { -EACCES, "does not lead now\"" },
    };
    static const char *const paths[] = { "/healthz", "/readyz", "/jobs" };
    struct live *live = *state;
    struct leadership *leadership = &live->scheduler->leadership;
    struct reply reply = { 0 };
    struct edl_error why = { 0 };

    (void)snprintf(leadership->self.name, sizeof leadership->self.name, "n1");
    for (size_t i = 0; i < ELEMENTS(rows) * ELEMENTS(paths); i++) {
        const char *path = paths[i % ELEMENTS(paths)];
        const char *told = rows[i / ELEMENTS(paths)].told;

        (void)edl_error_set(&why, rows[i / ELEMENTS(paths)].code, "the database edl at secret-db");
        (void)edl_error_remedy(&why, "look at secret-db");
        leadership->role = ROLE_LEADER;
        leadership->leader.name[0] = '\0';
        scheduler_away(live->scheduler, &why);
        ask(live, streq(path, "/healthz") ? 200 : 503, "GET", path, NULL, &reply);
        if (strstr(reply.body, "secret") != NULL || strstr(reply.body, told) == NULL)
            fail_msg("case %zu: %s", i, reply.body);
    }
    reply_clear(&reply);
}

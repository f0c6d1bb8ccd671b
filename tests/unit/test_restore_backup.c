/* SPDX-License-Identifier: Apache-2.0 */
/* test_restore_backup.c - a backup made while the scheduler works, and one that takes its place */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scheduler/core/model/job_names.h"
#include "scheduler/core/record/epoch.h"
#include "scheduler/restore_backup.h"
#include "scheduler/store/store.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/macro.h"
#include "tests/unit/live_scheduler.h"
#include "tests/unit/test.h"

#define JOB(name_)                                                                                 \
    "{\"metadata\":{\"name\":\"" name_ "\"},\"spec\":{\"trainer\":{\"entrypoint\":\"true\","       \
    "\"min-instance\":1,\"max-instance\":1}}}"

static json_int_t submit(struct live *live, const char *job)
{
    struct reply reply = { 0 };
    json_int_t id;

    if (live_ask(live, "POST", "/jobs", NULL, job, &reply) != 201)
        fail_msg("%s", reply.body);
    id = json_integer_value(json_object_get(reply.json, "id"));
    reply_clear(&reply);
    return id;
}

static unsigned status_of(struct live *live, const char *path)
{
    struct reply reply = { 0 };
    unsigned status = live_ask(live, "GET", path, NULL, NULL, &reply);

    reply_clear(&reply);
    return status;
}

static struct scheduler_options options_of(const struct live *live)
{
    struct scheduler_options options = { .policy = &policy_fulfilment,
                                         .max_load_permille = 1000,
                                         .lease_us = 20 * USEC_PER_SEC };

    (void)snprintf(options.state_dir, sizeof options.state_dir, "%s", live->folder);
    (void)snprintf(options.restore_file, sizeof options.restore_file, "%s/taken", live->folder);
    return options;
}

static void write_file(const char *path, const void *data, size_t size)
{
    _cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_int_equal(write(fd, data, size), size);
}

/* GET /backup, kept as `taken` in the folder. */
static void take(struct live *live)
{
    struct reply reply = { 0 };
    struct scheduler_options options = options_of(live);

    assert_int_equal(live_ask(live, "GET", "/backup", NULL, NULL, &reply), 200);
    assert_true(reply.size >= 512);
    assert_int_equal(memcmp(reply.body, "SQLite format 3", 16), 0);
    write_file(options.restore_file, reply.body, reply.size);
    reply_clear(&reply);
}

/* The scheduler ends, and the backup takes its database's place. */
static struct restored restore(struct live *live)
{
    struct scheduler_options options = options_of(live);
    struct restored restored = { 0 };
    struct edl_error error = { 0 };

    live_stop(live);
    if (restore_backup(&options, &restored, &error) < 0)
        fail_msg("%s", error.text);
    return restored;
}

static uint64_t newest_revision(struct live *live)
{
    struct reply reply = { 0 };
    const json_t *events;
    uint64_t revision;

    assert_int_equal(live_ask(live, "GET", "/events?after=0", NULL, NULL, &reply), 200);
    events = json_object_get(reply.json, "events");
    revision = (uint64_t)json_integer_value(
        json_object_get(json_array_get(events, json_array_size(events) - 1), "revision"));
    reply_clear(&reply);
    return revision;
}

TEST_EACH(live_setup, live_teardown);

TEST(test_numbers_are_not_given_again)
{
    struct live *live = *state;
    struct restored first, second;
    struct reply token = { 0 };
    json_int_t lost, again;
    uint64_t revision;

    (void)submit(live, JOB("kept"));
    assert_int_equal(live_ask(live, "POST", "/tokens/join", NULL, "{}", &token), 201);
    take(live);
    lost = submit(live, JOB("lost"));
    revision = newest_revision(live);
    first = restore(live);
    assert_int_equal(first.jobs, 1);
    assert_int_equal(access(first.aside, F_OK), 0);
    live_start(live);
    assert_int_equal(status_of(live, "/jobs/kept"), 200);
    assert_int_equal(status_of(live, "/jobs/lost"), 404);
    /* A join token is good once: it may have been used since. */
    assert_int_equal(live_ask(live, "GET", "/tokens/join", NULL, NULL, &token), 200);
    assert_null(strstr(token.body, "\"unused\""));
    again = submit(live, JOB("again"));
    assert_true(again > lost && (uint64_t)again == first.first_job);
    assert_in_range(first.first_job, 1000, 999999); /* people type it */
    assert_in_range(cluster_find_job(live->scheduler->cluster, "again")->next_incarnation,
                    epoch_first_incarnation(store_epoch(live->scheduler->store)),
                    epoch_first_incarnation(store_epoch(live->scheduler->store)) + 9);
    assert_true(newest_revision(live) > revision);
    assert_true(cluster_find_job(live->scheduler->cluster, "kept")->next_incarnation >= (uint64_t)1
                                                                                            << 40);
    revision = newest_revision(live);
    second = restore(live); /* the same backup once more, within the same second */
    assert_true(second.first_job > (uint64_t)again);
    assert_string_not_equal(second.aside, first.aside);
    live_start(live);
    assert_true(submit(live, JOB("anew")) > again);
    assert_true(newest_revision(live) > revision);
    reply_clear(&token);
    live_restart(live); /* and that is remembered */
    assert_true(submit(live, JOB("later")) > again);
}

TEST(test_one_backup_at_a_time)
{
    struct live *live = *state;
    struct reply reply = { 0 };

    live->scheduler->backup = (struct backup_job *)live; /* one is being made */
    assert_int_equal(live_ask(live, "GET", "/backup", NULL, NULL, &reply), 409);
    assert_true(reply.error.remedy[0] != '\0');
    live->scheduler->backup = NULL;
    take(live);
    take(live);
    reply_clear(&reply);
}

/* Who asked for it has gone, or the scheduler ends: nothing is left behind. */
TEST(test_a_backup_that_nobody_waits_for)
{
    struct live *live = *state;
    struct reply reply = { 0 };
    char path[128];

    (void)snprintf(path, sizeof path, "%s/backup.new", live->folder);
    live_send(live, "GET", "/backup", NULL, NULL, &reply);
    while (live->scheduler->backup == NULL && reply.n == 0)
        assert_true(sd_event_run(live->scheduler->event, USEC_PER_SEC) >= 0);
    live_restart(live);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(status_of(live, "/readyz"), 200);
    reply_clear(&reply);
}

TEST(test_a_running_scheduler_keeps_its_database)
{
    struct live *live = *state;
    struct scheduler_options options = options_of(live);
    struct restored restored = { 0 };
    struct edl_error error = { 0 };

    (void)submit(live, JOB("kept"));
    take(live);
    assert_int_equal(restore_backup(&options, &restored, &error), -EEXIST);
    assert_int_equal(status_of(live, "/jobs/kept"), 200);
}

static void refuse(struct live *live, int code)
{
    struct scheduler_options options = options_of(live);
    struct restored restored = { 0 };
    struct edl_error error = { 0 };
    char pattern[128];
    glob_t found;

    assert_int_equal(restore_backup(&options, &restored, &error), code);
    assert_true(error.text[0] != '\0');
    (void)snprintf(pattern, sizeof pattern, "%s/edl.db?*", live->folder);
    assert_int_equal(glob(pattern, 0, NULL, &found), GLOB_NOMATCH); /* nothing half done */
}

TEST(test_what_is_no_backup_changes_nothing)
{
    struct live *live = *state;
    struct scheduler_options options = options_of(live);
    static const char noise[8192] = "this is no page of a database";
    _cleanup_close_ int fd = -1;

    (void)submit(live, JOB("kept"));
    take(live);
    live_stop(live);
    fd = open(options.restore_file, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, noise, 3000, 8192), 3000);
    refuse(live, EDL_ECORRUPT);
    write_file(options.restore_file, noise, sizeof noise);
    refuse(live, EDL_ECORRUPT);
    write_file(options.restore_file, "", 0); /* to SQLite a database without tables */
    refuse(live, -EINVAL);
    assert_int_equal(unlink(options.restore_file), 0);
    refuse(live, -ENOENT);
    live_start(live);
    assert_int_equal(status_of(live, "/jobs/kept"), 200);
}

/* A crash in the middle of it. */
TEST(test_a_restore_that_was_broken_off_is_done_again)
{
    struct live *live = *state;
    struct scheduler_options options = options_of(live);
    struct scheduler *scheduler = NULL;
    struct edl_error error = { 0 };
    char mark[128], database[128], aside[128];

    (void)submit(live, JOB("kept"));
    take(live);
    live_stop(live);
    (void)snprintf(mark, sizeof mark, "%s/restoring", live->folder);
    (void)snprintf(database, sizeof database, "%s/edl.db", live->folder);
    (void)snprintf(aside, sizeof aside, "%s/edl.db.before-x", live->folder);
    write_file(mark, "", 0);
    assert_int_equal(rename(database, aside), 0);
    assert_int_equal(scheduler_new(&options, &scheduler, &error), -EINVAL);
    assert_non_null(strstr(error.text, "broken off"));
    assert_non_null(strstr(error.remedy, "edl admin restore"));
    assert_int_equal(access(database, F_OK), -1); /* no empty one was made */
    (void)restore(live);
    live_start(live);
    assert_int_equal(status_of(live, "/jobs/kept"), 200);
}

/* The directory of a packaged scheduler is of an account of its own. */
TEST(test_what_root_restores_is_of_the_owner_of_the_directory)
{
    static const char *const names[] = { "edl.db", "epoch" };
    struct live *live = *state;
    struct restored restored;

    if (geteuid() != 0)
        skip();
    take(live);
    assert_int_equal(chown(live->folder, 65534, 65533), 0);
    restored = restore(live);
    restored_clear(&restored);
    for (size_t i = 0; i < ELEMENTS(names); i++) {
        char path[PATH_MAX];
        struct stat st;

        (void)snprintf(path, sizeof path, "%s/%s", live->folder, names[i]);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_uid, 65534);
        assert_int_equal(st.st_gid, 65533);
        assert_int_equal(st.st_mode & 07777, 0600);
    }
}

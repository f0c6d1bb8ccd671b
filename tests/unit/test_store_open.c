/* SPDX-License-Identifier: Apache-2.0 */
/* test_store_open.c - opening a database after a kill, a damaged one, one that can only be read;
 * and copying one that is used */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "scheduler/cluster_clock.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/store/store.h"
#include "shared/clock.h"
#include "shared/elapsed_clock.h"
#include "tests/unit/store_fixture.h"
#include "tests/unit/test.h"

/* A process that commits a job and is killed: its write-ahead log stays. */
static void commit_and_die(struct fixture *f)
{
    int status;
    pid_t pid;

    f->store = store_free(f->store);
    pid = fork();
    if (pid == 0) {
        if (store_open(f->path, &f->store, NULL) < 0)
            _exit(1);
        (void)run_job(f->cluster);
        commit(f);
        (void)kill(getpid(), SIGKILL);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
}

static off_t page_of(const struct fixture *f, const char *name)
{
    sqlite3_stmt *statement;
    sqlite3 *db;
    off_t page;

    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT rootpage FROM sqlite_schema WHERE name = ?1",
                                        -1, &statement, NULL),
                     SQLITE_OK);
    (void)sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    page = sqlite3_column_int64(statement, 0);
    (void)sqlite3_finalize(statement);
    (void)sqlite3_close(db);
    return page;
}

/* A page that opening does not look at. */
static void damage(const struct fixture *f)
{
    static const char noise[512] = "this is no page of a database";
    off_t at = (page_of(f, "process") - 1) * 4096;
    _cleanup_close_ int fd = open(f->path, O_WRONLY | O_CLOEXEC);

    assert_int_equal(pwrite(fd, noise, sizeof noise, at), sizeof noise);
}

/* As after a kill in the middle of the first write to it. */
static void leave_log(const struct fixture *f)
{
    static const char header[24];
    _cleanup_close_ int fd = -1;
    char path[128];

    (void)snprintf(path, sizeof path, "%s-wal", f->path);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, header, sizeof header), sizeof header);
}

static bool exists(const struct fixture *f, const char *suffix)
{
    char path[128];

    (void)snprintf(path, sizeof path, "%s%s", f->path, suffix);
    return access(path, F_OK) == 0;
}

TEST_EACH(set_up, tear_down);

TEST(test_a_clean_stop_leaves_no_log)
{
    struct fixture *f = *state;

    (void)run_job(f->cluster);
    commit(f);
    assert_true(exists(f, "-wal"));
    f->store = store_free(f->store);
    assert_false(exists(f, "-wal"));
}

TEST(test_what_a_kill_left_is_there)
{
    struct fixture *f = *state;

    commit_and_die(f);
    assert_true(exists(f, "-wal"));
    restart(f);
    assert_non_null(the_job(f));
}

/* One turn may write much; what it needed of the disk for that is given back. */
TEST(test_a_large_log_is_cut_back)
{
    enum { TAILS = 400, BYTES = 65536 };
    struct log_tail tails[TAILS] = { 0 };
    struct fixture *f = *state;
    struct edl_error error = { 0 };
    char *text = xcalloc(BYTES + 1, 1);
    char path[128];
    struct stat st;

    memset(text, 'x', BYTES);
    (void)run_job(f->cluster);
    commit(f);
    for (uint32_t i = 0; i < TAILS; i++)
        tails[i] = (struct log_tail){ .job_id = f->cluster->jobs->id,
                                      .role = "trainer",
                                      .index = i,
                                      .incarnation = 1,
                                      .text = text,
                                      .times = (char *)"[]" };
    assert_int_equal(store_commit(f->store,
                                  &(struct turn_records){ .tails = tails, .n_tails = TAILS },
                                  &error),
                     0);
    tails[0].sequence++; /* the next to write begins the log anew */
    assert_int_equal(store_commit(f->store, &(struct turn_records){ .tails = tails, .n_tails = 1 },
                                  &error),
                     0);
    (void)snprintf(path, sizeof path, "%s-wal", f->path);
    assert_int_equal(stat(path, &st), 0);
    assert_in_range(st.st_size, 1, 9 << 20);
    free(text);
}

TEST(test_damage_is_found_after_a_kill)
{
    struct fixture *f = *state;
    struct edl_error error = { 0 };

    (void)run_job(f->cluster);
    commit(f);
    f->cluster = cluster_free(f->cluster);
    f->cluster = new_cluster();
    f->store = store_free(f->store); /* everything is in the file */
    damage(f);
    leave_log(f);
    assert_int_equal(store_open(f->path, &f->store, &error), EDL_ECORRUPT);
    assert_null(f->store);
    assert_non_null(strstr(error.text, "the database"));
    assert_non_null(strstr(error.remedy, "edl admin restore"));
}

/* A large one is opened at once; its pages are looked at by whoever opened it. */
TEST(test_a_large_one_is_checked_later)
{
    struct fixture *f = *state;
    struct edl_error error = { 0 };

    (void)run_job(f->cluster);
    commit(f);
    assert_false(store_wants_check(f->store));
    f->store = store_free(f->store);
    run_sql(f, "INSERT INTO event (time_us, event, node, text)"
               " VALUES (1, 'large', '', CAST(zeroblob(140000000) AS TEXT))");
    leave_log(f);
    assert_int_equal(store_open(f->path, &f->store, &error), 0);
    assert_true(store_wants_check(f->store));
    assert_int_equal(store_check_pages(f->path, &error), 0);
    f->store = store_free(f->store);
    damage(f);
    leave_log(f);
    for (int i = 0; i < 2; i++) { /* what was found is found again */
        assert_int_equal(store_open(f->path, &f->store, &error), 0);
        assert_true(store_wants_check(f->store));
        assert_int_equal(store_check_pages(f->path, &error), EDL_ECORRUPT);
        assert_non_null(strstr(error.remedy, "edl admin restore"));
        store_stay_open(f->store);
        f->store = store_free(f->store);
    }
}

TEST(test_reading_needs_no_room)
{
    struct fixture *f = *state;
    struct edl_error error = { 0 };
    size_t n;
    const struct effect *effects;

    commit_and_die(f);
    assert_int_equal(store_open_read_only(f->path, &f->store, &error), 0);
    assert_true(store_is_read_only(f->store));
    assert_int_equal(store_load(f->store, f->cluster, start, &error), 0);
    assert_non_null(the_job(f));
    assert_int_equal(store_probe(f->store, &error), -EROFS);
    cluster_restored(f->cluster, start);
    assert_int_equal(cluster_kill_job(f->cluster, the_job(f), NULL, start, NULL), 0);
    effects = cluster_effects(f->cluster, &n);
    assert_int_equal(store_commit(f->store,
                                  &(struct turn_records){ .effects = effects, .n_effects = n },
                                  &error),
                     -EROFS);
    f->store = store_free(f->store);
    assert_true(exists(f, "-wal")); /* nothing was touched */
    restart(f);
    assert_int_not_equal(the_job(f)->state, JOB_KILLED);
    assert_int_equal(store_probe(f->store, &error), 0);
}

TEST(test_reading_brings_no_schema_forward)
{
    struct fixture *f = *state;
    struct edl_error error = { 0 };
    struct store *store = NULL;

    f->store = store_free(f->store);
    run_sql(f, "PRAGMA user_version = 1");
    assert_int_equal(store_open_read_only(f->path, &store, &error), -EINVAL);
    assert_null(store);
    assert_true(error.remedy[0] != '\0');
}

/* Turns are committed between its steps, also to pages that it has. */
TEST(test_a_copy_is_what_is_stored_at_its_end)
{
    struct fixture *f = *state;
    struct store_backup *backup = NULL;
    struct edl_error error = { 0 };
    struct store *copy = NULL;
    struct cluster *loaded = new_cluster();
    char path[128];
    int steps = 0;
    int r;

    (void)start_data(f, 200);
    (void)snprintf(path, sizeof path, "%s.copy", f->path);
    assert_int_equal(store_backup_new(f->store, path, &backup, &error), 0);
    while ((r = store_backup_step(backup, 1, &error)) == 1)
        if (++steps < 40) {
            (void)lease(f, a_trainer(the_job(f)));
            commit(f);
        }
    assert_int_equal(r, 0);
    assert_true(steps > 5); /* several pages, and it ended although they changed */
    assert_null(store_backup_free(backup));
    assert_int_equal(store_check_file(path, &error), 0);
    assert_int_equal(store_open(path, &copy, &error), 0);
    assert_int_equal(store_load(copy, loaded, start, &error), 0);
    cluster_restored(loaded, start);
    if (cluster_compare(f->cluster, loaded, &error) < 0)
        fail_msg("%s", error.text);
    (void)cluster_free(loaded);
    (void)store_free(copy);
    (void)unlink(path);
}

/* How long this machine has been up says nothing of a backup that another one has made. */
TEST(test_the_clock_of_a_backup_goes_on_by_the_wall_clock_alone)
{
    struct fixture *f = *state;
    uint64_t now_us = clock_read_us(CLOCK_REALTIME);
    const struct elapsed_record record = { .boot_id = "of another machine",
                                           .boot_us = 5 * USEC_PER_SEC,
                                           .real_us = now_us,
                                           .elapsed_us = now_us };
    const struct effect event = { .kind = EFFECT_EVENT, .event = "test", .wall_us = start.wall_us };
    const struct turn_records records = { .effects = &event, .n_effects = 1, .clock = &record };
    struct cluster_clock clock;
    struct elapsed_record found;
    struct edl_error error = { 0 };
    uint64_t passed_us;

    assert_int_equal(store_commit(f->store, &records, &error), 0);
    assert_int_equal(store_clock(f->store, &found, &error), 1);
    assert_int_equal(cluster_clock_restore(&clock, f->store, &error), 0);
    passed_us = clock_instant().wall_us - now_us;
    clock_keep(NULL);
    assert_in_range(passed_us, 0, clock_read_us(CLOCK_REALTIME) - now_us + USEC_PER_SEC);
}

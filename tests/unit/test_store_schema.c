/* SPDX-License-Identifier: Apache-2.0 */
/* test_store_schema.c - databases of other versions, and the answers that version 2 brought */
#include <errno.h>
#include <glob.h>
#include <stdbool.h>
#include <stdlib.h>

#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/store/store_internal.h"
#include "tests/unit/store_fixture.h"
#include "tests/unit/test.h"

/* --- answers to Idempotency-Keys --- */

static void put_answers(struct fixture *f, size_t first, size_t n, uint64_t wall_us)
{
    static char user[] = "me", digest[] = "d1", location[] = "/jobs/7", body[] = "{\"id\":7}",
                etag[] = "\"p0.1-2\"";
    struct stored_answer *answers = xcalloc(n, sizeof *answers);
    struct edl_error error = { 0 };
    char(*keys)[24] = xcalloc(n, sizeof *keys);

    for (size_t i = 0; i < n; i++) {
        (void)snprintf(keys[i], sizeof keys[i], "k%zu", first + i);
        answers[i] = (struct stored_answer){ .user = user,
                                             .key = keys[i],
                                             .digest = digest,
                                             .status = 201,
                                             .location = location,
                                             .etag = etag,
                                             .body = body,
                                             .wall_us = wall_us };
    }
    if (store_commit(f->store, &(struct turn_records){ .answers = answers, .n_answers = n },
                     &error) < 0)
        fail_msg("%s", error.text);
    free(answers);
    free(keys);
}

/* etag: what version 13 brought; "" for an answer of before */
static bool has_answer_tagged(struct fixture *f, const char *user, const char *key,
                              uint64_t wall_us, const char *etag)
{
    struct stored_answer found = { 0 };
    struct edl_error error = { 0 };
    int r = store_find_answer(f->store, user, key, wall_us, &found, &error);

    if (r < 0)
        fail_msg("%s", error.text);
    if (r == 1) {
        assert_string_equal(found.digest, "d1");
        assert_int_equal(found.status, 201);
        assert_string_equal(found.location, "/jobs/7");
        assert_string_equal(found.body, "{\"id\":7}");
        assert_string_equal(found.etag, etag);
    }
    stored_answer_clear(&found);
    return r == 1;
}

static bool has_answer(struct fixture *f, const char *user, const char *key, uint64_t wall_us)
{
    return has_answer_tagged(f, user, key, wall_us, "\"p0.1-2\"");
}

static int64_t count_answers(const struct fixture *f)
{
    sqlite3 *db;
    sqlite3_stmt *statement;
    int64_t n;

    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT count(*) FROM answer", -1, &statement, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    n = sqlite3_column_int64(statement, 0);
    (void)sqlite3_finalize(statement);
    (void)sqlite3_close(db);
    return n;
}

TEST_EACH(set_up, tear_down);

TEST(test_answer_is_found_for_a_day)
{
    struct fixture *f = *state;
    uint64_t then_us = start.wall_us, end_us = then_us + STORED_ANSWER_US;

    put_answers(f, 1, 1, then_us);
    restart(f);
    assert_true(has_answer(f, "me", "k1", then_us));
    assert_true(has_answer(f, "me", "k1", end_us));
    assert_false(has_answer(f, "me", "k1", end_us + 1));
    assert_true(has_answer(f, "me", "k1", then_us - USEC_PER_SEC)); /* a clock that was set back */
    assert_false(has_answer(f, "you", "k1", then_us));
    assert_false(has_answer(f, "me", "k2", then_us));
    put_answers(f, 1, 1, end_us + 1); /* the key comes anew */
    assert_true(has_answer(f, "me", "k1", end_us + 2));
    assert_int_equal(count_answers(f), 1);
}

TEST(test_answers_make_room)
{
    struct fixture *f = *state;
    uint64_t then_us = start.wall_us, end_us = then_us + STORED_ANSWER_US;

    put_answers(f, 0, 10, then_us);
    put_answers(f, 10, 5, end_us + 1); /* each lets two go that had their day */
    assert_int_equal(count_answers(f), 5);
}

/* --- other versions --- */

TEST(test_newer_database_is_refused)
{
    struct fixture *f = *state;
    struct edl_error error = { 0 };
    struct store *store = NULL;

    f->store = store_free(f->store);
    run_sql_at(f->path, "PRAGMA user_version = 9999");
    assert_int_equal(store_open(f->path, &store, &error), -EINVAL);
    assert_null(store);
    assert_non_null(strstr(error.text, "9999"));
    assert_true(error.remedy[0] != '\0');
}

/* The reason comes first: the statement that failed may be longer than an error's text. */
TEST(test_error_begins_with_the_reason)
{
    struct fixture *f = *state;
    struct edl_error error = { 0 };
    struct store *store = NULL;

    f->store = store_free(f->store);
    run_sql_at(f->path, "ALTER TABLE job RENAME COLUMN metrics TO measures");
    assert_int_equal(store_open(f->path, &store, &error), EDL_ECORRUPT);
    assert_null(store);
    if (strstr(error.text, "no column named metrics (INSERT INTO job (") == NULL ||
        strlen(error.text) > 200)
        fail_msg("the error is %s", error.text);
}

/* The numbered files as they were shipped, up to a version; they never change. Nothing is done for
 * a number that no file has. */
static void run_file(const char *path, int version)
{
    _cleanup_free_ char *sql = NULL;
    _cleanup_fclose_ FILE *file = NULL;
    const char *source = getenv("EDL_SOURCE_DIR");
    char pattern[4096], record[120];
    size_t size = 0;
    glob_t found;

    assert_non_null(source);
    (void)snprintf(pattern, sizeof pattern, "%s/scheduler/store/sql/%04d_*.sql", source, version);
    if (glob(pattern, 0, NULL, &found) == GLOB_NOMATCH)
        return;
    file = fopen(found.gl_pathv[0], "re");
    globfree(&found);
    assert_non_null(file);
    assert_true(getdelim(&sql, &size, '\0', file) > 0);
    run_sql_at(path, sql);
    (void)snprintf(record, sizeof record,
                   "PRAGMA user_version = %d; INSERT INTO schema_migration VALUES (%d, 'x', 1)",
                   version, version);
    run_sql_at(path, record);
}

static int64_t number(const char *path, const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *statement;
    int64_t n;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    n = sqlite3_column_int64(statement, 0);
    (void)sqlite3_finalize(statement);
    (void)sqlite3_close(db);
    return n;
}

static void text(const char *path, const char *sql, char *ret, size_t size)
{
    sqlite3 *db;
    sqlite3_stmt *statement;
    const unsigned char *found;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    found = sqlite3_column_text(statement, 0);
    (void)snprintf(ret, size, "%s", found != NULL ? (const char *)found : "");
    (void)sqlite3_finalize(statement);
    (void)sqlite3_close(db);
}

/* What that version had a table and a column for, as the present program wrote it. */
static void copy_rows(const struct fixture *f, const char *old)
{
    static const char *const tables[] = { "node",     "job",    "process", "queue", "task", "event",
                                          "log_tail", "answer", "user",    "token", "audit" };

    for (size_t i = 0; i < ELEMENTS(tables); i++) {
        char sql[2400], columns[1000];

        (void)snprintf(sql, sizeof sql, "SELECT group_concat(name) FROM pragma_table_info('%s')",
                       tables[i]);
        text(old, sql, columns, sizeof columns);
        if (columns[0] == '\0') /* there was no such table */
            continue;
        (void)snprintf(sql, sizeof sql,
                       "ATTACH '%s' AS new; INSERT INTO main.%s (%s) SELECT %s FROM new.%s",
                       f->path, tables[i], columns, columns, tables[i]);
        run_sql_at(old, sql);
        (void)snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", tables[i]);
        assert_true(number(old, sql) > 0);
    }
}

static void put_tail(struct fixture *f)
{
    static char last[] = "its last words";
    struct log_tail tail = {
        .job_id = the_job(f)->id, .role = "trainer", .incarnation = 1, .sequence = 7, .text = last
    };
    struct edl_error error = { 0 };

    if (store_commit(f->store, &(struct turn_records){ .tails = &tail, .n_tails = 1 }, &error) < 0)
        fail_msg("%s", error.text);
}

/* What an earlier program stored is there, and what is new works. */
static void bring_forward(struct fixture *f, int version)
{
    struct edl_error error = { 0 };
    struct cluster *before;
    char old[128];
    int newest = store_schema_version(f->store);

    (void)lease(f, start_data(f, 3));
    commit(f);
    put_tail(f);
    put_answers(f, 1, 1, start.wall_us);
    run_sql_at(f->path,
               "INSERT INTO user (name, role, created_wall_us) VALUES ('ann', 'operator', 1);"
               "INSERT INTO token (id, hash, user, note, created_wall_us, expires_wall_us)"
               " VALUES (7, 'c0ffee', 'ann', 'laptop', 1, 0);"
               "INSERT INTO audit VALUES (3, 1, 'ann', 'token 7', 'POST', '/jobs', 201, 'r')");
    before = f->cluster;
    f->cluster = NULL;
    (void)snprintf(old, sizeof old, "%s.old", f->path);
    for (int v = 1; v <= version; v++)
        run_file(old, v);
    run_sql_at(old, "PRAGMA journal_mode = WAL");
    copy_rows(f, old);
    f->store = store_free(f->store);
    assert_int_equal(rename(old, f->path), 0);
    restart(f);
    assert_int_equal(store_schema_version(f->store), newest);
    assert_true(version >= 39 || the_job(f)->charged == 0); /* it counts nothing to its user */
    cluster_job(before, the_job(f)->id)->charged = the_job(f)->charged;
    if (cluster_compare(before, f->cluster, &error) < 0 ||
        cluster_compare(f->cluster, before, &error) < 0)
        fail_msg("%s", error.text);
    assert_int_equal(task_queue_counts(the_job(f)->queue).leased, 1);
    assert_int_equal(number(f->path, "SELECT count(*) FROM log_tail"), 1);
    assert_true(has_answer_tagged(f, "me", "k1", start.wall_us,
                                  version >= 13 ? "\"p0.1-2\"" : "") == (version >= 2));
    assert_int_equal(number(f->path, "SELECT count(*) FROM token"), version >= 3);
    assert_int_equal(number(f->path, "SELECT count(*) FROM audit"), version >= 3);
    put_answers(f, 2, 1, start.wall_us);
    agree(f, the_job(f));
    assert_int_equal(number(f->path, "SELECT generation FROM rendezvous"), 1);
    restart(f); /* and is of the newest version from then on */
    assert_true(has_answer(f, "me", "k2", start.wall_us));
    assert_int_equal(store_epoch(f->store), 0);
    assert_int_equal(number(f->path, "SELECT max(version) FROM schema_migration"), newest);
    assert_int_equal(number(f->path, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
    (void)cluster_free(before);
}

TEST(test_every_version_is_brought_forward)
{
    const struct fixture *f = *state;
    int newest = store_schema_version(f->store);

    for (int version = 1; version < newest; version++) {
        void *own = NULL;

        assert_int_equal(set_up(&own), 0);
        bring_forward(own, version);
        assert_int_equal(tear_down(&own), 0);
    }
}

/* Each process of the job has ended. */
static void end_all(struct fixture *f, const struct job *job)
{
    struct process_report list[8] = { 0 };
    struct node_report report;
    struct edl_error error = { 0 };
    const struct process *process;
    size_t n = 0;

    DL_FOREACH2(job->processes, process, job_next)
    list[n++] = (struct process_report){ .job_id = job->id,
                                         .role = job->spec->roles[process->role].name,
                                         .index = process->index,
                                         .incarnation = process->incarnation,
                                         .state = PROCESS_EXITED };
    report = node_says(list, n);
    if (cluster_report(f->cluster, cluster_node(f->cluster, "n1"), &report, start, &error) < 0)
        fail_msg("%s", error.text);
}

/* A job that was stopping when the scheduler of that row ended goes on ending as it was to end. */
static void end_as_recorded(struct fixture *f, const char *record, enum intent intent,
                            enum cause cause, enum job_state end)
{
    char sql[300];
    struct job *job = run_job(f->cluster);
    struct edl_error error = { 0 };

    assert_int_equal(cluster_kill_job(f->cluster, job, "", start, &error), 0);
    commit(f);
    (void)snprintf(sql, sizeof sql, "UPDATE job SET %s; UPDATE process SET cause = NULL", record);
    run_sql_at(f->path, sql);
    restart(f);
    job = the_job(f);
    assert_int_equal(job->state, JOB_STOPPING);
    assert_string_equal(intent_to_string(job->intent), intent_to_string(intent));
    assert_string_equal(cause_to_string(job->cause), cause_to_string(cause));
    assert_string_equal(cause_to_string(job->processes->cause), "job-ends");
    end_all(f, job);
    assert_string_equal(job_state_to_string(job->state), job_state_to_string(end));
    assert_int_equal(cluster_check(f->cluster, &error), 0);
}

TEST(test_stopping_jobs_of_before_end_as_they_were_to)
{
#define BEFORE(code) "cause = NULL, intent = NULL, reason_code = '" code "'"
    static const struct {
        const char *record;
        enum intent intent;
        enum cause cause;
        enum job_state end;
    } rows[] = {
        { BEFORE("done"), INTENT_DONE, CAUSE_DONE, JOB_SUCCEEDED },
        { BEFORE("killed"), INTENT_KILLED, CAUSE_KILLED, JOB_KILLED },
        { BEFORE("deadline"), INTENT_KILLED, CAUSE_DEADLINE, JOB_KILLED },
        { BEFORE("requeued"), INTENT_REQUEUED, CAUSE_NONE, JOB_QUEUED },
        { BEFORE("process-failed"), INTENT_FAILED, CAUSE_PROCESS_FAILED, JOB_FAILED },
        { BEFORE("moonstruck"), INTENT_FAILED, CAUSE_NONE, JOB_FAILED },
        /* where a cause is told, nobody reads the code */
        { "cause = 'half-gang', intent = 'requeued', reason_code = 'done'", INTENT_REQUEUED,
          CAUSE_HALF_GANG, JOB_QUEUED },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        void *own = NULL;

        assert_int_equal(set_up(&own), 0);
        end_as_recorded(own, rows[i].record, rows[i].intent, rows[i].cause, rows[i].end);
        assert_int_equal(tear_down(&own), 0);
    }
#undef BEFORE
}

TEST(test_a_cause_that_is_no_word_is_damage)
{
    struct fixture *f = *state;
    struct edl_error error = { 0 };
    struct cluster *loaded = new_cluster();

    (void)run_job(f->cluster);
    commit(f);
    run_sql_at(f->path, "UPDATE job SET intent = 'moonstruck'");
    assert_int_equal(store_load(f->store, loaded, start, &error), EDL_ECORRUPT);
    assert_non_null(strstr(error.text, "intent"));
    (void)cluster_free(loaded);
}

/* A crash between two steps leaves a whole schema: it goes on from there. */
TEST(test_a_step_that_fails_leaves_the_version_before)
{
    struct fixture *f = *state;
    struct edl_error error = { 0 };
    struct store *store = NULL;
    int newest = store_schema_version(f->store);

    f->store = store_free(f->store);
    assert_int_equal(unlink(f->path), 0);
    run_file(f->path, 1);
    run_sql_at(f->path, "CREATE TABLE epoch (in_the_way TEXT)");
    assert_int_equal(store_open(f->path, &store, &error), EDL_ECORRUPT);
    assert_null(store);
    assert_int_equal(number(f->path, "PRAGMA user_version"), 5);
    run_sql_at(f->path, "DROP TABLE epoch");
    assert_int_equal(store_open(f->path, &f->store, &error), 0);
    assert_int_equal(store_schema_version(f->store), newest);
}

/* Before version 11 the core held what was over. */
TEST(test_what_is_over_is_archived)
{
    struct fixture *f = *state;
    struct edl_error error = { 0 };
    struct cluster *loaded;

    f->store = store_free(f->store);
    (void)unlink(f->path);
    for (int v = 1; v < 11; v++)
        run_file(f->path, v);
    run_sql_at(
        f->path,
        "PRAGMA journal_mode = WAL;"
        "INSERT INTO job (id, name, state, reason_code, reason, user, spec, next_incarnation,"
        " targets, slots, resizes, finishing, submitted_wall_us, started_wall_us,"
        " ended_wall_us, dataset_digest, metrics, usage)"
        " WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 8)"
        " SELECT i, 'job-' || i, iif(i = 5, 'queued', 'failed'), 'failed', 'it failed', 'ann',"
        " json_object('name', 'job-' || i, 'roles', json('[{\"role\":\"trainer\",\"min\":1,"
        "\"max\":1,\"command\":[\"true\"]}]'), 'array',"
        " json('{\"name\":\"job\",\"index\":' || i || ',\"jobs\":8}')),"
        " 2, '[0]', '[]', 0, 0, 1, 1, i, '', NULL,"
        " '[[1,2,3],[0,0,0],[4,5,6],[7,8,9]]' FROM n;"
        "INSERT INTO forgotten VALUES (2, 1), (3, 0);"
        /* whose rows of tasks are still to be closed; a process that is taken for live */
        "INSERT INTO queue VALUES (3, 1, 0, 0, 0, 0, 0), (4, 1, 0, 0, 0, 0, 0);"
        "INSERT INTO queue_end VALUES (3, 0, 0, 0, 0, 0);"
        "INSERT INTO process VALUES (6, 0, 0, 1, 'running', 'n', '[]', 1, 0, 0, 0, '', 1, 1, 0,"
        " 0, 0, '[]')");
    restart(f);
    assert_int_equal(number(f->path, "SELECT sum(1 << id) FROM job WHERE archived = 1"),
                     1 << 1 | 1 << 3 | 1 << 7);
    assert_int_equal(number(f->path, "SELECT sum(1 << id) FROM job WHERE archived = 2"), 1 << 2);
    assert_int_equal(HASH_CNT(hh, f->cluster->jobs), 4); /* 8 is the newest */
    assert_int_equal(number(f->path, "SELECT jobs FROM archived_count WHERE state = 'failed'"), 3);
    assert_int_equal(number(f->path, "SELECT 100 * jobs + gpu_ms FROM archived_usage"
                                     " WHERE user = 'ann' AND kind = 2"),
                     315);
    assert_int_equal(number(f->path, "SELECT count(*) FROM job WHERE array_name = 'job'"), 8);
    /* what version 26 brought: shares of what is there */
    assert_int_equal(number(f->path, "SELECT jobs FROM archived_share WHERE user = 'ann'"), 3);
    assert_int_equal(number(f->path, "SELECT bytes FROM archived_share WHERE user = '*'"),
                     number(f->path, "SELECT sum(kept_bytes) FROM job WHERE archived = 1"));
    assert_true(number(f->path, "SELECT min(kept_bytes) FROM job WHERE archived = 1") > 512);
    /* and version 27: places in arrays stand in rows, and documents stay where they are */
    assert_int_equal(number(f->path, "SELECT sum(100 * array_index + array_jobs) FROM job"
                                     " WHERE archived = 1"),
                     100 * (1 + 3 + 7) + 3 * 8);
    assert_int_equal(number(f->path, "SELECT count(document) FROM job"), 0);
    loaded = new_cluster();
    assert_int_equal(store_load_archived(f->store, &(struct archive_query){ .id = 7 }, loaded,
                                         start, &error),
                     0);
    assert_string_equal(cluster_job(loaded, 7)->spec->name, "job-7");
    (void)cluster_free(loaded);
}

/* --- shares --- */

/* Of so many bytes, as so many rows; user's. */
static void put_large(struct fixture *f, char *user, unsigned first, unsigned n, size_t bytes)
{
    static char digest[] = "d", none[] = "";
    _cleanup_free_ char *body = xcalloc(bytes + 1, 1);
    struct edl_error error = { 0 };
    char key[24];

    memset(body, 'x', bytes);
    for (unsigned i = first; i < first + n; i++) {
        struct stored_answer answer = { .user = user,
                                        .key = key,
                                        .digest = digest,
                                        .status = 201,
                                        .location = none,
                                        .etag = none,
                                        .body = body,
                                        .wall_us = start.wall_us };

        (void)snprintf(key, sizeof key, "k%u", i);
        if (store_commit(f->store, &(struct turn_records){ .answers = &answer, .n_answers = 1 },
                         &error) < 0)
            fail_msg("%s", error.text);
    }
}

static bool has_key(struct fixture *f, const char *user, const char *key)
{
    struct stored_answer found = { 0 };
    int r = store_find_answer(f->store, user, key, start.wall_us, &found, NULL);

    stored_answer_clear(&found);
    return r == 1;
}

/* The sums of answers are those of the rows. */
static void assert_counted(const struct fixture *f)
{
    const struct user_sums *sums = &f->store->sums.answers;
    const struct user_sum *sum;
    char sql[120];

    assert_int_equal(number(f->path, "SELECT count(*) FROM answer"), sums->n);
    assert_int_equal(number(f->path, "SELECT sum(bytes) FROM answer"), sums->bytes);
    assert_int_equal(number(f->path, "SELECT sum(512 + length(body)) FROM answer"), sums->bytes);
    for (sum = sums->users; sum != NULL; sum = sum->hh.next) {
        (void)snprintf(sql, sizeof sql, "SELECT sum(bytes) FROM answer WHERE user = '%s'",
                       sum->user);
        assert_int_equal(number(f->path, sql), sum->bytes);
    }
}

/* Somebody who fills all there is pushes out what is its own, also with few that are large. */
TEST(test_nobody_pushes_out_answers_of_others)
{
    static char eve[] = "eve", ann[] = "ann";
    struct fixture *f = *state;
    const unsigned large = 1 << 20, n = STORED_ANSWERS_BYTES / large;
    char key[24];

    put_large(f, ann, 0, 100, 100);
    put_large(f, eve, 0, 2000, 100);
    put_large(f, eve, 2000, n + 10, large);
    assert_in_range(number(f->path, "SELECT sum(512 + length(body)) FROM answer"),
                    STORED_ANSWERS_BYTES - 2 * large, STORED_ANSWERS_BYTES);
    for (unsigned i = 0; i < 100; i++) {
        (void)snprintf(key, sizeof key, "k%u", i);
        assert_true(has_key(f, ann, key));
    }
    assert_false(has_key(f, eve, "k2000"));
    (void)snprintf(key, sizeof key, "k%u", 2000 + n + 9);
    assert_true(has_key(f, eve, key));
    assert_counted(f);
    look_anew(f); /* made anew they are the same */
    assert_counted(f);
    put_large(f, eve, 0, 1, 1);
    assert_counted(f);
}

static void put_audit(struct fixture *f, char *user, unsigned n, uint64_t wall_us)
{
    static char via[] = "token 1", method[] = "POST", target[] = "/tokens", id[] = "r";
    const struct account_change line = { .kind = ACCOUNT_AUDIT,
                                         .name = user,
                                         .via = via,
                                         .method = method,
                                         .target = target,
                                         .request_id = id,
                                         .status = 201,
                                         .created_wall_us = wall_us };
    struct edl_error error = { 0 };

    for (unsigned i = 0; i < n; i++)
        if (store_commit(f->store, &(struct turn_records){ .accounts = &line, .n_accounts = 1 },
                         &error) < 0)
            fail_msg("%s", error.text);
}

TEST(test_nobody_pushes_out_what_others_did)
{
    static char eve[] = "eve", ann[] = "ann";
    struct fixture *f = *state;

    store_keep(f->store, &(struct store_history){ .audit = 100, .audit_us = 1000 });
    put_audit(f, ann, 10, start.wall_us);
    put_audit(f, eve, 1000, start.wall_us + 1);
    assert_int_equal(number(f->path, "SELECT count(*) FROM audit WHERE user = 'ann'"), 10);
    assert_in_range(number(f->path, "SELECT count(*) FROM audit"), 99, 100);
    put_audit(f, eve, 10, start.wall_us + 1001); /* hers are too old by then */
    assert_int_equal(number(f->path, "SELECT count(*) FROM audit WHERE user = 'ann'"), 0);
    put_audit(f, eve, 200, start.wall_us + 1001); /* there are too many again, after that */
    assert_in_range(number(f->path, "SELECT count(*) FROM audit"), 99, 100);
    assert_int_equal(number(f->path, "SELECT count(*) FROM audit"), f->store->sums.audit.n);
    assert_int_equal(HASH_COUNT(f->store->sums.audit.users), 1);
}

/* --- passes that a data set says --- */

/* What the data set says of passes is as lasting as its tasks. */
TEST(test_passes_of_a_dataset)
{
    struct fixture *f = *state;
    struct job *job = run_job(f->cluster);
    struct task_queue *queue = new_queue(job, 4);
    uint32_t said = job->spec->passes + 5;

    task_queue_wish_passes(queue, said); /* the job itself says how many */
    assert_int_equal(task_queue_passes(queue), job->spec->passes);
    task_queue_restore_passes(queue, said);
    assert_int_equal(cluster_set_dataset(f->cluster, job, queue, "d1", start, NULL), 0);
    commit(f);
    restart(f);
    assert_int_equal(task_queue_passes(the_job(f)->queue), said);
    f->cluster = cluster_free(f->cluster);
    f->store = store_free(f->store);
    run_sql_at(f->path,
               "UPDATE queue SET passes = 0"); /* as of a version that had no such column */
    restart(f);
    assert_int_equal(task_queue_passes(the_job(f)->queue), the_job(f)->spec->passes);
}

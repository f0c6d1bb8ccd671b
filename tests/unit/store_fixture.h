/* SPDX-License-Identifier: Apache-2.0 */
/* store_fixture.h - a store in a folder of its own and the cluster that it keeps
 *
 * With EDL_TEST_POSTGRESQL (postgresql_fixture.h) the store is a database of its own there. A test
 * of SQLite alone says so first: only_sqlite(). */
#pragma once

#include <sqlite3.h>
#include <utlist.h>

#include "scheduler/core/base/queue_rules.h"
#include "scheduler/core/model/effects.h"
#include "scheduler/core/model/job_names.h"
#include "scheduler/core/model/rendezvous.h"
#include "scheduler/store/store_internal.h"
#include "shared/cleanup.h"
#include "tests/unit/postgresql_fixture.h"
#include "tests/unit/scheduler_fixture.h"

struct fixture {
    char folder[64];
    char path[96];                      /* of SQLite's file */
    char url[POSTGRESQL_TEST_URL_SIZE]; /* "" : the store is in SQLite */
    struct store *store;
    struct cluster *cluster;
};

static inline int open_store(const struct fixture *f, struct store **ret, struct edl_error *error)
{
    return f->url[0] != '\0' ? postgresql_test_open(f->url, ret, error)
                             : store_open(f->path, ret, error);
}

static inline void only_sqlite(const struct fixture *f)
{
    if (f->url[0] != '\0')
        skip();
}

static inline int set_up(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);
    struct edl_error error = { 0 };

    (void)snprintf(f->folder, sizeof f->folder, "/tmp/edl-test-store-XXXXXX");
    if (mkdtemp(f->folder) == NULL)
        return -1;
    (void)snprintf(f->path, sizeof f->path, "%s/edl.db", f->folder);
    if (postgresql_test_server() != NULL)
        postgresql_test_begin(f->url);
    if (open_store(f, &f->store, &error) < 0) {
        (void)fprintf(stderr, "%s\n", error.text);
        return -1;
    }
    f->cluster = new_cluster();
    *state = f;
    return 0;
}

static inline int tear_down(void **state)
{
    static const char *const suffixes[] = { "", "-wal", "-shm" };
    struct fixture *f = *state;

    (void)cluster_free(f->cluster);
    (void)store_free(f->store);
    for (size_t i = 0; i < ELEMENTS(suffixes); i++) {
        char path[128];

        (void)snprintf(path, sizeof path, "%s%s", f->path, suffixes[i]);
        (void)unlink(path);
    }
    (void)rmdir(f->folder);
    free(f);
    return 0;
}

static inline void commit(struct fixture *f)
{
    struct edl_error error = { 0 };
    size_t n;
    const struct effect *effects = cluster_effects(f->cluster, &n);

    if (store_commit(f->store, &(struct turn_records){ .effects = effects, .n_effects = n },
                     &error) < 0)
        fail_msg("%s", error.text);
    cluster_effects_clear(f->cluster);
}

/* The scheduler is gone and comes again. */
static inline void restart(struct fixture *f)
{
    struct edl_error error = { 0 };

    f->cluster = cluster_free(f->cluster);
    f->store = store_free(f->store);
    if (open_store(f, &f->store, &error) < 0)
        fail_msg("%s", error.text);
    f->cluster = new_cluster();
    if (store_load(f->store, f->cluster, start, &error) < 0)
        fail_msg("%s", error.text);
    cluster_restored(f->cluster, start);
    if (cluster_check(f->cluster, &error) < 0)
        fail_msg("%s", error.text);
}

static inline struct job *the_job(const struct fixture *f)
{
    struct job *job = cluster_find_job(f->cluster, "example");

    assert_non_null(job);
    return job;
}

static inline struct task_queue *new_queue(const struct job *job, size_t n)
{
    struct task_queue_config config = queue_rules(job->spec);
    struct task_queue *queue = task_queue_new(&config);

    for (size_t i = 0; i < n; i++) {
        const struct task_chunk chunk = { .path = "/data/\"train\"-\xc3\xa9",
                                          .offset_bytes = UINT64_C(1) << 40,
                                          .n_records = 10,
                                          .file_bytes = i == 0 ? 0 : UINT64_C(1) << 41,
                                          .mtime_us = i == 0 ? 0 : UINT64_C(1700000000123456) };

        (void)task_queue_add(queue, &chunk, 1);
    }
    return queue;
}

/* A started trainer of the job. */
static inline struct process *a_trainer(const struct job *job)
{
    struct process *process;

    DL_FOREACH2(job->processes, process, job_next)
    if (process->role == 1)
        return process;
    fail_msg("no trainer");
    return NULL;
}

static inline struct task *lease(struct fixture *f, struct process *holder)
{
    enum task_lease_result result;
    struct edl_error error = { 0 };
    struct task *task = NULL;
    bool save;
    _cleanup_free_ uint32_t *known = xcalloc(task_queue_n_tasks(holder->job->queue), sizeof *known);
    size_t n = 0;

    for (uint32_t i = 0; i < task_queue_n_tasks(holder->job->queue); i++)
        known[n++] = i;
    if (cluster_lease_task(f->cluster, holder, known, n, start, &result, &task, &save, &error) < 0)
        fail_msg("%s", error.text);
    assert_int_equal(result, TASK_LEASE_GIVEN);
    return task;
}

static inline struct process *start_data(struct fixture *f, size_t n_tasks)
{
    struct edl_error error = { 0 };
    struct job *job = run_job(f->cluster);

    assert_int_equal(cluster_set_dataset(f->cluster, job, new_queue(job, n_tasks), "d1", start,
                                         &error),
                     0);
    commit(f);
    return a_trainer(job);
}

/* Every trainer of the job arrives: a generation. */
static inline void agree(struct fixture *f, struct job *job)
{
    enum rendezvous_result result = RENDEZVOUS_WAIT;
    struct edl_error error = { 0 };
    struct process *process;

    DL_FOREACH2(job->processes, process, job_next)
    {
        uint64_t after = process->generation;

        if (process->role == 1 && cluster_arrive(f->cluster, process, after, "at \"1\" \xc3\xa9\n",
                                                 start, &result, &error) < 0)
            fail_msg("%s", error.text);
    }
    assert_int_equal(result, RENDEZVOUS_AGREED);
    commit(f);
}

static inline void run_sql_at(const char *path, const char *sql)
{
    sqlite3 *db;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    (void)sqlite3_close(db);
}

/* run_sql - statements that each engine takes, parted by ";", over a connection of their own */
static inline void run_sql(const struct fixture *f, const char *sql)
{
    if (f->url[0] != '\0')
        postgresql_test_sql(f->url, sql);
    else
        run_sql_at(f->path, sql);
}

/* Rows of somebody else count from now on. */
static inline void look_anew(struct fixture *f)
{
    struct edl_error error = { 0 };

    store_forget_sums(f->store);
    if (store_need_sums(f->store, &error) < 0)
        fail_msg("%s", error.text);
}

/* number_of_sql - the first column of the first row */
static inline int64_t number_of_sql(const struct fixture *f, const char *sql)
{
    int64_t number = engine_number(f->store->engine, sql);

    if (number == -1) {
        struct edl_error error = { 0 };

        (void)engine_error(f->store->engine, sql, &error);
        fail_msg("%s", error.text);
    }
    return number;
}

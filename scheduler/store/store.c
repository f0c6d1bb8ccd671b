/* SPDX-License-Identifier: Apache-2.0 */
/* store.c - the database: statements, the transaction of a turn, events and log tails
 *
 * Each turn is one transaction. A failure inside rolls back and is returned. The
 * caller's memory is then ahead of the disk, and it has to load the stored state again. */
#include "scheduler/store/store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "scheduler/core/core.h"
#include "scheduler/store/store_columns.h"
#include "scheduler/store/store_internal.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

/* of one kind of the job ?1 */
#define USAGE_OF_KIND(at) "ifnull(json_extract(usage, '$[' || kind.value || '][" #at "]'), 0)"

/* what decides whether an archived job is shown, and where */
#define WALK_COLUMNS "id, name, user, state, array_name, array_index, array_jobs, submitted_wall_us"

/* Marks in braces are filled in by store_text_of. */
static const char *const statement_texts[ST_N] = {
    [ST_JOB_PUT] = "{put job}",
    [ST_JOB_CHANGE] = "{change job}",
    [ST_PROCESS_PUT] = "{put process}",
    [ST_NODE_PUT] = "{put node}",
    [ST_NODE_DELETE] = "DELETE FROM node WHERE name = ?1",
    [ST_QUEUE_PUT] = "{put queue}",
    [ST_TASK_PUT] = "{put task}",
    [ST_TASK_TRIM] = "DELETE FROM task WHERE job_id=?1 AND id>=?2",
    [ST_TASK_SET] = "{change task}",
    [ST_RENDEZVOUS_PUT] = "{put rendezvous}",
    [ST_RENDEZVOUS_ALL] = "SELECT {rendezvous} FROM rendezvous"
                          " WHERE job_id IN (SELECT id FROM job WHERE archived = 0)"
                          " ORDER BY job_id, role",
    [ST_ARRAY_NOTICE_PUT] = "{put array_notice}",
    [ST_ARRAY_NOTICE_DELETE] = "DELETE FROM array_notice WHERE first_id = ?1",
    [ST_ARRAY_NOTICE_ALL] = "SELECT {array_notice} FROM array_notice",
    [ST_NOTICE_PUT] = "INSERT INTO notice (id, channel, user, target, notices, n_notices, n_more,"
                      " tries, made_wall_us, due_wall_us) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)"
                      " ON CONFLICT (id) DO UPDATE SET notices=?5, n_notices=?6, n_more=?7,"
                      " tries=?8, due_wall_us=?10",
    [ST_NOTICE_DELETE] = "DELETE FROM notice WHERE id = ?1",
    [ST_NOTICE_ALL] = "SELECT id, channel, user, target, notices, n_notices, n_more, tries,"
                      " made_wall_us, due_wall_us FROM notice ORDER BY id",
    [ST_NOTICE_LAST] = "SELECT seq FROM sqlite_sequence WHERE name = 'notice'",
    /* REPLACE: each written row is the newest one. */
    [ST_FAMILY_PUT] =
        "INSERT OR REPLACE INTO family (name, begun, most_s, ended_s, largest, unit_s, resize_s,"
        " fit, program, tries) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)",
    /* As goodput_families_bound: the oldest of the user with the most. The last places of all lists
     * by owner are those; what is behind the ":" of a name are digits (job_family.c). */
    [ST_AWAY_PUT] = "UPDATE away SET us = ?1",
    [ST_AWAY_ALL] = "SELECT us FROM away",
    [ST_CLOCK_PUT] = "INSERT OR REPLACE INTO clock (id, boot_id, boot_us, real_us, elapsed_us)"
                     " VALUES (1, ?1, ?2, ?3, ?4)",
    [ST_CLOCK_ALL] = "SELECT boot_id, boot_us, real_us, elapsed_us FROM clock",
    [ST_CLOCK_NEWEST] = "SELECT time_us FROM event ORDER BY revision DESC LIMIT 1",
    [ST_CLOCK_STEPS_DROP] = "DELETE FROM clock_step",
    [ST_CLOCK_STEP_PUT] = "INSERT INTO clock_step (id, from_us, ahead_us) VALUES (?1, ?2, ?3)",
    [ST_CLOCK_STEPS] = "SELECT from_us, ahead_us FROM clock_step ORDER BY id",
    [ST_FAMILY_TRIM] =
        "DELETE FROM family WHERE noted IN (SELECT noted FROM family ORDER BY row_number() OVER"
        " (PARTITION BY rtrim(name, '0123456789abcdef') ORDER BY noted DESC) DESC, noted"
        " LIMIT max(0, (SELECT count(*) FROM family) - ?1))",
    [ST_FAMILY_ALL] = "SELECT name, begun, most_s, ended_s, largest, unit_s, resize_s, fit,"
                      " program, tries FROM family ORDER BY noted",
    [ST_EVENT_ADD] =
        "INSERT INTO event (time_us, event, job_id, node, text) VALUES (?1,?2,?3,?4,?5)",
    [ST_TAIL_PUT] =
        "INSERT INTO log_tail (job_id, role, idx, incarnation, sequence, text, times,"
        " next_offset) VALUES (?1,?2,?3,?4,?5,?6,?7,?8)"
        " ON CONFLICT (job_id, role, idx, incarnation) DO UPDATE SET sequence=?5, text=?6,"
        " times=?7, next_offset=?8",
    /* REPLACE: a key that had its day comes anew, as the newest row. */
    [ST_ANSWER_PUT] = "INSERT INTO answer (user, idempotency_key, request_digest, status, location,"
                      " body, answered_wall_us, etag) VALUES (?1,?2,?3,?4,?5,?6,?7,?8)",
    [ST_ANSWER_DROP] = "DELETE FROM answer WHERE user = ?1 AND idempotency_key = ?2",
    [ST_ANSWER_OLD] =
        "DELETE FROM answer WHERE sequence IN (SELECT sequence FROM answer ORDER BY sequence"
        " LIMIT 2) AND answered_wall_us < ?1",
    [ST_ANSWER_SHARE] = "DELETE FROM answer WHERE sequence = (SELECT sequence FROM answer"
                        " WHERE user = (SELECT user FROM answer_share WHERE user <> '*'"
                        " ORDER BY bytes DESC LIMIT 1) ORDER BY sequence LIMIT 1)",
    [ST_ANSWER_BYTES] = "SELECT bytes FROM answer_share WHERE user = '*'",
    [ST_ANSWER_FIND] =
        "SELECT request_digest, status, location, body, answered_wall_us, etag"
        " FROM answer WHERE user = ?1 AND idempotency_key = ?2 AND answered_wall_us >= ?3",
    [ST_USER_PUT] = "INSERT INTO user (name, role, created_wall_us, user_group,"
                    " limit_cpu_millicores, limit_gpus, limit_jobs, limit_time_us)"
                    " VALUES (?1,?2,?3,NULLIF(?4,''),?5,?6,?7,?8)"
                    " ON CONFLICT (name) DO UPDATE SET role=?2, user_group=NULLIF(?4,''),"
                    " limit_cpu_millicores=?5, limit_gpus=?6, limit_jobs=?7, limit_time_us=?8",
    [ST_USER_DELETE] = "DELETE FROM user WHERE name = ?1",
    [ST_USER_ALL] = "SELECT 0, '', name, role, created_wall_us, 0, COALESCE(user_group, ''), 0,"
                    " 0, limit_cpu_millicores, limit_gpus, limit_jobs, limit_time_us"
                    " FROM user ORDER BY name",
    [ST_GROUP_PUT] = "INSERT INTO user_group (name, guaranteed_permille, weight, created_wall_us,"
                     " limit_cpu_millicores, limit_gpus, limit_jobs, limit_time_us)"
                     " VALUES (?1,?2,?3,?4,?5,?6,?7,?8)"
                     " ON CONFLICT (name) DO UPDATE SET guaranteed_permille=?2, weight=?3,"
                     " limit_cpu_millicores=?5, limit_gpus=?6, limit_jobs=?7, limit_time_us=?8",
    [ST_GROUP_DELETE] = "DELETE FROM user_group WHERE name = ?1",
    [ST_GROUP_LEAVE] = "UPDATE user SET user_group = NULL WHERE user_group = ?1",
    [ST_GROUP_ALL] = "SELECT name, guaranteed_permille, weight, created_wall_us,"
                     " limit_cpu_millicores, limit_gpus, limit_jobs, limit_time_us FROM user_group"
                     " ORDER BY name",
    [ST_TOKEN_PUT] = "INSERT INTO token (id, hash, user, note, created_wall_us, expires_wall_us,"
                     " made_with, is_login, is_browser) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9)",
    [ST_TOKEN_DELETE] = "DELETE FROM token WHERE id = ?1",
    [ST_TOKEN_ALL] =
        "SELECT id, hash, user, note, created_wall_us, expires_wall_us, '', made_with, is_login,"
        " is_browser"
        " FROM token ORDER BY id",
    [ST_TOKEN_LAST] = "SELECT seq FROM sqlite_sequence WHERE name = 'token'",
    [ST_AUDIT_ADD] = "INSERT INTO audit (wall_us, user, via, method, target, status, request_id)"
                     " VALUES (?1,?2,?3,?4,?5,?6,?7)",
    [ST_AUDIT_OLD] = "DELETE FROM audit WHERE id IN (SELECT id FROM audit ORDER BY id LIMIT 2)"
                     " AND wall_us < ?1",
    [ST_AUDIT_SHARE] = "DELETE FROM audit WHERE id IN (SELECT id FROM audit"
                       " WHERE user = (SELECT user FROM audit_share WHERE user <> '*'"
                       " ORDER BY lines DESC LIMIT 1) ORDER BY id LIMIT 2)",
    [ST_AUDIT_COUNT] = "INSERT INTO audit_share (user, lines) VALUES (?1, ?2), ('*', ?2)"
                       " ON CONFLICT (user) DO UPDATE SET lines = lines + excluded.lines",
    [ST_AUDIT_LINES] = "SELECT lines FROM audit_share WHERE user = '*'",
    [ST_AUDIT_AFTER] = "SELECT id, wall_us, user, via, method, target, status, request_id FROM"
                       " audit WHERE id > ?1 ORDER BY id LIMIT ?2",
    [ST_JOIN_TOKEN_PUT] = "{put join_token}",
    [ST_JOIN_TOKEN_TRIM] = "DELETE FROM join_token WHERE expires_wall_us < ?1",
    [ST_JOIN_TOKEN_ALL] = "SELECT {join_token} FROM join_token ORDER BY made_wall_us",
    [ST_FORGET_JOB] = "INSERT OR REPLACE INTO forgotten (job_id, whole) VALUES (?1, 1)",
    [ST_FORGET_TASKS] = "INSERT OR IGNORE INTO forgotten (job_id, whole) VALUES (?1, 0)",
    [ST_FORGET_PROCESS] =
        "DELETE FROM process WHERE job_id=?1 AND role=?2 AND idx=?3 AND incarnation=?4",
    [ST_FORGET_TAIL] =
        "DELETE FROM log_tail WHERE job_id=?1 AND role=?2 AND idx=?3 AND incarnation=?4",
    [ST_FORGOTTEN_COUNT] = "SELECT count(*) FROM (SELECT 1 FROM forgotten LIMIT ?1)",
    [ST_FORGOTTEN_FIRST] = "SELECT job_id, whole FROM forgotten ORDER BY job_id LIMIT 1",
    [ST_FORGOTTEN_TASKS] = "DELETE FROM task WHERE job_id=?1 AND id IN"
                           " (SELECT id FROM task WHERE job_id=?1 ORDER BY id LIMIT ?2)",
    [ST_FORGOTTEN_TAILS] =
        "DELETE FROM log_tail WHERE job_id=?1 AND (role, idx, incarnation) IN"
        " (SELECT role, idx, incarnation FROM log_tail WHERE job_id=?1 LIMIT ?2)",
    [ST_FORGOTTEN_PROCESSES] =
        "DELETE FROM process WHERE job_id=?1 AND (role, idx, incarnation) IN"
        " (SELECT role, idx, incarnation FROM process WHERE job_id=?1 LIMIT ?2)",
    [ST_FORGOTTEN_RENDEZVOUS] = "DELETE FROM rendezvous WHERE job_id=?1",
    [ST_FORGOTTEN_QUEUE_END] = "DELETE FROM queue_end WHERE job_id=?1",
    [ST_FORGOTTEN_QUEUE] = "DELETE FROM queue WHERE job_id=?1",
    [ST_FORGOTTEN_SERIES] = "DELETE FROM job_series WHERE job_id=?1",
    [ST_FORGOTTEN_ROW] = "DELETE FROM job WHERE id=?1",
    [ST_FORGOTTEN_DONE] = "DELETE FROM forgotten WHERE job_id=?1",
    [ST_JOB_ALL] = "SELECT {job} FROM job WHERE archived = 0 ORDER BY id",
    [ST_PROCESS_ALL] = "SELECT {process} FROM process"
                       " WHERE job_id IN (SELECT id FROM job WHERE archived = 0)"
                       " ORDER BY job_id, incarnation",
    [ST_NODE_ALL] = "SELECT {node} FROM node ORDER BY name",
    [ST_QUEUE_END_PUT] = "{put queue_end}",
    [ST_QUEUE_ALL] = "SELECT {queue}, {queue_end} FROM queue LEFT JOIN queue_end USING (job_id)"
                     " WHERE job_id IN (SELECT id FROM job WHERE archived = 0) ORDER BY job_id",
    [ST_TASK_ALL] = "SELECT {task} FROM task WHERE job_id=?1 ORDER BY id",
    /* twice is once: a job that is archived already is not changed, and not counted again */
    [ST_ARCHIVE] = "UPDATE job SET archived = 1, document = ?2, spec = '',"
                   " array_index = json_extract(spec, '$.array.index'),"
                   " array_jobs = json_extract(spec, '$.array.jobs'),"
                   " kept_bytes = 512 + length(CAST(reason AS BLOB)) + length(CAST(slots AS BLOB))"
                   " + ifnull(length(CAST(metrics AS BLOB)), 0)"
                   " + 256 * (SELECT count(*) FROM process WHERE job_id = job.id)"
                   " + ifnull((SELECT length(points) FROM job_series WHERE job_id = job.id), 0)"
                   " WHERE id = ?1 AND archived = 0",
    [ST_DOCUMENT_OF] = "SELECT user, json_replace(spec, '$.name', '', '$.array.index', 0)"
                       " FROM job WHERE id = ?1 AND archived = 0",
    [ST_DOCUMENT_PUT] = "INSERT INTO document (user, digest, jobs, bytes, text)"
                        " VALUES (?1, ?2, 1, ?3, ?4)"
                        " ON CONFLICT (user, digest) DO UPDATE SET jobs = jobs + 1 RETURNING id",
    [ST_ARCHIVE_COUNT] = "INSERT INTO archived_count (state, jobs)"
                         " SELECT state, 1 FROM job WHERE id = ?1"
                         " ON CONFLICT (state) DO UPDATE SET jobs = jobs + 1",
    [ST_ARCHIVE_USAGE] =
        "INSERT INTO archived_usage (user, kind, jobs, cpu_millicore_ms, gpu_ms, memory_mib_ms)"
        " SELECT user, kind.value, 1, " USAGE_OF_KIND(0) ", " USAGE_OF_KIND(1) ", " USAGE_OF_KIND(
            2) " FROM job JOIN json_each('[0,1,2,3]') AS kind WHERE job.id = ?1"
               " ON CONFLICT (user, kind) DO UPDATE SET jobs = jobs + 1,"
               " cpu_millicore_ms = cpu_millicore_ms + excluded.cpu_millicore_ms,"
               " gpu_ms = gpu_ms + excluded.gpu_ms,"
               " memory_mib_ms = memory_mib_ms + excluded.memory_mib_ms",
    [ST_ARCHIVED_BY_ID] = "SELECT id, name, state FROM job WHERE id = ?1 AND archived = 1",
    [ST_ARCHIVED_BY_NAME] = "SELECT id, name, state FROM job INDEXED BY archived_name"
                            " WHERE name = ?1 AND user = ?2 AND archived = 1"
                            " ORDER BY id DESC LIMIT 1",
    [ST_ARCHIVED_USERS] =
        "SELECT (SELECT min(user) FROM job INDEXED BY archived_name"
        " WHERE name = ?1 AND archived = 1), (SELECT max(user) FROM job INDEXED BY archived_name"
        " WHERE name = ?1 AND archived = 1)",
    [ST_ARCHIVED_ARRAY] = "SELECT id FROM job INDEXED BY archived_array_user"
                          " WHERE array_name = ?1 AND user = ?2 AND archived = 1 LIMIT 1",
    [ST_ARCHIVED_ARRAY_NEWEST] =
        "SELECT id, array_index, array_jobs"
        " FROM job INDEXED BY archived_array_user"
        " WHERE array_name = ?1 AND user = ?2 AND archived = 1 ORDER BY id DESC LIMIT 1",
    [ST_ARCHIVED_OF_ARRAY] = "SELECT id, name, state FROM job INDEXED BY archived_array"
                             " WHERE array_name = ?1 AND archived = 1 AND id > ?2 AND id < ?3"
                             " AND id - array_index = ?4 ORDER BY id",
    [ST_ARCHIVED_OLDEST] = "SELECT id, ended_wall_us FROM job INDEXED BY archived_end"
                           " WHERE archived = 1 ORDER BY ended_wall_us, id LIMIT 1",
    /* of the user with the most */
    [ST_ARCHIVED_OLDEST_OF_JOBS] =
        "SELECT id, ended_wall_us FROM job INDEXED BY archived_user_end WHERE archived = 1"
        " AND user = (SELECT user FROM archived_share WHERE user <> '*'"
        " ORDER BY jobs DESC LIMIT 1) ORDER BY ended_wall_us, id LIMIT 1",
    [ST_ARCHIVED_OLDEST_OF_BYTES] =
        "SELECT id, ended_wall_us FROM job INDEXED BY archived_user_end WHERE archived = 1"
        " AND user = (SELECT user FROM archived_share WHERE user <> '*'"
        " ORDER BY bytes DESC LIMIT 1) ORDER BY ended_wall_us, id LIMIT 1",
    [ST_ARCHIVED_SHARE] = "SELECT jobs, bytes FROM archived_share WHERE user = '*'",
    [ST_ARCHIVED_DROP] = "UPDATE job SET archived = 2 WHERE id = ?1",
    [ST_ARCHIVED_UNCOUNT] = "UPDATE archived_count SET jobs = jobs - 1"
                            " WHERE state = (SELECT state FROM job WHERE id = ?1)",
    [ST_ARCHIVED_COUNTS] = "SELECT state, jobs FROM archived_count",
    [ST_ARCHIVED_USAGE] =
        "SELECT user, kind, jobs, cpu_millicore_ms, gpu_ms, memory_mib_ms FROM archived_usage"
        " WHERE ?1 IS NULL OR user = ?1 ORDER BY user, kind",
    [ST_ARCHIVED_JOB] = "SELECT {job} FROM job WHERE id = ?1 AND archived = 1",
    [ST_ARCHIVED_RISING] = "SELECT " WALK_COLUMNS " FROM job INDEXED BY job_archived"
                           " WHERE archived = 1 AND id > ?1 ORDER BY id LIMIT ?2",
    [ST_ARCHIVED_FALLING] = "SELECT " WALK_COLUMNS " FROM job INDEXED BY job_archived"
                            " WHERE archived = 1 AND id < ?1 ORDER BY id DESC LIMIT ?2",
    [ST_ARCHIVED_ARRAY_RISING] = "SELECT " WALK_COLUMNS " FROM job INDEXED BY archived_array"
                                 " WHERE array_name = ?3 AND archived = 1 AND id > ?1"
                                 " ORDER BY id LIMIT ?2",
    [ST_ARCHIVED_ARRAY_FALLING] = "SELECT " WALK_COLUMNS " FROM job INDEXED BY archived_array"
                                  " WHERE array_name = ?3 AND archived = 1 AND id < ?1"
                                  " ORDER BY id DESC LIMIT ?2",
    [ST_ARCHIVED_RUN] =
        "SELECT state, count(*), min(id), max(id)"
        " FROM job INDEXED BY archived_array_user"
        " WHERE array_name = ?1 AND user = ?2 AND archived = 1 AND id > ?3"
        " AND id < ?4 AND id - array_index = ?5 AND submitted_wall_us = ?6 GROUP BY state",
    [ST_PROCESS_OF] = "SELECT {process} FROM process WHERE job_id = ?1 ORDER BY incarnation",
    [ST_QUEUE_OF] = "SELECT {queue}, {queue_end} FROM queue LEFT JOIN queue_end USING (job_id)"
                    " WHERE job_id = ?1",
    [ST_EVENT_AFTER] = "SELECT revision, time_us, event, job_id, node, text FROM event"
                       " WHERE revision > ?1 ORDER BY revision LIMIT ?2",
    [ST_EVENT_AFTER_JOB] = "SELECT revision, time_us, event, job_id, node, text FROM event"
                           " WHERE revision > ?1 AND job_id = ?3 ORDER BY revision LIMIT ?2",

    /* the event's name stands in it, so that the index of resizes is used */
    [ST_EVENT_RESIZES] = "SELECT revision, time_us, event, job_id, node, text FROM event"
                         " WHERE revision > ?1 AND job_id = ?3 AND event = 'job-resized'"
                         " ORDER BY revision LIMIT ?2",
    /* "node <> ''" stands in it, so that the index of nodes is used */
    [ST_EVENT_NODE] = "SELECT revision, time_us, event, job_id, node, text FROM event"
                      " WHERE revision < ?1 AND node = ?3 AND node <> ''"
                      " ORDER BY revision DESC LIMIT ?2",
    [ST_EVENT_BOUNDS] = "SELECT ifnull((SELECT min(revision) FROM event), 1),"
                        " ifnull((SELECT max(revision) FROM event), 0)",
    [ST_EVENT_OLDEST] = "SELECT revision, time_us FROM event ORDER BY revision LIMIT ?1",
    /* revisions behind ?1 that a restored history skipped; ?2: EPOCH_SHIFT */
    [ST_EVENT_SKIPPED] = "SELECT ifnull(sum((e.epoch << ?2) - max("
                         "ifnull((SELECT max(revision) FROM event WHERE revision <= e.epoch << ?2),"
                         " 0),"
                         "ifnull((SELECT max(epoch) << ?2 FROM epoch WHERE epoch < e.epoch), 0))),"
                         " 0) FROM epoch AS e WHERE e.epoch << ?2 > ?1",
    [ST_EVENT_TRIM] = "DELETE FROM event WHERE revision <= ?1",
    [ST_HELD_NOW] = "SELECT since_us, processes, cpu_millicores, gpus FROM held_now"
                    " WHERE job_id = ?1 AND role = ?2",
    [ST_HELD_ADD] = "INSERT INTO held (job_id, role, user, since_us, until_us, processes,"
                    " cpu_millicores, gpus) SELECT job_id, role, user, since_us, ?3, processes,"
                    " cpu_millicores, gpus FROM held_now"
                    " WHERE job_id = ?1 AND role = ?2 AND since_us < ?3",
    [ST_HELD_PUT] = "INSERT OR REPLACE INTO held_now (job_id, role, user, since_us, processes,"
                    " cpu_millicores, gpus) VALUES (?1,?2,?3,?4,?5,?6,?7)",
    [ST_HELD_DROP] = "DELETE FROM held_now WHERE job_id = ?1 AND role = ?2",
    /* the newest row stays: it tells how many there were */
    [ST_HELD_TRIM] = "DELETE FROM held WHERE id IN (SELECT id FROM held ORDER BY id LIMIT ?1)"
                     " AND id < (SELECT max(id) FROM held)"
                     " AND (id <= (SELECT max(id) FROM held) - ?2 OR until_us < ?3)",
    [ST_SERIES_PUT] = "INSERT OR REPLACE INTO job_series (job_id, rate_of, cost_name, period_us,"
                      " points) VALUES (?1,?2,?3,?4,?5)",
    [ST_SERIES_OF] =
        "SELECT rate_of, cost_name, period_us, points FROM job_series WHERE job_id = ?1",
    [ST_TAIL_SEQUENCE] = "SELECT ifnull(max(sequence), 0) FROM log_tail",
    [ST_TAIL_BYTES] = "SELECT bytes FROM log_bytes",
    [ST_TAIL_TRIM] = "DELETE FROM log_tail WHERE (job_id, role, idx, incarnation) IN"
                     " (SELECT job_id, role, idx, incarnation FROM log_tail ORDER BY sequence"
                     " LIMIT 1)",
    [ST_PROBE] = "SELECT max(revision) FROM event",
    [ST_TAIL_JOB] =
        "SELECT job_id, role, idx, incarnation, sequence, text, times, next_offset FROM log_tail"
        " WHERE job_id = ?1 AND sequence > ?2 ORDER BY sequence",
};

int store_error(struct store *store, const char *what, struct edl_error *error)
{
    return engine_error(store->engine, what, error);
}

uint64_t store_changes(struct store *store)
{
    return store->engine->calls->changes(store->engine);
}

int store_step_done(struct store *store, enum statement which, struct edl_error *error)
{
    return store->engine->calls->run(store->statements[which]) < 0
               ? store_error(store, "writing", error)
               : 0;
}

uint64_t store_first_number_of(const struct store *store, enum statement which)
{
    struct prepared *statement = store->statements[which];
    uint64_t number = store_next(statement, "", NULL) == 1 ? store_column_u64(statement, 0) : 0;

    store_reset(statement);
    return number;
}

int store_prepare_all(struct store *store, struct edl_error *error)
{
    for (int i = 0; i < ST_N; i++) {
        _cleanup_free_ char *text = store_text_of(statement_texts[i]);

        if (store->engine->calls->prepare(store->engine, text, &store->statements[i]) < 0)
            return store_error(store, text, error);
    }
    return 0;
}

struct store *store_new(void)
{
    struct store *store = xcalloc(1, sizeof *store);

    store->sweeping = true;
    histogram_init(&store->commits, histogram_work_us);
    return store;
}

struct store *store_free(struct store *store)
{
    if (store == NULL)
        return NULL;
    for (int i = 0; i < ST_N; i++)
        if (store->statements[i] != NULL)
            (void)store->engine->calls->finish(store->statements[i]);
    store->engine = engine_close(store->engine);
    free(store);
    return NULL;
}

int store_schema_version(const struct store *store)
{
    return store->schema_version;
}

static int put_tail(struct store *store, const struct log_tail *tail, struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_TAIL_PUT];

    store_bind_u64(statement, 1, tail->job_id);
    store_bind_text(statement, 2, tail->role);
    store_bind_u64(statement, 3, tail->index);
    store_bind_u64(statement, 4, tail->incarnation);
    store_bind_u64(statement, 5, tail->sequence);
    store_bind_text(statement, 6, tail->text);
    store_bind_text(statement, 7, tail->times != NULL ? tail->times : "");
    store_bind_u64(statement, 8, tail->next_offset);
    return store_step_done(store, ST_TAIL_PUT, error);
}

static bool is_record(enum effect_kind kind)
{
    return kind != EFFECT_ORDERS && kind != EFFECT_MEMBERSHIP && kind != EFFECT_NOTICE;
}

static int write_turn(struct store *store, const struct turn_records *records,
                      struct edl_error *error)
{
    const struct engine_calls *calls = store->engine->calls;
    int r = 0;

    if (calls->begin(store->engine) < 0)
        return store_error(store, "writing", error);
    for (size_t i = 0; r == 0 && i < records->n_effects; i++)
        r = store_put_effect(store, &records->effects[i], error);
    if (r == 0)
        r = store_put_held(store, records, error);
    if (r == 0)
        r = store_put_series(store, records, error);
    for (size_t i = 0; r == 0 && i < records->n_tails; i++)
        r = put_tail(store, &records->tails[i], error);
    for (size_t i = 0; r == 0 && i < records->n_answers; i++)
        r = store_put_answer(store, &records->answers[i], error);
    if (r == 0)
        r = store_put_accounts(store, records->accounts, records->n_accounts, error);
    for (size_t i = 0; r == 0 && i < records->n_tokens; i++)
        r = store_put_token(store, &records->tokens[i], error);
    for (size_t i = 0; r == 0 && i < records->n_notices; i++)
        r = store_put_notice(store, &records->notices[i], error);
    if (r == 0)
        r = store_put_tasks(store, &records->tasks, error);
    if (r == 0 && records->clock != NULL)
        r = store_put_clock(store, records->clock, error);
    if (r == 0)
        r = store_trim_events(store, records, error);
    if (r == 0)
        r = store_trim_archive(store, records, error);
    if (r == 0)
        r = store_trim_tails(store, records, error);
    if (r == 0)
        r = store_sweep(store, error);
    if (r == 0)
        r = store_look_at_rest(store, error);
    if (r == 0 && calls->commit(store->engine) < 0)
        r = store_error(store, "writing", error);
    if (r < 0)
        calls->rollback(store->engine);
    return r;
}

int store_commit(struct store *store, const struct turn_records *records, struct edl_error *error)
{
    uint64_t start_us = clock_read_us(CLOCK_MONOTONIC);
    size_t n_records = records->n_tails + records->n_answers + records->n_accounts +
                       records->n_tokens + records->tasks.n + records->tasks.dropped +
                       records->n_series + records->n_notices;
    int r;

    for (size_t i = 0; i < records->n_effects; i++)
        n_records += is_record(records->effects[i].kind);
    if (n_records == 0 && records->begun == NULL && !store->rest)
        return 0;
    r = write_turn(store, records, error);
    store->last_commit = r;
    if (r < 0)
        store->commit_failures++;
    else
        histogram_observe(&store->commits, clock_read_us(CLOCK_MONOTONIC) - start_us);
    return r;
}

/* read_events - of a statement whose parameters are bound */
static int read_events(struct prepared *statement, store_event_fn fn, void *userdata,
                       struct edl_error *error)
{
    int r;

    while ((r = store_next(statement, "reading events", error)) == 1) {
        struct stored_event event = {
            .revision = store_column_u64(statement, 0),
            .time_us = store_column_u64(statement, 1),
            .event = store_column_text(statement, 2),
            .job_id = store_column_u64(statement, 3),
            .node = store_column_text(statement, 4),
            .text = store_column_text(statement, 5),
        };

        fn(&event, userdata);
    }
    store_reset(statement);
    return r;
}

static int each_event(struct store *store, enum statement which, uint64_t job_id, uint64_t after,
                      uint32_t limit, store_event_fn fn, void *userdata, struct edl_error *error)
{
    struct prepared *statement = store->statements[which];

    store_bind_u64(statement, 1, MIN_OF(after, (uint64_t)INT64_MAX));
    store_bind_u64(statement, 2, limit);
    if (job_id != 0)
        store_bind_u64(statement, 3, job_id);
    return read_events(statement, fn, userdata, error);
}

int store_events(struct store *store, uint64_t job_id, uint64_t after, uint32_t limit,
                 store_event_fn fn, void *userdata, struct edl_error *error)
{
    return each_event(store, job_id != 0 ? ST_EVENT_AFTER_JOB : ST_EVENT_AFTER, job_id, after,
                      limit, fn, userdata, error);
}

int store_resizes(struct store *store, uint64_t job_id, uint64_t after, uint32_t limit,
                  store_event_fn fn, void *userdata, struct edl_error *error)
{
    return each_event(store, ST_EVENT_RESIZES, job_id, after, limit, fn, userdata, error);
}

int store_node_events(struct store *store, const char *node, uint64_t before, uint32_t limit,
                      store_event_fn fn, void *userdata, struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_EVENT_NODE];

    store_bind_u64(statement, 1, MIN_OF(before, (uint64_t)INT64_MAX));
    store_bind_u64(statement, 2, limit);
    store_bind_text(statement, 3, node);
    return read_events(statement, fn, userdata, error);
}

int store_log_sequence(struct store *store, uint64_t *ret, struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_TAIL_SEQUENCE];
    int r = store_next(statement, "reading how far logs reach", error);

    if (r == 1)
        *ret = store_column_u64(statement, 0);
    store_reset(statement);
    return MIN_OF(r, 0);
}

int store_log_tails(struct store *store, uint64_t job_id, uint64_t after, store_tail_fn fn,
                    void *userdata, struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_TAIL_JOB];
    int r;

    store_bind_u64(statement, 1, job_id);
    store_bind_u64(statement, 2, MIN_OF(after, (uint64_t)INT64_MAX));
    while ((r = store_next(statement, "reading logs", error)) == 1) {
        _cleanup_free_ char *text = xstrdup(store_column_text(statement, 5));
        _cleanup_free_ char *times = xstrdup(store_column_text(statement, 6));
        struct log_tail tail = {
            .job_id = store_column_u64(statement, 0),
            .index = (uint32_t)store_column_u64(statement, 2),
            .incarnation = store_column_u64(statement, 3),
            .sequence = store_column_u64(statement, 4),
            .text = text,
            .times = times,
            .next_offset = store_column_u64(statement, 7),
        };

        (void)snprintf(tail.role, sizeof tail.role, "%s", store_column_text(statement, 1));
        fn(&tail, userdata);
    }
    store_reset(statement);
    return r;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* store_statements.c - the statements of the store, in SQL that each engine takes
 *
 * Names of columns that are words of SQL are quoted ("user"), an upsert names its table where it
 * adds to a column, and a subquery has a name. A difference between engines is a mark in braces,
 * which store_text_of fills in. tests/unit/test_store_texts.c knows what only one engine takes. */
#include "scheduler/store/store_internal.h"

/* They decide whether an archived job is shown, and where. */
#define WALK_COLUMNS                                                                               \
    "id, name, \"user\", state, array_name, array_index, array_jobs, submitted_wall_us"

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
    [ST_NOTICE_PUT] =
        "INSERT INTO notice (id, channel, \"user\", target, notices, n_notices, n_more,"
        " tries, made_wall_us, due_wall_us) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)"
        " ON CONFLICT (id) DO UPDATE SET notices=?5, n_notices=?6, n_more=?7,"
        " tries=?8, due_wall_us=?10",
    [ST_NOTICE_DELETE] = "DELETE FROM notice WHERE id = ?1",
    [ST_NOTICE_ALL] = "SELECT id, channel, \"user\", target, notices, n_notices, n_more, tries,"
                      " made_wall_us, due_wall_us FROM notice ORDER BY id",
    [ST_NOTICE_LAST] = "SELECT last FROM number WHERE name = 'notice'",
    /* each written row is the newest one */
    [ST_FAMILY_PUT] =
        "INSERT INTO family (noted, name, begun, most_s, ended_s, largest, unit_s, resize_s, fit,"
        " program, tries) VALUES (?11,?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)"
        " ON CONFLICT (name) DO UPDATE SET noted=?11, begun=?2, most_s=?3, ended_s=?4,"
        " largest=?5, unit_s=?6, resize_s=?7, fit=?8, program=?9, tries=?10",
    [ST_AWAY_PUT] = "UPDATE away SET us = ?1",
    [ST_AWAY_ALL] = "SELECT us FROM away",
    [ST_CLOCK_PUT] = "INSERT INTO clock (id, boot_id, boot_us, real_us, elapsed_us)"
                     " VALUES (1, ?1, ?2, ?3, ?4) ON CONFLICT (id) DO UPDATE SET boot_id=?1,"
                     " boot_us=?2, real_us=?3, elapsed_us=?4",
    [ST_CLOCK_ALL] = "SELECT boot_id, boot_us, real_us, elapsed_us FROM clock",
    [ST_CLOCK_NEWEST] = "SELECT time_us FROM event ORDER BY revision DESC LIMIT 1",
    [ST_CLOCK_STEPS_DROP] = "DELETE FROM clock_step",
    [ST_CLOCK_STEP_PUT] = "INSERT INTO clock_step (id, from_us, ahead_us) VALUES (?1, ?2, ?3)",
    [ST_CLOCK_STEPS] = "SELECT from_us, ahead_us FROM clock_step ORDER BY id",
    /* As goodput_families_bound: the oldest of the user with the most. The last places of all lists
     * by owner are those; digits stand behind the ":" of a name (job_family.c). */
    [ST_FAMILY_TRIM] =
        "DELETE FROM family WHERE noted IN (SELECT noted FROM family ORDER BY row_number() OVER"
        " (PARTITION BY rtrim(name, '0123456789abcdef') ORDER BY noted DESC) DESC, noted"
        " LIMIT (SELECT CASE WHEN count(*) > ?1 THEN count(*) - ?1 ELSE 0 END FROM family))",
    [ST_FAMILY_ALL] = "SELECT name, begun, most_s, ended_s, largest, unit_s, resize_s, fit,"
                      " program, tries FROM family ORDER BY noted",
    [ST_EVENT_ADD] = "INSERT INTO event (revision, time_us, event, job_id, node, text)"
                     " VALUES (?1,?2,?3,?4,?5,?6)",
    [ST_TAIL_PUT] =
        "INSERT INTO log_tail (job_id, role, idx, incarnation, sequence, text, times,"
        " next_offset) VALUES (?1,?2,?3,?4,?5,?6,?7,?8)"
        " ON CONFLICT (job_id, role, idx, incarnation) DO UPDATE SET sequence=?5, text=?6,"
        " times=?7, next_offset=?8",
    /* a key that had its day comes anew: the newest row counts */
    [ST_ANSWER_PUT] =
        "INSERT INTO answer (sequence, \"user\", idempotency_key, request_digest, status,"
        " location, body, answered_wall_us, etag, bytes) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)",
    [ST_ANSWER_OLDEST] = "SELECT sequence, \"user\", bytes, answered_wall_us FROM answer"
                         " ORDER BY sequence LIMIT ?1",
    [ST_ANSWER_OLDEST_OF] = "SELECT sequence, bytes FROM answer {index answer_user}"
                            " WHERE \"user\" = ?1 ORDER BY sequence LIMIT ?2",
    [ST_ANSWER_DROP] = "DELETE FROM answer WHERE sequence <= ?1",
    [ST_ANSWER_DROP_OF] =
        "DELETE FROM answer {index answer_user} WHERE sequence <= ?1 AND \"user\" = ?2",
    [ST_ANSWER_SUMS] = "SELECT \"user\", count(*), CAST(sum(bytes) AS BIGINT)"
                       " FROM answer {index answer_user} GROUP BY \"user\"",
    [ST_ANSWER_FIND] =
        "SELECT request_digest, status, location, body, answered_wall_us, etag"
        " FROM answer WHERE \"user\" = ?1 AND idempotency_key = ?2 AND answered_wall_us >= ?3"
        " ORDER BY sequence DESC LIMIT 1",
    [ST_USER_PUT] = "INSERT INTO \"user\" (name, role, created_wall_us, user_group,"
                    " limit_cpu_millicores, limit_gpus, limit_jobs, limit_time_us)"
                    " VALUES (?1,?2,?3,NULLIF(?4,''),?5,?6,?7,?8)"
                    " ON CONFLICT (name) DO UPDATE SET role=?2, user_group=NULLIF(?4,''),"
                    " limit_cpu_millicores=?5, limit_gpus=?6, limit_jobs=?7, limit_time_us=?8",
    [ST_USER_DELETE] = "DELETE FROM \"user\" WHERE name = ?1",
    [ST_USER_ALL] = "SELECT 0, '', name, role, created_wall_us, 0, COALESCE(user_group, ''), 0,"
                    " 0, limit_cpu_millicores, limit_gpus, limit_jobs, limit_time_us"
                    " FROM \"user\" ORDER BY name",
    [ST_GROUP_PUT] = "INSERT INTO user_group (name, guaranteed_permille, weight, created_wall_us,"
                     " limit_cpu_millicores, limit_gpus, limit_jobs, limit_time_us)"
                     " VALUES (?1,?2,?3,?4,?5,?6,?7,?8)"
                     " ON CONFLICT (name) DO UPDATE SET guaranteed_permille=?2, weight=?3,"
                     " limit_cpu_millicores=?5, limit_gpus=?6, limit_jobs=?7, limit_time_us=?8",
    [ST_GROUP_DELETE] = "DELETE FROM user_group WHERE name = ?1",
    [ST_GROUP_LEAVE] = "UPDATE \"user\" SET user_group = NULL WHERE user_group = ?1",
    [ST_GROUP_ALL] = "SELECT name, guaranteed_permille, weight, created_wall_us,"
                     " limit_cpu_millicores, limit_gpus, limit_jobs, limit_time_us FROM user_group"
                     " ORDER BY name",
    [ST_TOKEN_PUT] =
        "INSERT INTO token (id, hash, \"user\", note, created_wall_us, expires_wall_us,"
        " made_with, is_login, is_browser) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9)",
    [ST_TOKEN_DELETE] = "DELETE FROM token WHERE id = ?1",
    [ST_TOKEN_ALL] = "SELECT id, hash, \"user\", note, created_wall_us, expires_wall_us, '', "
                     "made_with, is_login,"
                     " is_browser"
                     " FROM token ORDER BY id",
    [ST_TOKEN_LAST] = "SELECT last FROM number WHERE name = 'token'",
    [ST_AUDIT_ADD] =
        "INSERT INTO audit (id, wall_us, \"user\", via, method, target, status, request_id)"
        " VALUES (?1,?2,?3,?4,?5,?6,?7,?8)",
    [ST_AUDIT_OLDEST] = "SELECT id, \"user\", wall_us FROM audit ORDER BY id LIMIT ?1",
    [ST_AUDIT_DROP] = "DELETE FROM audit WHERE id <= ?1",
    [ST_AUDIT_DROP_OF] = "DELETE FROM audit WHERE id IN (SELECT id FROM audit"
                         " WHERE \"user\" = ?1 ORDER BY id LIMIT ?2)",
    [ST_AUDIT_SUMS] = "SELECT \"user\", count(*), 0 FROM audit {index audit_user}"
                      " GROUP BY \"user\"",
    [ST_AUDIT_AFTER] = "SELECT id, wall_us, \"user\", via, method, target, status, request_id FROM"
                       " audit WHERE id > ?1 ORDER BY id LIMIT ?2",
    [ST_JOIN_TOKEN_PUT] = "{put join_token}",
    [ST_JOIN_TOKEN_TRIM] = "DELETE FROM join_token WHERE expires_wall_us < ?1",
    [ST_JOIN_TOKEN_ALL] = "SELECT {join_token} FROM join_token ORDER BY made_wall_us",
    [ST_FORGET_JOB] = "INSERT INTO forgotten (job_id, whole) VALUES (?1, 1)"
                      " ON CONFLICT (job_id) DO UPDATE SET whole = 1",
    [ST_FORGET_TASKS] = "INSERT INTO forgotten (job_id, whole) VALUES (?1, 0)"
                        " ON CONFLICT (job_id) DO NOTHING",
    [ST_FORGET_PROCESS] =
        "DELETE FROM process WHERE job_id=?1 AND role=?2 AND idx=?3 AND incarnation=?4",
    [ST_FORGET_TAIL] =
        "DELETE FROM log_tail WHERE job_id=?1 AND role=?2 AND idx=?3 AND incarnation=?4",
    [ST_FORGOTTEN_COUNT] = "SELECT count(*) FROM (SELECT 1 FROM forgotten LIMIT ?1) AS waiting",
    [ST_FORGOTTEN_FIRST] = "SELECT job_id, whole FROM forgotten ORDER BY job_id LIMIT 1",
    [ST_FORGOTTEN_TASKS] = "DELETE FROM task WHERE job_id=?1 AND id IN"
                           " (SELECT id FROM task WHERE job_id=?1 ORDER BY id LIMIT ?2)",
    [ST_FORGOTTEN_TAIL_BYTES] =
        "SELECT CAST(coalesce(sum(bytes), 0) AS BIGINT) FROM (SELECT {bytes text} + {bytes times}"
        " AS bytes FROM log_tail WHERE job_id=?1 ORDER BY role, idx, incarnation LIMIT ?2) AS tail",
    [ST_FORGOTTEN_TAILS] = "DELETE FROM log_tail WHERE job_id=?1 AND (role, idx, incarnation) IN"
                           " (SELECT role, idx, incarnation FROM log_tail WHERE job_id=?1"
                           " ORDER BY role, idx, incarnation LIMIT ?2)",
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
    [ST_ARCHIVE] = "UPDATE job SET archived = 1, document = ?2, spec = '', array_index = ?3,"
                   " array_jobs = ?4, kept_bytes = ?5 WHERE id = ?1 AND archived = 0",
    [ST_ARCHIVE_FACTS] =
        "SELECT \"user\", spec, usage, state, 512 + {bytes reason} + {bytes slots}"
        " + coalesce({bytes metrics}, 0)"
        " + 256 * (SELECT count(*) FROM process WHERE job_id = job.id)"
        " + coalesce((SELECT length(points) FROM job_series WHERE job_id = job.id), 0)"
        " FROM job WHERE id = ?1 AND archived = 0",
    [ST_DOCUMENT_FIND] = "SELECT id FROM document WHERE \"user\" = ?1 AND digest = ?2",
    [ST_DOCUMENT_PUT] = "INSERT INTO document (id, \"user\", digest, jobs, bytes, text)"
                        " VALUES (?1, ?2, ?3, 1, ?4, ?5)",
    [ST_DOCUMENT_MORE] = "UPDATE document SET jobs = jobs + 1 WHERE id = ?1",
    [ST_DOCUMENT_LESS] = "UPDATE document SET jobs = jobs - 1 WHERE id = ?1",
    [ST_DOCUMENT_DROP] = "DELETE FROM document WHERE id = ?1",
    /* ?2 to ?4, ?5 to ?7 and so on are of a kind each */
    [ST_ARCHIVE_USAGE] =
        "INSERT INTO archived_usage (\"user\", kind, jobs, cpu_millicore_ms, gpu_ms, memory_mib_ms)"
        " VALUES (?1,0,1,?2,?3,?4), (?1,1,1,?5,?6,?7), (?1,2,1,?8,?9,?10), (?1,3,1,?11,?12,?13)"
        " ON CONFLICT (\"user\", kind) DO UPDATE SET jobs = archived_usage.jobs + 1,"
        " cpu_millicore_ms = archived_usage.cpu_millicore_ms + excluded.cpu_millicore_ms,"
        " gpu_ms = archived_usage.gpu_ms + excluded.gpu_ms,"
        " memory_mib_ms = archived_usage.memory_mib_ms + excluded.memory_mib_ms",
    [ST_ARCHIVED_BY_ID] = "SELECT id, name, state FROM job WHERE id = ?1 AND archived = 1",
    [ST_ARCHIVED_BY_NAME] = "SELECT id, name, state FROM job {index archived_name}"
                            " WHERE name = ?1 AND \"user\" = ?2 AND archived = 1"
                            " ORDER BY id DESC LIMIT 1",
    [ST_ARCHIVED_USERS] =
        "SELECT (SELECT min(\"user\") FROM job {index archived_name}"
        " WHERE name = ?1 AND archived = 1), (SELECT max(\"user\") FROM job {index archived_name}"
        " WHERE name = ?1 AND archived = 1)",
    [ST_ARCHIVED_ARRAY] = "SELECT id FROM job {index archived_array_user}"
                          " WHERE array_name = ?1 AND \"user\" = ?2 AND archived = 1 LIMIT 1",
    [ST_ARCHIVED_ARRAY_NEWEST] =
        "SELECT id, array_index, array_jobs"
        " FROM job {index archived_array_user}"
        " WHERE array_name = ?1 AND \"user\" = ?2 AND archived = 1 ORDER BY id DESC LIMIT 1",
    [ST_ARCHIVED_OF_ARRAY] = "SELECT id, name, state FROM job {index archived_array}"
                             " WHERE array_name = ?1 AND archived = 1 AND id > ?2 AND id < ?3"
                             " AND id - array_index = ?4 ORDER BY id",
    [ST_ARCHIVED_OLDEST] = "SELECT id, ended_wall_us FROM job {index archived_end}"
                           " WHERE archived = 1 ORDER BY ended_wall_us, id LIMIT 1",
    [ST_ARCHIVED_OLDEST_OF] =
        "SELECT id, ended_wall_us FROM job {index archived_user_end} WHERE archived = 1"
        " AND \"user\" = ?1 ORDER BY ended_wall_us, id LIMIT 1",
    [ST_ARCHIVED_FACTS] =
        "SELECT job.\"user\", job.state, job.kept_bytes, coalesce(job.document, 0),"
        " coalesce(document.jobs, 0), coalesce(document.bytes, 0)"
        " FROM job LEFT JOIN document ON document.id = job.document"
        " WHERE job.id = ?1 AND job.archived = 1",
    [ST_ARCHIVED_SUMS] = "SELECT \"user\", jobs, bytes FROM archived_share WHERE \"user\" <> '*'",
    [ST_ARCHIVED_SHARE_PUT] =
        "INSERT INTO archived_share (\"user\", jobs, bytes) VALUES (?1, ?2, ?3)"
        " ON CONFLICT (\"user\") DO UPDATE SET jobs=?2, bytes=?3",
    [ST_ARCHIVED_SHARE_DROP] = "DELETE FROM archived_share WHERE \"user\" = ?1",
    [ST_ARCHIVED_DROP] = "UPDATE job SET archived = 2 WHERE id = ?1",
    [ST_ARCHIVED_COUNTS] = "SELECT state, jobs FROM archived_count",
    [ST_ARCHIVED_COUNT_PUT] = "INSERT INTO archived_count (state, jobs) VALUES (?1, ?2)"
                              " ON CONFLICT (state) DO UPDATE SET jobs=?2",
    [ST_ARCHIVED_USAGE] =
        "SELECT \"user\", kind, jobs, cpu_millicore_ms, gpu_ms, memory_mib_ms FROM archived_usage"
        " WHERE CAST(?1 AS TEXT) IS NULL OR \"user\" = ?1 ORDER BY \"user\", kind",
    /* array_index: of a document that is shared (column_json.c) */
    [ST_ARCHIVED_JOB] = "SELECT {job}, array_index FROM job WHERE id = ?1 AND archived = 1",
    [ST_ARCHIVED_RISING] = "SELECT " WALK_COLUMNS " FROM job {index job_archived}"
                           " WHERE archived = 1 AND id > ?1 ORDER BY id LIMIT ?2",
    [ST_ARCHIVED_FALLING] = "SELECT " WALK_COLUMNS " FROM job {index job_archived}"
                            " WHERE archived = 1 AND id < ?1 ORDER BY id DESC LIMIT ?2",
    [ST_ARCHIVED_ARRAY_RISING] = "SELECT " WALK_COLUMNS " FROM job {index archived_array}"
                                 " WHERE array_name = ?3 AND archived = 1 AND id > ?1"
                                 " ORDER BY id LIMIT ?2",
    [ST_ARCHIVED_ARRAY_FALLING] = "SELECT " WALK_COLUMNS " FROM job {index archived_array}"
                                  " WHERE array_name = ?3 AND archived = 1 AND id < ?1"
                                  " ORDER BY id DESC LIMIT ?2",
    [ST_ARCHIVED_RUN] =
        "SELECT state, count(*), min(id), max(id)"
        " FROM job {index archived_array_user}"
        " WHERE array_name = ?1 AND \"user\" = ?2 AND archived = 1 AND id > ?3"
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
    [ST_EVENT_BOUNDS] = "SELECT coalesce((SELECT min(revision) FROM event), 1),"
                        " coalesce((SELECT max(revision) FROM event), 0)",
    [ST_EVENT_OLDEST] =
        "SELECT revision, time_us FROM event WHERE revision > ?1 ORDER BY revision LIMIT ?2",
    [ST_EVENT_TRIM] = "DELETE FROM event WHERE revision <= ?1",
    [ST_HELD_NOW] = "SELECT job_id, role, since_us, processes, cpu_millicores, gpus FROM held_now",
    [ST_HELD_ADD] = "INSERT INTO held (id, job_id, role, \"user\", since_us, until_us, processes,"
                    " cpu_millicores, gpus) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9)",
    [ST_HELD_PUT] = "INSERT INTO held_now (job_id, role, \"user\", since_us, processes,"
                    " cpu_millicores, gpus) VALUES (?1,?2,?3,?4,?5,?6,?7)"
                    " ON CONFLICT (job_id, role) DO UPDATE SET \"user\"=?3, since_us=?4,"
                    " processes=?5, cpu_millicores=?6, gpus=?7",
    [ST_HELD_DROP] = "DELETE FROM held_now WHERE job_id = ?1 AND role = ?2",
    /* the newest row, ?4, stays: it tells how many there were */
    [ST_HELD_TRIM] = "DELETE FROM held WHERE id IN (SELECT id FROM held ORDER BY id LIMIT ?1)"
                     " AND id < ?4 AND (id <= ?4 - ?2 OR until_us < ?3)",
    [ST_SERIES_PUT] = "INSERT INTO job_series (job_id, rate_of, cost_name, period_us,"
                      " points) VALUES (?1,?2,?3,?4,?5) ON CONFLICT (job_id) DO UPDATE SET"
                      " rate_of=?2, cost_name=?3, period_us=?4, points=?5",
    [ST_SERIES_OF] =
        "SELECT rate_of, cost_name, period_us, points FROM job_series WHERE job_id = ?1",
    [ST_TAIL_SEQUENCE] = "SELECT coalesce(max(sequence), 0) FROM log_tail",
    [ST_TAIL_BYTES] = "SELECT bytes FROM log_bytes",
    [ST_TAIL_COUNT] =
        "UPDATE log_bytes SET bytes = bytes + ?5 - coalesce((SELECT {bytes text} + {bytes times}"
        " FROM log_tail WHERE job_id=?1 AND role=?2 AND idx=?3 AND incarnation=?4), 0)",
    [ST_TAIL_UNCOUNT] = "UPDATE log_bytes SET bytes = ?1",
    [ST_TAIL_OLDEST] = "SELECT job_id, role, idx, incarnation, {bytes text} + {bytes times}"
                       " FROM log_tail ORDER BY sequence LIMIT ?1",
    [ST_NUMBERS] =
        "SELECT coalesce((SELECT min(revision) FROM event), 0),"
        " coalesce((SELECT max(revision) FROM event), 0),"
        " coalesce((SELECT max(sequence) FROM answer), 0),"
        " coalesce((SELECT min(id) FROM audit), 0), coalesce((SELECT max(id) FROM audit), 0),"
        " coalesce((SELECT max(noted) FROM family), 0),"
        " coalesce((SELECT max(id) FROM document), 0), coalesce((SELECT max(id) FROM held), 0),"
        " coalesce((SELECT last FROM number WHERE name = 'token'), 0),"
        " coalesce((SELECT last FROM number WHERE name = 'notice'), 0),"
        " coalesce((SELECT last FROM number WHERE name = 'audit'), 0)",
    [ST_NUMBER_PUT] = "INSERT INTO number (name, last) VALUES (?1, ?2)"
                      " ON CONFLICT (name) DO UPDATE SET last=?2",
    /* 1048576: 1 << EPOCH_SHIFT */
    [ST_EPOCHS] = "SELECT e.epoch, coalesce((SELECT max(revision) FROM event"
                  " WHERE revision <= e.epoch * 1048576), 0), coalesce(e.first_job, 0)"
                  " FROM epoch AS e ORDER BY e.epoch",
    [ST_EPOCH_ADD] =
        "INSERT INTO epoch (epoch, began_wall_us, first_job, known_until_us, last_token)"
        " VALUES (?1, ?2, ?3, " STORE_KNOWN_UNTIL(
            "") ", coalesce((SELECT last FROM number WHERE name = 'token'), 0))",
    /* they are good once: which of them were used since nobody knows */
    [ST_JOIN_TOKEN_END] = "UPDATE join_token SET expires_wall_us = ?1"
                          " WHERE used_wall_us = 0 AND expires_wall_us > ?1",
    [ST_KNOWN] = "SELECT " STORE_KNOWN(""),
    [ST_PROBE] = "SELECT max(revision) FROM event",
    [ST_TAIL_JOB] =
        "SELECT job_id, role, idx, incarnation, sequence, text, times, next_offset FROM log_tail"
        " WHERE job_id = ?1 AND sequence > ?2 ORDER BY sequence LIMIT ?3",
};

const char *store_statement_text(enum statement which)
{
    return statement_texts[which];
}

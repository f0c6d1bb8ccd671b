/* SPDX-License-Identifier: Apache-2.0 */
/* store_internal.h - shared by the files of scheduler/store only */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "scheduler/core/base/histogram.h"
#include "scheduler/core/model/usage.h"
#include "scheduler/store/engine.h"
#include "scheduler/store/reader_source.h"
#include "scheduler/store/store.h"
#include "scheduler/store/store_sums.h"
#include "scheduler/store/turn_rest.h"

struct account_change;
struct cluster;
struct edl_error;
struct effect;
struct elapsed_record;
struct job;
struct stored_answer;
struct stored_notice;
struct stored_token;

enum statement {
    ST_JOB_PUT,
    ST_JOB_CHANGE,
    ST_PROCESS_PUT,
    ST_NODE_PUT,
    ST_NODE_DELETE,
    ST_QUEUE_PUT,
    ST_QUEUE_END_PUT,
    ST_TASK_PUT,
    ST_TASK_SET,
    ST_TASK_TRIM,
    ST_RENDEZVOUS_PUT,
    ST_RENDEZVOUS_ALL,
    ST_ARRAY_NOTICE_PUT,
    ST_ARRAY_NOTICE_DELETE,
    ST_ARRAY_NOTICE_ALL,
    ST_NOTICE_PUT,
    ST_NOTICE_DELETE,
    ST_NOTICE_ALL,
    ST_NOTICE_LAST,
    ST_FAMILY_PUT,
    ST_FAMILY_TRIM,
    ST_AWAY_PUT,
    ST_AWAY_ALL,
    ST_CLOCK_PUT,
    ST_CLOCK_ALL,
    ST_CLOCK_NEWEST,
    ST_CLOCK_STEPS_DROP,
    ST_CLOCK_STEP_PUT,
    ST_CLOCK_STEPS,
    ST_FAMILY_ALL,
    ST_EVENT_ADD,
    ST_TAIL_PUT,
    ST_ANSWER_PUT,
    ST_ANSWER_OLDEST,
    ST_ANSWER_OLDEST_OF,
    ST_ANSWER_DROP,
    ST_ANSWER_DROP_OF,
    ST_ANSWER_SUMS,
    ST_ANSWER_FIND,
    ST_JOIN_TOKEN_PUT,
    ST_JOIN_TOKEN_TRIM,
    ST_JOIN_TOKEN_ALL,
    ST_FORGET_JOB,
    ST_FORGET_TASKS,
    ST_FORGET_PROCESS,
    ST_FORGET_TAIL,
    ST_FORGOTTEN_COUNT,
    ST_FORGOTTEN_FIRST,
    ST_FORGOTTEN_TASKS,
    ST_FORGOTTEN_TAIL_BYTES,
    ST_FORGOTTEN_TAILS,
    ST_FORGOTTEN_PROCESSES,
    ST_FORGOTTEN_RENDEZVOUS,
    ST_FORGOTTEN_QUEUE_END,
    ST_FORGOTTEN_QUEUE,
    ST_FORGOTTEN_SERIES,
    ST_FORGOTTEN_ROW,
    ST_FORGOTTEN_DONE,
    ST_ARCHIVE,
    ST_ARCHIVE_FACTS,
    ST_DOCUMENT_FIND,
    ST_DOCUMENT_PUT,
    ST_DOCUMENT_MORE,
    ST_DOCUMENT_LESS,
    ST_DOCUMENT_DROP,
    ST_ARCHIVE_USAGE,
    ST_ARCHIVED_BY_ID,
    ST_ARCHIVED_BY_NAME,
    ST_ARCHIVED_USERS,
    ST_ARCHIVED_ARRAY,
    ST_ARCHIVED_ARRAY_NEWEST,
    ST_ARCHIVED_OF_ARRAY,
    ST_ARCHIVED_OLDEST,
    ST_ARCHIVED_OLDEST_OF,
    ST_ARCHIVED_FACTS,
    ST_ARCHIVED_SUMS,
    ST_ARCHIVED_SHARE_PUT,
    ST_ARCHIVED_SHARE_DROP,
    ST_ARCHIVED_DROP,
    ST_ARCHIVED_COUNTS,
    ST_ARCHIVED_COUNT_PUT,
    ST_ARCHIVED_USAGE,
    ST_ARCHIVED_JOB,
    ST_ARCHIVED_RISING,
    ST_ARCHIVED_FALLING,
    ST_ARCHIVED_ARRAY_RISING,
    ST_ARCHIVED_ARRAY_FALLING,
    ST_ARCHIVED_RUN,
    ST_PROCESS_OF,
    ST_QUEUE_OF,
    ST_JOB_ALL,
    ST_PROCESS_ALL,
    ST_NODE_ALL,
    ST_QUEUE_ALL,
    ST_TASK_ALL,
    ST_EVENT_AFTER,
    ST_EVENT_AFTER_JOB,
    ST_EVENT_RESIZES,
    ST_EVENT_NODE,
    ST_EVENT_BOUNDS,
    ST_EVENT_OLDEST,
    ST_EVENT_TRIM,
    ST_HELD_NOW,
    ST_HELD_ADD,
    ST_HELD_PUT,
    ST_HELD_DROP,
    ST_HELD_TRIM,
    ST_SERIES_PUT,
    ST_SERIES_OF,
    ST_TAIL_SEQUENCE,
    ST_TAIL_BYTES,
    ST_TAIL_COUNT,
    ST_TAIL_UNCOUNT,
    ST_TAIL_OLDEST,
    ST_TAIL_JOB,
    ST_USER_PUT,
    ST_USER_DELETE,
    ST_USER_ALL,
    ST_GROUP_PUT,
    ST_GROUP_DELETE,
    ST_GROUP_LEAVE,
    ST_GROUP_ALL,
    ST_TOKEN_PUT,
    ST_TOKEN_DELETE,
    ST_TOKEN_ALL,
    ST_TOKEN_LAST,
    ST_AUDIT_ADD,
    ST_AUDIT_OLDEST,
    ST_AUDIT_DROP,
    ST_AUDIT_DROP_OF,
    ST_AUDIT_SUMS,
    ST_AUDIT_AFTER,
    ST_NUMBERS,
    ST_NUMBER_PUT,
    ST_EPOCHS,
    ST_EPOCH_ADD,
    ST_JOIN_TOKEN_END,
    ST_KNOWN,
    ST_PROBE,
    ST_N,
};

struct store {
    struct engine *engine;             /* owned; NULL: it could not be opened */
    struct prepared *statements[ST_N]; /* owned */
    int schema_version;
    struct histogram commits; /* how long they took */
    uint64_t commit_failures;
    struct store_history history;
    struct store_numbers numbers;
    struct store_sums sums;
    uint64_t held_added; /* spans that ended, in this turn */
    bool sweeping;       /* there may be forgotten jobs with rows left */
    bool trimming;       /* the archive is beyond its bounds */
    bool rest;           /* store_has_rest */
    bool behind;         /* store_is_behind */
    int last_commit;     /* 0, or how it failed */
    bool read_only;      /* store_open_read_only */
    bool wants_check;
    struct reader_source readers; /* of its database */
};

/* store_new - as nobody has opened it yet */
struct store *store_new(void);

/* A million numbers a second from one epoch to the next, and JSON's integers last for centuries. */
#define EPOCH_SHIFT 20

/* store_error - engine_error of the store's */
int store_error(struct store *store, const char *what, struct edl_error *error);

/* store_step_done - runs a bound statement that gives no rows, and resets it. Of one that has to
 * change exactly one row, and does not: -ENOENT; in a transaction maybe with its commit */
int store_step_done(struct store *store, enum statement which, struct edl_error *error);

/* store_ask_ahead - the statement is bound, of a far store: -EINPROGRESS when its rows are not
 * there, and asked for now; 0: they are, or why not is told when it is read */
int store_ask_ahead(struct store *store, enum statement which);

/* store_changes - rows that the last statement changed */
uint64_t store_changes(struct store *store);

/* store_json_text - the value as text; the caller frees it */
char *store_json_text(json_t *take_value);

/* Facts that a database ("", "former.") knows, in SQL: the newest moment; and STORE_KNOWN, the
 * columns of struct epoch_known */
#define STORE_KNOWN_UNTIL(db)                                                                      \
    "(SELECT max(us) FROM (SELECT coalesce((SELECT time_us FROM " db                               \
    "event ORDER BY revision DESC LIMIT 1), 0) AS us UNION ALL"                                    \
    " SELECT coalesce((SELECT wall_us FROM " db "audit ORDER BY id DESC LIMIT 1), 0)) AS newest)"
#define STORE_KNOWN(db)                                                                            \
    "(SELECT coalesce(max(id), 0) + 1 FROM " db "job), (SELECT applied_us FROM " db                \
    "schema_migration WHERE version = 1), " STORE_KNOWN_UNTIL(db)

/* store_statement_text - with its marks (store_text_of) */
const char *store_statement_text(enum statement which);

/* store_need_sums - before a turn: reads them where they are not known
 * store_forget_sums - they are not known any more: somebody else has written, or a turn failed.
 * Until they are read again people see the former ones. store_free_sums - what they own */
int store_need_sums(struct store *store, struct edl_error *error);
void store_forget_sums(struct store *store);
void store_free_sums(struct store *store);

/* store_write_sums - those that have rows, at the end of a turn's */
int store_write_sums(struct store *store, struct edl_error *error);

/* store_number_of - the first column of the first row of a statement whose parameters are bound;
 * 0 with 0: it has none */
int store_number_of(struct store *store, enum statement which, uint64_t *ret,
                    struct edl_error *error);
/* store_read_audit - the sums of the audit log
 * store_put_number - the highest number of a kind that anything had, which outlives it */
int store_read_audit(struct store *store, struct edl_error *error);
int store_put_number(struct store *store, const char *name, uint64_t *last, uint64_t number,
                     struct edl_error *error);

/* store_prepare_all - every statement; the schema must be the newest */
int store_prepare_all(struct store *store, struct edl_error *error);

/* store_write_records - the rows of a turn, inside the caller's transaction; reads nothing: it may
 * be recorded, to be done by another store (far/)
 * store_write_rest - what follows from them; it reads. Both in this order */
int store_write_records(struct store *store, const struct turn_records *records,
                        struct edl_error *error);
int store_write_rest(struct store *store, const struct turn_rest *rest, struct edl_error *error);

/* store_has_records - there is something to write */
bool store_has_records(const struct store *store, const struct turn_records *records);

/* store_put_effect - one effect's record, inside the caller's transaction */
int store_put_effect(struct store *store, const struct effect *effect, struct edl_error *error);

/* store_put_family - an effect. store_trim_families - of too many the user with the most loses the
 * oldest.
 * store_load_family - the row that ST_FAMILY_ALL stands on; a damaged one is forgotten, which costs
 * time to learn it again and nothing else */
int store_put_family(struct store *store, const struct job *job, struct edl_error *error);
int store_trim_families(struct store *store, const struct turn_rest *rest, struct edl_error *error);
void store_load_family(struct cluster *cluster, struct prepared *statement);

/* store_trim_events - after the turn's events, inside the caller's transaction: lets old ones go */
int store_trim_events(struct store *store, const struct turn_rest *rest, struct edl_error *error);

/* store_forget_job, store_forget_tasks, store_forget_process - effects; store_sweep - some rows of
 * forgotten jobs */
int store_forget_job(struct store *store, uint64_t id, struct edl_error *error);
int store_forget_tasks(struct store *store, uint64_t id, struct edl_error *error);
int store_forget_process(struct store *store, const struct effect *effect, struct edl_error *error);
int store_sweep(struct store *store, const struct turn_rest *rest, struct edl_error *error);
/* store_look_at_rest - at the end of a turn's rows: the rest for the next one */
int store_look_at_rest(struct store *store, struct edl_error *error);

/* store_archive_jobs - behind the turn's rows; their grants are summed up by user */
int store_archive_jobs(struct store *store, const struct turn_rest *rest, struct edl_error *error);

/* Of a job that is to be archived; or of one that is, without its place and its usage. */
struct archived_facts {
    uint64_t id, document; /* 0: its own row has it */
    uint64_t kept_bytes;   /* of its rows */
    uint64_t document_jobs, document_bytes;
    enum job_state state;
    char user[ACCOUNT_NAME_MAX + 1];
    bool in_array;
    int64_t index, n; /* its place in its array, and how many were submitted */
    struct usage usage;
};
/* store_share_document - one for the archive of the document of a job that is not archived yet
 * 1 with *ret; 0: there is no such job, or it is archived */
int store_share_document(struct store *store, uint64_t job_id, struct archived_facts *ret,
                         struct edl_error *error);

/* store_leave_document - of an archived job that goes */
int store_leave_document(struct store *store, const struct archived_facts *job,
                         struct edl_error *error);

/* store_put_held - after the turn's processes, inside the caller's transaction: what their jobs
 * hold now, where it is other than before; spans that are too many or too old go */
int store_put_held(struct store *store, const struct turn_rest *rest, struct edl_error *error);
/* store_read_spans - of the sums. store_forget_spans - frees them */
int store_read_spans(struct store *store, struct edl_error *error);
void store_forget_spans(struct store *store);

/* store_put_series - how some jobs went, in the place of what was stored of them */
int store_put_series(struct store *store, const struct turn_records *records,
                     struct edl_error *error);

/* store_log_bytes - of all kept ends of logs */
uint64_t store_log_bytes(const struct store *store);

/* store_put_tail - the end of a log, in the place of an earlier one. store_forget_tail - that of a
 * process. store_uncount_tails - of some that go: their bytes */
int store_put_tail(struct store *store, const struct log_tail *tail, struct edl_error *error);
int store_forget_tail(struct store *store, uint64_t job_id, const char *role, uint64_t index,
                      uint64_t incarnation, struct edl_error *error);
int store_uncount_tails(struct store *store, uint64_t bytes, struct edl_error *error);

/* store_trim_tails - the oldest kept ends of logs, when all of them take too much; so */
int store_trim_tails(struct store *store, const struct turn_rest *rest, struct edl_error *error);

/* store_trim_archive - after all of the turn's rows, inside the caller's transaction: archived jobs
 * that are too many or too old begin to be deleted. After the rows, because some may be of such
 * jobs: the end of a log, which goes with them */
int store_trim_archive(struct store *store, const struct turn_rest *rest, struct edl_error *error);

/* store_put_answer - one answer, inside the caller's transaction. store_trim_answers - old ones
 * make room */
int store_trim_answers(struct store *store, const struct turn_rest *rest, struct edl_error *error);
int store_put_answer(struct store *store, const struct stored_answer *answer,
                     struct edl_error *error);

/* store_put_accounts - what a turn changed, inside the caller's transaction. store_trim_audit -
 * lines of the audit log that are too many or too old go */
int store_trim_audit(struct store *store, const struct turn_rest *rest, struct edl_error *error);
int store_put_accounts(struct store *store, const struct account_change *changes, size_t n,
                       struct edl_error *error);
/* store_put_tasks - some of a dataset that is not set yet, inside the caller's transaction */
int store_put_tasks(struct store *store, const struct stored_tasks *tasks, struct edl_error *error);

/* store_put_notice - a message to an owner, or its end; inside the caller's transaction */
int store_put_notice(struct store *store, const struct stored_notice *notice,
                     struct edl_error *error);
/* store_put_token - one join token, inside the caller's transaction; forgotten ones go */
int store_put_clock(struct store *store, const struct elapsed_record *clock,
                    struct edl_error *error);
int store_put_token(struct store *store, const struct stored_token *token, struct edl_error *error);

/* SPDX-License-Identifier: Apache-2.0 */
/* store.h - what survives the scheduler: one SQLite database, one transaction a turn
 *
 * WAL, synchronous=FULL and foreign keys, read back when the database is opened. Bound parameters
 * only; each statement is prepared once and lives as long as the store. sqlite3 is named in
 * scheduler/store/sqlite/ only (engine.h). Used by: scheduler. Tests: tests/unit/test_store.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/model/figures.h"
#include "scheduler/core/model/groups.h"
#include "scheduler/core/model/states.h"
#include "shared/account_name.h"
#include "shared/clock.h"
#include "shared/job_spec.h"
#include "shared/macro.h"

struct archived_array;
struct archived_job;
struct array_place;
struct cluster;
struct edl_error;
struct effect;
struct elapsed_record;
struct epoch_known;
struct epoch_numbers;
struct histogram;
struct reader_source;
struct store;
struct task;
struct task_queue;
struct usage;

#define STORE_CHECK_BYTES ((uint64_t)128 << 20) /* some 0.2 s when it is in memory */

/* store_open - opens or makes the database and brings its schema up to date
 * After an unclean stop (a write-ahead log is left over) the whole file is checked first, unless it
 * is larger than STORE_CHECK_BYTES (store_wants_check). Errors: EDL_ECORRUPT, -ENOSPC, -EROFS,
 * -EIO, -EAGAIN, -ENOMEM; -EINVAL when the database was written by a newer program (remedy set) or
 * when one of the durability settings did not take. */
int store_open(const char *path, struct store **ret, struct edl_error *error);

/* store_open_read_only - for a disk on which store_open can write nothing: committed rows can be
 * read, store_commit and store_probe fail with -EROFS. The caller makes sure that nobody else
 * writes: no lock is taken in the file. -EINVAL when the schema is not the newest. */
int store_open_read_only(const char *path, struct store **ret, struct edl_error *error);
bool store_is_read_only(const struct store *store);

/* store_wants_check - the database was left open and is so large that store_open did not check its
 * pages. store_check_pages - does, with a connection of its own; blocks as long as it takes to read
 * the file, and may be called from a thread. EDL_ECORRUPT with remedy. store_stay_open - store_free
 * leaves the write-ahead log, so that the next store_open finds what was left open again */
bool store_wants_check(const struct store *store);
int store_check_pages(const char *path, struct edl_error *error);
void store_stay_open(struct store *store);

/* store_probe - commits, durably, something that changes nothing: can anything be stored? Blocks
 * for one fsync. */
int store_probe(struct store *store, struct edl_error *error);

/* store_room - the same, and of a server whether its disk has room for so many bytes: -ENOSPC */
int store_room(struct store *store, uint64_t bytes, struct edl_error *error);
/* How much history is kept; 0: all of it. */
struct store_history {
    uint64_t events;    /* so many of the newest */
    uint64_t jobs;      /* that are over, the last to end; those of the core count and stay */
    uint64_t job_bytes; /* of archived ones: their rows */
    uint64_t us;        /* the rows that are not older, of both */
    uint64_t log_bytes; /* of kept ends of logs, the newest */
    uint64_t audit;     /* so many lines of the audit log */
    uint64_t audit_us;  /* none of them older */
};
/* store_keep - from now on; rows beyond go in small steps, with the turns that come */
void store_keep(struct store *store, const struct store_history *history);

/* store_free - accepts NULL; returns NULL */
struct store *store_free(struct store *store);

/* The kept end of a process' log. */
struct log_tail {
    uint64_t job_id;
    char role[32];
    uint32_t index;
    uint64_t incarnation;
    uint64_t
        sequence; /* place in the order of all log entries; later runs of the scheduler count on */
    char *text;   /* owned by whoever made it */
    char *times;  /* the same; JSON: [[bytes of text, wall clock us], ...]; NULL or "": not known */
    uint64_t next_offset; /* in the file, behind the text; 0: not known */
};

/* The answer to a request with an Idempotency-Key. All owned by whoever made it. */
struct stored_answer {
    char *user, *key;
    char *digest; /* of the request: another one with the same key is refused */
    unsigned status;
    char *location; /* the header; "" none */
    char *etag;     /* the same */
    char *body;     /* JSON; "" none */
    uint64_t wall_us;
};

#define STORED_ANSWER_US (24 * 3600 * USEC_PER_SEC)
#define STORED_ANSWERS_BYTES ((uint64_t)64 << 20) /* of all, each with 512 for itself */

/* A change of a right, or a line of the audit log; owned by its maker. */
enum account_change_kind {
    ACCOUNT_PUT_USER,
    ACCOUNT_DROP_USER, /* of no group, and without tokens */
    ACCOUNT_PUT_TOKEN,
    ACCOUNT_DROP_TOKEN,
    ACCOUNT_AUDIT,
    ACCOUNT_PUT_GROUP,
    ACCOUNT_DROP_GROUP, /* its members are of none then */
};
struct account_change {
    enum account_change_kind kind;
    uint64_t id;        /* of a token */
    uint64_t made_with; /* id of the token with which its owner made it; 0: none */
    bool is_login;      /* of a token: a code, good for POST /login and nothing else */
    bool is_browser;    /* of a token: a browser keeps it, or gets one for the code */
    char *name;         /* of the user, or of the group */
    char *group;        /* of a user; "" none */
    uint32_t guaranteed_permille, weight;
    struct owner_limits limits; /* of a user or a group */
    const char *role;           /* static */
    char *hash, *note;
    uint64_t created_wall_us, expires_wall_us;
    char *via, *method, *target, *request_id; /* audit */
    unsigned status;
};

/* A token that lets one node join, once. The token itself is not kept. */
struct stored_token {
    char hash[65]; /* SHA-256 of the token, in hex */
    char id[17];   /* what people call it */
    char node[64]; /* the only name that it is good for; "": any that no node has */
    char made_by[ACCOUNT_NAME_MAX + 1];
    uint64_t made_wall_us, expires_wall_us;
    uint64_t used_wall_us; /* 0: not yet */
    char used_by[64];
    char credential_hash[65]; /* of that node */
    uint64_t made_with;       /* id of the token with which it was made; 0: none */
};

#define STORED_TOKEN_US (24 * 3600 * USEC_PER_SEC) /* kept for so long after its end */

/* A message to an owner of jobs that is to be sent (scheduler/notices). */
struct stored_notice {
    uint64_t id;
    uint32_t channel; /* 0 mail, 1 webhook */
    const char *user, *target, *notices;
    uint32_t n_notices, n_more, tries;
    uint64_t made_wall_us, due_wall_us;
    bool gone; /* it has no row any more */
};

/* stored_token_oldest_us - what ended before that is forgotten as new ones come */
uint64_t stored_token_oldest_us(uint64_t now_wall_us);

/* Tasks of a dataset that is stored before it is set: n of them from the first on, by their ids.
 * They count for nothing before EFFECT_SAVE_DATASET says that all are there (see
 * task_queue_set_stored); the next one of the job replaces the rest of an incomplete one. */
struct stored_tasks {
    uint64_t job_id;
    const struct task_queue *queue;
    uint32_t first, n;
    const char *const *chunks; /* of each: store_chunks_text */
    bool dropped; /* the job is over and will not have them: those that are there go, bit by bit */
};

/* store_chunks_text - a task's chunks as its row has them; the caller's. Pure: a worker may. */
char *store_chunks_text(const struct task *task);

/* How a job went, as a few points over its time. */
struct stored_series {
    uint64_t job_id;
    const char *rate_of, *cost_name; /* borrowed during the call; "" none */
    uint64_t period_us;
    const char *points; /* JSON; the same */
};
/* store_series - of a job. 1 and fn was called; 0: there is none */
typedef void (*store_series_fn)(const struct stored_series *series, void *userdata);
int store_series(struct store *store, uint64_t job_id, store_series_fn fn, void *userdata,
                 struct edl_error *error);

/* The records of a turn; all borrowed during store_commit. */
struct turn_records {
    const struct effect *effects;
    size_t n_effects;
    uint64_t n_ended; /* jobs that are over and stay in the core for now */
    uint64_t wall_us; /* now, of an instant; 0: nothing is too old */
    const struct log_tail *tails;
    size_t n_tails;
    const struct stored_answer *answers;
    size_t n_answers;
    const struct account_change *accounts;
    size_t n_accounts;
    const struct stored_token *tokens;
    size_t n_tokens;
    const struct stored_notice *notices;
    size_t n_notices;
    struct stored_tasks tasks;
    const struct stored_series *series;
    size_t n_series;
    const struct cluster *begun; /* of the first commit of a run: what each of its jobs holds is
                                    looked at, and not only what changed; NULL of later ones */
    const struct elapsed_record *clock; /* written along with them; NULL: as it is */
};

/* store_commit - a turn's effects, log tails and answers, all or nothing
 * 0: it is stored. 1: it is in flight, of a store that is far (far/far.h): what the records borrow
 * may change from now on, but the core stays as it is until store_on_stored's function hears how it
 * went.
 * Task queues give up their changes (task_queue_take_changed) while it runs, so after a failure
 * memory is ahead of the disk: the caller must begin again with the state loaded from the database.
 * Blocks for one fsync; none when there is nothing to write. Errors: -ENOSPC when the disk is full,
 * -EROFS, -EIO, -EAGAIN, -ENOMEM, EDL_ECORRUPT. After one of them the transaction is not there; if
 * the process ends before the next commit or store_probe it may be (the disk had taken it after
 * all, and only its sync failed). */
int store_commit(struct store *store, const struct turn_records *records, struct edl_error *error);

/* store_has_rest - the last commit left something to delete: the next one goes on, also without
 * records. store_is_behind - so much that nothing more should be archived before */
bool store_has_rest(const struct store *store);
bool store_is_behind(const struct store *store);

/* store_clock - how elapsed time goes on: 1 with *ret; 0: this database is from before it was kept
 */
int store_clock(struct store *store, struct elapsed_record *ret, struct edl_error *error);

/* store_load - fills an empty cluster through cluster_restore_* (cluster_restored is left to the
 * caller). Without the jobs that are archived */
int store_load(struct store *store, struct cluster *cluster, struct instant now,
               struct edl_error *error);

/* --- the archive: jobs that are over and that the core has let go of (EFFECT_ARCHIVE_JOB) --- */

/* Which of them to load. */
struct archive_query {
    uint64_t id;         /* this one, with its processes; 0: those below, without */
    const uint64_t *ids; /* borrowed, rising; one that is not there is left out */
    size_t n_ids;
};
/* store_load_archived - into an empty cluster, as store_load. O(log n) beside the loaded rows */
int store_load_archived(struct store *store, const struct archive_query *query,
                        struct cluster *cluster, struct instant now, struct edl_error *error);

struct job_match;
/* A walk over them by their numbers, in pieces. */
struct archive_walk {
    bool newest;                   /* towards lower numbers */
    uint64_t at;                   /* it goes on behind this one; moves to the last that was seen */
    const struct job_match *match; /* borrowed; of its array alone, through an index */
    size_t rows;                   /* so many may be looked at yet; counts down */
    /* store_walk_archived's own; 0 at first: a far store is read in pieces, and this one begins
     * behind that number */
    uint64_t piece;
    bool in_piece;
};
/* What a list needs to know of one. */
struct archive_row {
    uint64_t id;
    enum job_state state;
    char user[ACCOUNT_NAME_MAX + 1], name[JOB_NAME_MAX + 1], array[JOB_NAME_MAX + 1];
    uint32_t index, n; /* its place in its array, and how many were submitted; n 0: of none */
    uint64_t submitted_wall_us;
};
/* store_walk_archived - 1 with the next one that fits; 0: there is none, or rows is 0. O(log n)
 * beside the rows that it looks at */
int store_walk_archived(struct store *store, struct archive_walk *walk, struct archive_row *ret,
                        struct edl_error *error);

/* The jobs of an array that were submitted together, as far as they are known. */
struct array_run {
    const char *name, *user;            /* borrowed */
    uint64_t id;                        /* of one of them */
    uint32_t index, n;                  /* its place, and how many were submitted */
    uint64_t submitted_wall_us;         /* then, in one turn */
    uint64_t first, last;               /* numbers; first 0: none is known */
    uint64_t states[FIGURE_JOB_STATES]; /* how many are in each */
};
/* store_count_run - adds those of the archive. Linear in twice n; how many, or negative */
int store_count_run(struct store *store, struct array_run *run, struct edl_error *error);

/* store_find_archived - by number, USER/NAME, or the newest of NAME of that user; text is the
 * source of ref, and kept by *ret. 1; 0 when there is none. O(log n) */
int store_find_archived(struct store *store, const char *user, const char *text,
                        struct archived_job *ret, struct edl_error *error);

/* store_only_archived - the same of NAME of any user; -ENOTUNIQ several have */
int store_only_archived(struct store *store, const char *name, struct archived_job *ret,
                        struct edl_error *error);

/* store_has_archived_array - 1 or 0: is a job of an array of that name there, of that user?
 * O(log n) */
int store_has_archived_array(struct store *store, const char *user, const char *name,
                             struct edl_error *error);

/* store_find_archived_array - where the newest array is, ARRAY of that user or USER/ARRAY, of which
 * there is a job here. 1 with *ret; 0 when there is none. O(log n) */
int store_find_archived_array(struct store *store, const char *user, const char *text,
                              struct array_place *ret, struct edl_error *error);
/* store_archived_of_array - n, first and failed of the array at ret->place that is called
 * ret->named. Linear in twice its jobs */
int store_archived_of_array(struct store *store, struct archived_array *ret,
                            struct edl_error *error);

/* store_archived_counts - how many there are, by enum job_state: ret has room for every state */
void store_archived_counts(const struct store *store, uint64_t *ret);
/* store_archived_total - their sum. store_archived_bytes - what their rows take. None of the three
 * reads anything */
uint64_t store_archived_total(const struct store *store);
uint64_t store_archived_bytes(const struct store *store);

/* store_archived_usage - what they were granted, by user (NULL: each); those that were deleted
 * since count as well. Calls fn once for each user, in their order */
struct archived_usage {
    const char *user; /* borrowed during the call */
    uint64_t n_jobs;
    const struct usage *usage; /* the same */
};
typedef void (*store_usage_fn)(const struct archived_usage *row, void *userdata);
int store_archived_usage(struct store *store, const char *user, store_usage_fn fn, void *userdata,
                         struct edl_error *error);

/* Events. job_id 0: all. Calls fn in order of revision for those after `after`, at most limit. */
struct stored_event {
    uint64_t revision, time_us, job_id; /* job_id 0: none */
    const char *event, *node, *text;    /* borrowed during the call */
};
typedef void (*store_event_fn)(const struct stored_event *event, void *userdata);
int store_events(struct store *store, uint64_t job_id, uint64_t after, uint32_t limit,
                 store_event_fn fn, void *userdata, struct edl_error *error);

/* store_resizes - the same for a job's events of the kind job-resized alone; job_id is not 0 */
int store_resizes(struct store *store, uint64_t job_id, uint64_t after, uint32_t limit,
                  store_event_fn fn, void *userdata, struct edl_error *error);

/* store_node_events - the same for those of a node, the newest first, before the revision `before`
 */
int store_node_events(struct store *store, const char *node, uint64_t before, uint32_t limit,
                      store_event_fn fn, void *userdata, struct edl_error *error);

/* Events are consecutive from oldest to newest; there are none when newest is 0. */
struct event_bounds {
    uint64_t oldest, newest; /* revisions */
};
int store_event_bounds(struct store *store, struct event_bounds *ret, struct edl_error *error);
/* store_bounds_of_page - the same, before store_events is called with these words: a far store
 * (store_asked.h) reads both together, as they were at one moment */
int store_bounds_of_page(struct store *store, uint64_t job_id, uint64_t after, uint32_t limit,
                         struct event_bounds *ret, struct edl_error *error);

/* Log tails: those of one job with a sequence above `after`; the highest sequence of all (0: none).
 */
typedef bool (*store_tail_fn)(const struct log_tail *tail, void *userdata); /* false: no more */
int store_log_sequence(struct store *store, uint64_t *ret, struct edl_error *error);
int store_log_tails(struct store *store, uint64_t job_id, uint64_t after, store_tail_fn fn,
                    void *userdata, struct edl_error *error);

/* store_accounts - every group, every user, then every token (as the changes that made them); and
 * the highest id that a token ever had */
typedef void (*store_account_fn)(const struct account_change *row, void *userdata);
int store_accounts(struct store *store, store_account_fn fn, void *userdata,
                   uint64_t *ret_last_token, struct edl_error *error);

/* store_audit - what people did after the entry `after`, oldest first, at most limit */
struct audit_entry {
    uint64_t id, wall_us;
    const char *user, *via, *method, *target, *request_id; /* borrowed during the call */
    unsigned status;
};
typedef void (*store_audit_fn)(const struct audit_entry *entry, void *userdata);
int store_audit(struct store *store, uint64_t after, uint32_t limit, store_audit_fn fn,
                void *userdata, struct edl_error *error);

/* store_find_answer - what was answered to that key of that user in the last STORED_ANSWER_US
 * Returns 1 with *ret (the caller clears it), 0 when there is none. */
int store_find_answer(struct store *store, const char *user, const char *key, uint64_t now_wall_us,
                      struct stored_answer *ret, struct edl_error *error);
/* store_answer_keys - every key of which there is an answer, in the order in which they were given.
 * Of a near store (store_asked.h) */
typedef void (*store_answer_key_fn)(const char *user, const char *key, uint64_t wall_us,
                                    void *userdata);
int store_answer_keys(struct store *store, store_answer_key_fn fn, void *userdata,
                      struct edl_error *error);
void stored_answer_clear(struct stored_answer *answer);

/* store_tokens - every join token, in the order in which they were made */
typedef void (*store_token_fn)(const struct stored_token *token, void *userdata);
int store_tokens(struct store *store, store_token_fn fn, void *userdata, struct edl_error *error);

/* store_notices - every message, in the order of their numbers; the highest number that one ever
 * had. Texts are borrowed during the call */
typedef void (*store_notice_fn)(const struct stored_notice *notice, void *userdata);
int store_notices(struct store *store, store_notice_fn fn, void *userdata, uint64_t *ret_last,
                  struct edl_error *error);

/* A copy of the database while it is used. One at a time; it must end before the store does.
 * store_backup_step copies so many pages: 1 when there are more, 0 when path is whole. Then it is
 * the state of this moment, but not synced. Errors: -ENOSPC, -EIO. */
struct store_backup;
int store_backup_new(struct store *store, const char *path, struct store_backup **ret,
                     struct edl_error *error);
int store_backup_step(struct store_backup *backup, int pages, struct edl_error *error);
struct store_backup *store_backup_free(struct store_backup *backup); /* accepts NULL */

/* store_check_file - whether a file is an undamaged database of ours; reads all of it. -EINVAL,
 * EDL_ECORRUPT */
int store_check_file(const char *path, struct edl_error *error);

/* Epochs: store_begin_epoch after a backup has taken the place of the database; event revisions go
 * on from store_first_number, jobs from first_job, as store_load lets them do. epoch: above
 * store_epoch. */
uint64_t store_epoch(const struct store *store); /* 0: there was none */
uint64_t store_first_number(const struct store *store);
bool store_epoch_numbers(const struct store *store,
                         struct epoch_numbers *ret); /* false: no epoch */
int store_begin_epoch(struct store *store, uint64_t epoch, uint64_t first_job, uint64_t wall_us,
                      struct edl_error *error);

/* store_known - what the database tells of its history; next_job: behind the highest in a row */
int store_known(struct store *store, struct epoch_known *ret, struct edl_error *error);

/* Credentials that were taken away after a backup was made, which is now to be restored. */
enum revoked_kind {
    REVOKED_TOKEN,      /* was removed */
    REVOKED_USER,       /* was removed */
    REVOKED_ROLE,       /* was given a lower one */
    REVOKED_NODE,       /* was removed */
    REVOKED_CREDENTIAL, /* of a node that has joined anew: the new one is taken over */
    REVOKED_LEFT_OUT,   /* a node that joined since: nothing is taken away, it is not known */
    REVOKED_UNKNOWN,    /* stays: former cannot know whether it was taken away */
    REVOKED_N,
};
/* what: a line for people, borrowed during the call */
typedef void (*store_revoked_fn)(enum revoked_kind kind, const char *what, void *userdata);

/* store_revoke - what was taken away in the database `former` is taken away in the backup at `path`
 * path is of the newest schema, former of this or an earlier one; nobody uses either. former is not
 * changed. Rights that former cannot know (it was itself restored, or is older) stay as they are in
 * path and are told as REVOKED_UNKNOWN. ret_known: what former knows. path may have a log
 * afterwards, which is part of it. After an error path is unchanged, and the calls of fn are void:
 * EDL_ECORRUPT, -EINVAL (former is of another cluster or program), -ENOENT, -EIO, -ENOSPC. */
int store_revoke(const char *path, const char *former, uint64_t now_wall_us, store_revoked_fn fn,
                 void *userdata, struct epoch_known *ret_known, struct edl_error *error);

/* Figures of the database for operators; the counts are of this run. */
struct store_figures {
    const struct histogram *commits; /* borrowed; transactions that were written, failed ones left
                                        out */
    uint64_t commit_failures;
    uint64_t database_bytes, wal_bytes; /* 0 when the file cannot be looked at */
    uint64_t log_bytes;                 /* of kept ends of logs */
    uint64_t disk_free_bytes;           /* for us, on the file system of the database */
};
void store_figures(const struct store *store, struct store_figures *ret);

/* store_check - whether it answers, is still the file that was opened, and took the last commit
 * Errors: the last one of store_commit; -ENOENT when the file was moved or removed (later writes
 * are lost with this process); else as store_events. */
int store_check(struct store *store, struct edl_error *error);

/* store_reader_source - of connections beside the loop (store_reader.h) to its database; borrowed
 */
const struct reader_source *store_reader_source(const struct store *store);

/* store_schema_version - of the open database */
int store_schema_version(const struct store *store);

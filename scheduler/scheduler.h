/* SPDX-License-Identifier: Apache-2.0 */
/* scheduler.h - the root object of edl-scheduler and its turn
 *
 * One thread, one sd-event loop. A handler changes the deciding core through cluster_*, then keeps
 * its request (held_new, held_after_commit) and calls scheduler_touch. The turn that follows plans,
 * writes every effect in one transaction, and only then answers the requests and wakes the long
 * polls. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "scheduler/accounts/join_tokens.h"
#include "scheduler/api/precondition.h"
#include "scheduler/calls/answered_keys.h"
#include "scheduler/calls/asking.h"
#include "scheduler/calls/body_reads.h"
#include "scheduler/calls/call_rate.h"
#include "scheduler/calls/denials.h"
#include "scheduler/calls/dispatch.h"
#include "scheduler/calls/listeners.h"
#include "scheduler/calls/waiters.h"
#include "scheduler/cluster_clock.h"
#include "scheduler/core/core.h"
#include "scheduler/degraded.h"
#include "scheduler/history/job_series.h"
#include "scheduler/history/reads.h"
#include "scheduler/leadership/leadership.h"
#include "scheduler/metrics.h"
#include "scheduler/nodes/file_reads.h"
#include "scheduler/nodes/late_reports.h"
#include "scheduler/nodes/leaving.h"
#include "scheduler/nodes/machine.h"
#include "scheduler/nodes/progress.h"
#include "scheduler/nodes/pulse.h"
#include "scheduler/nodes/sessions.h"
#include "scheduler/options.h"
#include "scheduler/web/library.h"
#include "scheduler/workspaces/datasets.h"
#include "scheduler/workspaces/workspaces.h"
#include "shared/account_name.h"

struct backup_job;
struct edl_error;
struct event_stream;
struct forecast_job;
struct http_request;
struct keyed;
struct later;
struct turn_flight;
struct log_hub;
struct notices;
struct account_numbers;
struct peers;
struct store;
struct users;

#define TOKEN_HEX 64 /* 32 random bytes */
#define POLL_WAIT_MAX_S 30

/* The members of the generation that was told last (api/rendezvous.c). json NULL: none. */
struct members_told {
    uint64_t job_id, generation;
    uint32_t role;
    json_t *json; /* owned */
};

struct scheduler {
    struct scheduler_options options;
    sd_event *event;            /* owned */
    struct store *store;        /* owned; NULL: a standby, which has led nothing yet */
    struct cluster_clock clock; /* clock_instant reads it */
    struct cluster *cluster;    /* owned */
    struct cluster *archived;   /* owned; the job that was read back last; NULL: none (archive.h) */
    struct listeners listeners;
    struct leadership leadership; /* whether this one leads */
    struct join_tokens join_tokens;
    struct denials denials;
    struct log_hub *logs;                    /* owned */
    struct notices *notices;                 /* owned; what owners of jobs are told */
    struct users *users;                     /* owned */
    struct call_rate tokens;                 /* calls that make and remove tokens */
    struct group_table *groups;              /* owned; as the core was told; NULL: there are none */
    struct peers *peers;                     /* owned; accounts that called over the Unix socket */
    struct account_numbers *account_numbers; /* owned; of those that jobs run as */
    struct waiters waiters;
    struct dispatch dispatch;     /* requests that wait until it is their turn */
    struct body_reads body_reads; /* large bodies, on their way there */
    struct askings askings;       /* work that waits for what it reads */
    struct metrics metrics;
    struct machines machines;       /* the figures of nodes' machines besides their offers */
    struct progresses progresses;   /* of processes, as their nodes report them */
    struct job_series_table series; /* how running jobs go */
    struct history_reads history_reads;
    struct web_library library; /* of the page */
    struct workspaces workspaces;
    struct datasets datasets;     /* on their way */
    struct file_reads file_reads; /* likewise, from nodes to people */
    struct sessions sessions;     /* of people in processes */
    struct degraded degraded;     /* whether changes can be stored */
    struct pulse pulse;           /* whether it stood still */
    struct leaving leaving;       /* whether it stops */
    struct members_told members_told;
    struct held *answers;          /* owned list: requests to answer after the commit */
    struct answered_keys answered; /* of a far store */
    struct keyed *keyed;           /* uthash: Idempotency-Keys of the turn; their helds own them */
    struct event_stream *event_streams; /* owned list; as many as n_event_streams */
    unsigned n_event_streams;
    struct later *later;           /* owned list: topics to wake after the commit */
    struct backup_job *backup;     /* owned; NULL: none is being made */
    struct forecast_job *forecast; /* owned; NULL: none is being made (api/forecast.c) */
    struct turn_flight *flight;    /* owned: the turn that is not stored yet; NULL: none */
    sd_event_source *turn;         /* owned; one-shot, armed by scheduler_touch */
    sd_event_source *late;         /* owned; ends the wait of reports for a turn in flight */
    uint64_t flights_took_us[2];   /* the last turns that were in flight, the newest first */
    struct late_reports late_reports;
    sd_event_source *timer;            /* owned; cluster_next_deadline_us */
    sd_event_source *drain;            /* owned; archive_drain.c */
    struct worker *checker;            /* owned; database_check.c */
    sd_event_source *end;              /* owned; when the state is damaged */
    sd_event_source *hub_timer;        /* owned; ends the interest of log readers */
    sd_event_source *workspaces_timer; /* owned; looks which of them are needed */
    bool turn_wanted;                  /* the core is ahead of the database */
    bool committed;                    /* a turn of this run is on disk */
    bool failed;          /* memory and disk differ for good: nothing is answered any more */
    int lock_fd;          /* owned; the state directory is ours while it is open */
    uint64_t orders_base; /* random; versions of another run cannot be taken for this run's */
    uint64_t n_joins;
    char admin_token[TOKEN_HEX + 1];
    char join_token[TOKEN_HEX + 1];
};

/* scheduler_new - takes the state directory, restores what it holds, listens */
int scheduler_new(const struct scheduler_options *options, struct scheduler **ret,
                  struct edl_error *error);

/* scheduler_free - accepts NULL; returns NULL */
struct scheduler *scheduler_free(struct scheduler *scheduler);

/* scheduler_begin - the state is loaded, and this one may act on it: turns come, nodes are heard */
void scheduler_begin(struct scheduler *scheduler);
/* scheduler_tell_state - how much there is, to the log */
void scheduler_tell_state(const struct scheduler *scheduler);

/* scheduler_run - until a signal (0) or a failure of the store (negative) */
int scheduler_run(struct scheduler *scheduler);

/* --- turn.c
 * ------------------------------------------------------------------------------------------- */

/* A request that is answered later. request is NULL once it went away by itself. */
typedef json_t *(*held_build_fn)(struct scheduler *scheduler, const char *key, uint64_t id);
/* the ETag of the thing that key or id names, as it is then; false: it is gone */
typedef bool (*held_tag_fn)(struct scheduler *scheduler, const char *key, uint64_t id,
                            char ret[ETAG_MAX]);
struct held {
    struct http_request *request; /* borrowed; NULL: its client has left */
    struct waiter *waiter;        /* borrowed; NULL: it does not wait for news */
    bool *postponed; /* borrowed: set in the place of an answer of -EINPROGRESS; NULL: nobody's */
    unsigned status;
    bool audited;              /* it is in the audit log (audit.h) */
    json_t *json;              /* owned, or */
    struct edl_error *refusal; /* owned, or */
    held_build_fn build; /* made when the answer goes out, from key and id; NULL result: 404 */
    char key[MAX_OF(NODE_NAME_MAX, ACCOUNT_NAME_MAX) + 1]; /* of a node or a user */
    uint64_t id;
    char location[40];   /* the header; "" none */
    char *etag;          /* owned: the header, of json's subject; NULL: none, or */
    held_tag_fn tag;     /* it is made when build's answer is; NULL: none */
    struct keyed *keyed; /* owned; when it is the answer to an Idempotency-Key */
    struct held *next, *prev;
};

/* held_new - keeps the request; every held ends in exactly one of the held_* calls below */
struct held *held_new(struct http_request *request);
void held_reply_json(struct held *take_held, unsigned status, json_t *take_json);
void held_reply_error(struct held *take_held, const struct edl_error *error);
void held_after_commit(struct scheduler *scheduler, struct held *take_held, unsigned status,
                       json_t *take_json);
void held_build_after_commit(struct scheduler *scheduler, struct held *take_held, unsigned status,
                             held_build_fn build, const char *key, uint64_t id);

/* held_json - what is kept, or made, to answer with; the caller's. NULL: nothing, or it is gone */
json_t *held_json(struct scheduler *scheduler, struct held *held);
/* held_tag - false: it has none */
bool held_tag(struct scheduler *scheduler, const struct held *held, char ret[ETAG_MAX]);
#define HELD_REMOVED_TEXT "it was removed in the same moment"

/* held_tell - tell_after_commit for requests that waited; not for those that are polled within a
 * turn (turn.c), which is before the commit in any case */
void held_tell(struct scheduler *scheduler, struct held *take_held, unsigned status,
               json_t *take_json);

/* tell_after_commit - answers with facts read from the core and changes nothing: at once, or behind
 * the commit when the core is ahead of the database */
void tell_after_commit(struct scheduler *scheduler, struct http_request *request, unsigned status,
                       json_t *take_json);

/* refuse_after_commit - answers with an error that the core gave: it may speak of a change that is
 * not on disk yet ("a job of that name exists"), and then goes out behind the commit like any other
 * answer
 */
void refuse_after_commit(struct scheduler *scheduler, struct http_request *request,
                         const struct edl_error *error);
/* held_refuse - the same for a request that is held */
void held_refuse(struct scheduler *scheduler, struct held *take_held,
                 const struct edl_error *error);

/* scheduler_tell_groups - the core hears of groups or members that changed; the caller touches */
void scheduler_tell_groups(struct scheduler *scheduler);
/* scheduler_touch - the core changed: a turn will come */
void scheduler_touch(struct scheduler *scheduler);

/* scheduler_skip_turn - whether the core holds nothing to plan, to store or to tell: then the
 * request that was just handled needs no turn and may be answered at once. Most reports are
 * such. */
bool scheduler_skip_turn(struct scheduler *scheduler);

/* scheduler_turn - plan, commit, answer, wake; called by the loop. 1: it is in flight, and the rest
 * follows in scheduler_stored, which the store calls (far/far.h). scheduler_is_late - it is for so
 * long that reports wait no more. scheduler_hangs - for so long that nobody who watches does */
void scheduler_stored(void *userdata, int r, uint64_t sent_us, const struct edl_error *why);
bool scheduler_is_late(const struct scheduler *scheduler);
bool scheduler_hangs(const struct scheduler *scheduler);
int scheduler_turn(struct scheduler *scheduler);

/* scheduler_away - this scheduler does not lead any more, or cannot know: the turn's requests are
 * refused, and nothing of the state is told until it is loaded again. No turn is in flight */
void scheduler_away(struct scheduler *scheduler, const struct edl_error *why);

/* turn_is_in_flight - what the core holds is on its way to a database beside a network */
bool turn_is_in_flight(const struct scheduler *scheduler);

enum end_cause {
    END_TURN_LOST,  /* and what was stored before it is there */
    END_NOT_LOADED, /* the stored state, after a failure or at the begin of a term */
    END_DAMAGED,    /* pages of the database, none of which was needed yet */
};

/* scheduler_end - refuses everything and ends soon: the store does not serve any more */
void scheduler_end(struct scheduler *scheduler, enum end_cause cause,
                   const struct edl_error *error);

/* scheduler_notify - wakes what waits on a topic: now, or after the commit when the core is ahead
 * of the database */
void scheduler_notify(struct scheduler *scheduler, const char *topic);

/* turn_init - makes the turn's event sources */
int turn_init(struct scheduler *scheduler, struct edl_error *error);

/* turn_done - forgets what is still to be answered or said (the server is gone) */
void turn_done(struct scheduler *scheduler);

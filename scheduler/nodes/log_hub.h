/* SPDX-License-Identifier: Apache-2.0 */
/* log_hub.h - what processes write, on its way from agents to readers
 *
 * Live output is pushed only while somebody reads it: a reader's interest is listed in its nodes'
 * orders, the agents push, and a ring of bounded size per process keeps the newest. The end of
 * every process' output comes unasked and is stored (store_commit). Before that the last few KiB of
 * its output so far come now and then, which are left when its node dies. Every entry has a place
 * in one rising order; a reader's cursor is the last place it saw. Places go on rising over
 * restarts of the scheduler (they begin at the wall clock's reading).
 *
 * Bounds: LOG_RING_BYTES per process, LOG_TAIL_BYTES stored per process, LOG_RINGS_BYTES for all
 * rings together: those of processes that have ended go first (their end is stored), then the
 * oldest output. A ring goes with its last reader or a minute after its process' end. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cluster;
struct edl_error;
struct effect;
struct job;
struct log_hub;
struct log_tail;
struct node;
struct process;
struct store;

#define LOG_RING_BYTES (256 * 1024)
#define LOG_RINGS_BYTES (64 * 1024 * 1024)
#define LOG_TAIL_BYTES (64 * 1024)
#define LOG_INTEREST_US (10 * UINT64_C(1000000))

/* Bytes before this offset of the file were written by then. */
struct log_mark {
    uint64_t offset, wall_us;
};
#define LOG_MARKS_MAX 64

struct log_push {
    const struct process *process;
    uint64_t offset, next_offset; /* in the file, bytes */
    const char *text;             /* UTF-8 */
    uint64_t dropped_bytes;       /* of the file's beginning, which its node does not keep */
    const char *file;             /* on its node, where all that is kept is; NULL: not told */
    bool end;                     /* nothing will follow */
    uint64_t wall_us;             /* when it came */
    const struct log_mark *marks; /* rising; may lie outside of it */
    size_t n_marks;
};
#define LOG_PENDING_BYTES (1024 * 1024) /* ends that nobody asked for: then they are committed */
#define LOG_PENDING_US (10 * UINT64_C(1000000))

/* The wish of a reader. role NULL: all; index UINT32_MAX: all. */
struct log_filter {
    uint64_t job_id;
    const char *role;
    uint32_t index;
};

/* log_hub_new - goes on behind the places that the store knows */
int log_hub_new(struct store *store, uint64_t wall_us, struct log_hub **ret,
                struct edl_error *error);
struct log_hub *log_hub_free(struct log_hub *hub);

/* log_hub_set_store - the database was opened anew */
void log_hub_set_store(struct log_hub *hub, struct store *store);

/* log_hub_bytes - what all rings take */
size_t log_hub_bytes(const struct log_hub *hub);

/* log_hub_push - a piece of output; the known part is cut off */
void log_hub_push(struct log_hub *hub, const struct log_push *push, uint64_t now_us);

/* log_hub_push_silence - the process ended and wrote nothing; saying it twice is harmless */
void log_hub_push_silence(struct log_hub *hub, const struct process *process, uint64_t now_us);

/* log_hub_keep - the end of a process's output so far, which nobody asked for: stored with the next
 * commit, so that something is known of it when its node dies; true: make one now */
bool log_hub_keep(struct log_hub *hub, const struct log_push *push, uint64_t now_us);

/* log_hub_note_effects - keeps the rings of processes that were lost: no agent will send their end
 */
void log_hub_note_effects(struct log_hub *hub, const struct effect *effects, size_t n);

/* Tails to write with the next commit; borrowed until log_hub_pending_clear. */
const struct log_tail *log_hub_pending(const struct log_hub *hub, size_t *ret_n);
void log_hub_pending_clear(struct log_hub *hub);

/* log_hub_want - notes a reader until until_us; true when orders of the job's nodes change by it */
bool log_hub_want(struct log_hub *hub, const struct log_filter *filter, uint64_t now_us,
                  uint64_t until_us);

/* log_hub_expire - forgets readers and rings whose time is over; calls fn(job id) for each reader
 * that went. Returns when to call again, NEVER_US for never. */
uint64_t log_hub_expire(struct log_hub *hub, uint64_t now_us,
                        void (*fn)(uint64_t job_id, void *userdata), void *userdata);

/* log_hub_orders - the streams that the node should push: the array `logs` of its orders */
json_t *log_hub_orders(const struct log_hub *hub, const struct node *node);

/* log_hub_is_fresh - every live process that the filter names has been heard since its reader came,
 * or had time to be heard */
bool log_hub_is_fresh(const struct log_hub *hub, const struct job *job,
                      const struct log_filter *filter, uint64_t now_us);

/* log_hub_read - entries behind the cursor, those of one answer in the order of their times; about
 * max_bytes of text at most *cursor moves on. *ret_more: read again. *ret_truncated: something
 * before or between was dropped.
 */
struct log_read {
    struct log_filter filter;
    const struct job
        *job; /* borrowed; output that its live processes are about to push anew is left out */
    uint64_t now_us;
    size_t max_bytes;
    uint64_t cursor;
    bool more, truncated;
};
int log_hub_read(struct log_hub *hub, struct log_read *read, json_t **ret_entries,
                 struct edl_error *error);

/* log_hub_is_ended - the job is final and the end of each of its processes' output is here, or will
 * not come */
bool log_hub_is_ended(const struct log_hub *hub, const struct job *job, uint64_t wall_us);

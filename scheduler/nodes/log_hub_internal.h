/* SPDX-License-Identifier: Apache-2.0 */
/* log_hub_internal.h - what log_hub.c and log_read.c share; nobody else includes it */
#pragma once

#include <uthash.h>

#include "scheduler/core/core.h"
#include "scheduler/nodes/log_hub.h"

#define FRESH_WAIT_US (2 * USEC_PER_SEC)
#define KEY_MAX 96
#define LOG_NOTICE_BYTES 160 /* a line that says what is missing, but for a file's name */
#define LOG_FILE_SHOWN_BYTES 400
#define LOG_BEFORE_BYTES (LOG_NOTICE_BYTES + NODE_NAME_MAX + LOG_FILE_SHOWN_BYTES)

struct entry {
    uint64_t sequence;
    uint64_t time_us;             /* wall clock; never before that of the entry before */
    bool gap;                     /* something is missing before it */
    bool notice;                  /* of ours, and no part of the output */
    uint64_t offset, next_offset; /* in the file: of the text, and behind it */
    size_t size;
    struct entry *next, *prev;
    char text[];
};

struct stream {
    char key[KEY_MAX]; /* job.role.index.incarnation */
    uint64_t job_id, incarnation;
    char role[ROLE_NAME_MAX + 1];
    uint32_t index;
    struct entry *entries; /* owned list, oldest first */
    size_t bytes;
    uint64_t next_offset;
    uint64_t dropped_bytes; /* of the file's beginning, see struct log_push */
    char *file;             /* on its node; owned; NULL: not told */
    char node[NODE_NAME_MAX + 1];
    uint64_t dropped; /* sequence of the newest entry that the ring lost */
    uint64_t pushed_us, ended_us;
    bool ended;
    struct stream **ages; /* the list of log_hub's that it is in; NULL: it is in none */
    struct stream *age_next, *age_prev; /* there */
    UT_hash_handle hh;
};

struct interest {
    uint64_t job_id;
    char role[ROLE_NAME_MAX + 1]; /* "": all */
    uint32_t index;
    uint64_t since_us, until_us;
    struct interest *next, *prev;
};

struct log_hub {
    struct store *store;        /* borrowed */
    struct stream *streams;     /* k: key, owned */
    struct stream *live, *over; /* lists of them: with entries, pushed longest ago first; ended,
                                   the first to end first */
    size_t ring_bytes;          /* of all entries, with their headers */
    struct interest *interests; /* owned list; as many as jobs being read */
    struct log_tail *pending;   /* owned array, owned texts */
    size_t n_pending, cap_pending, pending_bytes;
    uint64_t committed_us; /* when the pending output was last written */
    uint64_t sequence;     /* of the newest entry */
};

/* log_key - names a process: the key of its stream */
void log_key(char key[KEY_MAX], uint64_t job_id, const char *role, uint32_t index,
             uint64_t incarnation);
/* log_find_stream - of a process; NULL: it has none */
struct stream *log_find_stream(const struct log_hub *hub, const struct process *process);
bool log_filter_takes(const struct log_filter *filter, const char *role, uint32_t index);
/* log_find_interest - of readers with that very filter; NULL: nobody reads */
struct interest *log_find_interest(const struct log_hub *hub, const struct log_filter *filter);
/* log_next_line - where the next line of a text begins; the text when no line follows */
const char *log_next_line(const char *text);
/* log_source_bytes - how many bytes of the file a text is. Each character stands for its own bytes,
 * but a replacement character for the one invalid byte it came from. */
uint64_t log_source_bytes(const char *text, size_t size);
/* log_say_before - a line for a reader from the middle on: where the bytes before it are; "" when
 * there are none, or nobody knows */
const char *log_say_before(const char *node, const char *file, uint64_t bytes,
                           char text[LOG_BEFORE_BYTES]);

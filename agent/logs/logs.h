/* SPDX-License-Identifier: Apache-2.0 */
/* logs.h - sends what processes wrote: the last 64 KiB at the end, live while somebody looks */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "agent/core/process_id.h"

struct edl_error;
struct layout;
struct link;
struct logs;
struct orders_log;

#define LOGS_CHUNK_BYTES 65536

/* logs_first_byte - where to begin with a log of so many bytes, of which at most the last
 * tail_bytes are wanted (UINT64_MAX: all) and nothing before after */
static inline uint64_t logs_first_byte(uint64_t after, uint64_t tail_bytes, uint64_t size)
{
    uint64_t tail = size > tail_bytes ? size - tail_bytes : 0;

    return after > tail ? after : tail;
}

enum logs_tail { LOGS_TAIL_SENT, LOGS_TAIL_NOT_SENT, LOGS_TAIL_NONE };

struct logs_config {
    sd_event *event;
    struct link *link;           /* borrowed */
    const struct layout *layout; /* borrowed */
    /* the tail was taken, could not be sent, or there is none: then nobody was told */
    void (*on_tail)(const struct process_id *id, enum logs_tail tail, void *userdata);
    /* nothing will be written any more */
    bool (*ended)(const struct process_id *id, void *userdata);
    void *userdata;
};

struct logs *logs_new(const struct logs_config *config);
struct logs *logs_free(struct logs *logs);

/* logs_send_tail - on_tail follows, possibly from inside this call; one at a time for each process
 * even_none: the scheduler is to be told also that there is none (no report will) */
void logs_send_tail(struct logs *logs, const struct process_id *id, bool even_none);

/* logs_follow - these streams and no others from now on */
void logs_follow(struct logs *logs, const struct orders_log *wanted, size_t n);

/* logs_kick - looks again at all followed streams (a process ended; the scheduler is back) */
void logs_kick(struct logs *logs);

/* SPDX-License-Identifier: Apache-2.0 */
/* log_source.h - the output of one start of a process
 *
 * It comes from the log on its node. Where that cannot be had, the server keeps the end of it. A
 * sentence tells the bytes that neither of them has.
 *
 * Used by: job_logs.c. Tests: tests/integration/302-logs-whole.sh. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "client/log_chunks.h"

struct log_lines;
struct log_request;
struct log_verdict;
struct server;

#define LOG_NO_END UINT64_MAX

/* What the sources of a reader share. */
struct log_reading {
    struct server *server;             /* borrowed */
    const struct log_request *request; /* borrowed */
    struct log_lines *lines;           /* borrowed */
    json_t *processes;                 /* owned: GET /jobs/{job}/processes?state=all */
    json_t *silent; /* owned: why nothing comes from a node, by its name, as it was found out */
    bool ended;     /* the server has the end of each process that is over */
    uint64_t patience_us; /* so long a node that cannot be reached is asked again */
};

/* log_reading_begin - lists the job's processes; returns enum status, prints a failure */
int log_reading_begin(struct log_reading *reading);
void log_reading_end(struct log_reading *reading);

struct log_source {
    const char *role; /* borrowed from process */
    uint64_t index, incarnation;
    json_t *process; /* owned: of GET /jobs/{job}/processes, or an entry */
    json_t *entries; /* owned: what the server has, without its own lines, each with "offset" */
    size_t next_entry;
    uint64_t at;       /* next byte */
    uint64_t end;      /* LOG_NO_END: as far as the log goes */
    uint64_t gap_from; /* LOG_NO_END: none; else bytes from here to `at` are missing */
    uint64_t since_us; /* lines of before are not asked for; 0: all */
    bool by_server;    /* the node was asked in vain, or need not be asked */
    bool over;
    char why[256]; /* bytes cannot be had: "on node n1, which is lost"; "": they are gone */
    struct log_chunks chunks;
};

/* log_source_new - of a process or an entry, from its first byte on */
struct log_source *log_source_new(json_t *process);
struct log_source *log_source_free(struct log_source *source);

/* log_source_add - an entry of GET /jobs/{job}/logs of this process; pieces of one kept end come
 * one after the other */
void log_source_add(struct log_source *source, json_t *entry);

/* log_source_begin - all pieces are there: what to ask of the node */
void log_source_begin(struct log_reading *reading, struct log_source *source);

/* log_source_go_on - instead of log_source_begin, of one that is followed: what is to be printed */
void log_source_go_on(struct log_source *source, const struct log_verdict *verdict);

/* log_source_peek - the next piece, or NULL: that was all; the piece is the source's */
const struct log_chunk *log_source_peek(struct log_reading *reading, struct log_source *source);

/* log_source_print - the next piece, which was looked at */
void log_source_print(struct log_reading *reading, struct log_source *source);

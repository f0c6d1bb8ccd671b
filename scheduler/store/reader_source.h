/* SPDX-License-Identifier: Apache-2.0 */
/* reader_source.h - where connections for reading come from, of any engine
 *
 * Used by: store_reader.c, far/far_reads.c. Tests: tests/unit/test_store_asked.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct edl_error;
struct engine;
struct reader_source;

/* Asked now and then while a statement runs; true ends it with -ETIMEDOUT. */
struct reader_patience {
    bool (*is_late)(void *userdata); /* NULL: never */
    void *userdata;
};

/* reader_open_fn - a connection of its own, for any thread; blocks. Errors: as store_open,
 * -ENOTCONN: the database is away */
typedef int (*reader_open_fn)(const struct reader_source *source,
                              const struct reader_patience *patience, struct engine **ret,
                              struct edl_error *error);

#define READER_WHERE_MAX 4096

struct reader_source {
    reader_open_fn open;
    char where[READER_WHERE_MAX]; /* the path of a file, or an address */
    uint64_t least_term;          /* of several servers, one of an earlier term is not asked */
    bool anew; /* a connection sees one state of all, so each round of reads opens one; else
                  begin and commit (engine.h) are around the statements that belong together */
};

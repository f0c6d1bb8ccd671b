/* SPDX-License-Identifier: Apache-2.0 */
/* record_index.h - the files of a data set: which they are, and how they are cut into tasks
 *
 * A task is of one file, unless there are more than 1024: then it is of a few, as a task costs
 * several calls. The records come in the same order as in Python (python/edl/_files.py). For
 * records.c; tests: tests/unit/test_libedl_records.c. */
#pragma once

#include "libedl/edl/edl.h"
#include "libedl/record_digest.h"
#include "shared/error.h"

struct record_index {
    char **paths; /* owned, [n_paths]; chunks borrow them */
    size_t n_paths;
    struct edl_chunk *chunks; /* owned, [n_chunks]; pieces borrow them */
    size_t n_chunks;
    struct edl_piece *pieces; /* owned, [n_pieces]; a task each */
    size_t n_pieces;
    char digest[RECORD_DIGEST_TEXT_BYTES];
};

/* record_index_make - the tasks of all files that paths names; says on stderr how far it is when
 * that takes long, and which chunks are damaged
 * paths: paths and patterns with commas between them. task_records: in a task at most, unless a
 * chunk of a RecordIO file has more; 0: any number. -EIO: there is no such file, it cannot be
 * read, is a folder or of another kind, or there is no record in any. */
int record_index_make(const char *paths, enum edl_record_kind kind, uint32_t task_records,
                      struct record_index *ret, struct edl_error *error);
void record_index_clear(struct record_index *index);

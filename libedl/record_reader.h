/* SPDX-License-Identifier: Apache-2.0 */
/* record_reader.h - the records of a chunk, one after the other
 *
 * A damaged chunk of a RecordIO file loses its records: it is told of on stderr, counted, and is
 * no error. A file that is not as it was when this process read it first is one. For records.c. */
#pragma once

#include <stdbool.h>

#include "libedl/edl/edl.h"
#include "shared/error.h"
#include "shared/line_reader.h"
#include "shared/recordio.h"

struct known_file;

struct record_reader {
    enum edl_record_kind kind;
    uint64_t lost;              /* records of damaged chunks */
    uint64_t lost_in_task;      /* of these: since record_reader_begin_task */
    uint32_t lost_chunks;       /* those chunks */
    struct known_file *known;   /* owned; uthash */
    const struct edl_chunk *at; /* borrowed; the chunk under way */
    uint32_t n_given;
    bool framed;
    struct recordio_records records; /* framed: of the chunk */
    struct line_reader lines;        /* else: the text, from the chunk on */
    int fd;                          /* of it; -1: none is open */
};

void record_reader_init(struct record_reader *reader, enum edl_record_kind kind);
void record_reader_clear(struct record_reader *reader);

/* record_reader_begin_task - chunks of another task will follow: nothing of it is lost yet */
void record_reader_begin_task(struct record_reader *reader);

/* record_reader_begin - another chunk; borrowed until the next one
 * -EIO: the file cannot be read, or has changed. */
int record_reader_begin(struct record_reader *reader, const struct edl_chunk *chunk,
                        struct edl_error *error);

/* record_reader_end - the chunk under way is not read on; no chunk is fine */
void record_reader_end(struct record_reader *reader);

/* record_reader_next - 1: *ret_data is valid until the next call; 0: the chunk is at its end. -EIO
 * as above */
int record_reader_next(struct record_reader *reader, const void **ret_data, size_t *ret_size,
                       struct edl_error *error);

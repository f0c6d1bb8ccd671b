/* SPDX-License-Identifier: Apache-2.0 */
/* line_reader.h - the lines of a text, one after the other, of any file
 *
 * A line is its bytes without the newline; the last one may lack its newline. Nothing is looked at
 * but newlines, so NUL bytes and any encoding pass. Used by: client, libedl. Tests:
 * tests/unit/test_line_reader.c, tests/fuzz/fuzz_line_reader.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINE_BYTES_MAX (63u * 1024 * 1024) /* fits a chunk of a RecordIO file */

struct line_reader {
    int fd;                /* borrowed */
    uint64_t offset_bytes; /* of the next line, from where the reader began */
    uint8_t *buffer;       /* owned */
    size_t begin, end, room;
    bool ended; /* no more bytes come */
};

/* line_reader_init - reads on from the position of fd */
void line_reader_init(struct line_reader *reader, int fd);
void line_reader_clear(struct line_reader *reader);

/* line_reader_next - 1: *ret_line holds *ret_size bytes, valid until the next call; 0: there is no
 * more line. -E2BIG: a line is longer than LINE_BYTES_MAX; -errno of read(2) */
int line_reader_next(struct line_reader *reader, const uint8_t **ret_line, size_t *ret_size);

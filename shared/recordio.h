/* SPDX-License-Identifier: Apache-2.0 */
/* recordio.h - Paddle's RecordIO file: chunks of records with a checksum
 *
 * File = chunks, no file header. Chunk = 20-byte little-endian header {magic 0x01020304, CRC32
 * (IEEE) of the stored payload, compressor 0 none | 1 snappy framing | 2 gzip, stored size,
 * records} + payload; payload = (uint32 length, bytes) for each record. Untrusted input: every size
 * is checked before use. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/error.h"

#define RECORDIO_MAGIC UINT32_C(0x01020304)
#define RECORDIO_HEADER_BYTES 20
#define RECORDIO_CHUNK_BYTES_MAX (64u * 1024 * 1024) /* larger stored or raw sizes are refused */
/* of a chunk with so many stored bytes: each record has a length of 4 bytes */
#define RECORDIO_RECORDS_MAX(compressor, stored_bytes)                                             \
    (((compressor) == RECORDIO_NONE ? (stored_bytes) : RECORDIO_CHUNK_BYTES_MAX) / 4)

enum recordio_compressor { RECORDIO_NONE = 0, RECORDIO_SNAPPY = 1, RECORDIO_GZIP = 2 };

/* One chunk of a file's index. */
struct recordio_chunk {
    uint64_t offset_bytes;
    uint32_t stored_bytes;
    uint32_t n_records;
    enum recordio_compressor compressor;
};

/* Writer. A record that would take the chunk over chunk_bytes starts a new one. Synced and renamed
 * into place at close. */
struct recordio_writer;
int recordio_writer_open(const char *path, enum recordio_compressor compressor, size_t chunk_bytes,
                         struct recordio_writer **ret, struct edl_error *error);
int recordio_write(struct recordio_writer *writer, const void *record, size_t size,
                   struct edl_error *error);
int recordio_writer_close(struct recordio_writer *take_writer, struct edl_error *error);
void recordio_writer_abort(struct recordio_writer *take_writer); /* leaves no file; accepts NULL */

/* recordio_index - reads headers only; *ret_chunks: malloc'd array of *ret_n. EDL_ECORRUPT: the
 * file has a gap; the error tells the first one */
int recordio_index(const char *path, struct recordio_chunk **ret_chunks, size_t *ret_n,
                   struct edl_error *error);

/* Bytes of a file that no chunk has: a header is damaged, and behind it the next whole chunk was
 * looked for, or the end. */
struct recordio_gap {
    uint64_t offset_bytes, bytes;
    const char *what;   /* is wrong at its beginning; static */
    bool counted;       /* it is known how many records it had: */
    uint32_t n_records; /* as its header says */
};

/* The chunks of a file and the gaps between them, both in their order; together they are all of its
 * bytes. */
struct recordio_survey {
    struct recordio_chunk *chunks; /* owned */
    size_t n_chunks;
    struct recordio_gap *gaps; /* owned */
    size_t n_gaps;
    uint64_t file_bytes;
    uint64_t lost_bytes; /* in gaps */
};

/* recordio_survey - as recordio_index, of a file that may be damaged; recordio_survey_clear
 * What it costs grows with the bytes of the file, whatever they are. */
int recordio_survey(const char *path, struct recordio_survey *ret, struct edl_error *error);
void recordio_survey_clear(struct recordio_survey *survey);

/* recordio_gap_error - sets error to where a gap is, what is wrong there and how much is lost;
 * EDL_ECORRUPT */
int recordio_gap_error(const char *path, const struct recordio_survey *survey,
                       const struct recordio_gap *gap, struct edl_error *error);

/* recordio_begins - the open file begins as a RecordIO file does; its position stays */
bool recordio_begins(int fd);

/* recordio_chunk_begins - a chunk begins at an offset of the open file; its position stays */
bool recordio_chunk_begins(int fd, uint64_t offset_bytes);

/* One chunk in memory: records as (offset, size) into data. */
struct recordio_records {
    uint8_t *data;
    uint32_t *offsets; /* n + 1 entries are not used: see sizes */
    uint32_t *sizes;
    uint32_t n;
};

/* recordio_read_chunk - one chunk, checksum verified; EDL_ECORRUPT names file and offset */
int recordio_read_chunk(const char *path, uint64_t offset_bytes, struct recordio_records *ret,
                        struct edl_error *error);
void recordio_records_clear(struct recordio_records *records);

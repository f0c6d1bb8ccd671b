/* SPDX-License-Identifier: Apache-2.0 */
/* test_recordio.c - RecordIO: the published bytes, all compressors, and every kind of damage */
#include "shared/recordio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/snappy_frame.h"
#include "tests/unit/test.h"

struct fixture {
    char folder[64];
    char path[96];
};

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);

    (void)snprintf(f->folder, sizeof f->folder, "/tmp/test_recordio.XXXXXX");
    if (mkdtemp(f->folder) == NULL)
        return -1;
    (void)snprintf(f->path, sizeof f->path, "%s/file", f->folder);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    int r;

    (void)unlink(f->path);
    r = rmdir(f->folder); /* fails when a partial file was left behind */
    free(f);
    return r;
}

TEST_EACH(setup, teardown);

static void put_file(const char *path, const void *bytes, size_t size)
{
    _cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
}

static size_t get_file(const char *path, uint8_t *bytes, size_t size)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = read(fd, bytes, size);

    assert_true(n >= 0);
    return (size_t)n;
}

static void write_hello(const char *path, enum recordio_compressor compressor)
{
    struct recordio_writer *writer = NULL;

    (void)unlink(path);
    assert_int_equal(recordio_writer_open(path, compressor, 1024, &writer, NULL), 0);
    assert_int_equal(recordio_write(writer, "Hello", 5, NULL), 0);
    assert_int_equal(recordio_write(writer, "World!", 6, NULL), 0);
    assert_int_equal(access(path, F_OK), -1); /* not there before it is complete */
    assert_int_equal(recordio_writer_close(writer, NULL), 0);
}

TEST(test_golden)
{
    static const uint8_t golden[] = {
        0x04, 0x03, 0x02, 0x01, 0x83, 0x7e, 0x47, 0x59, 0x00, 0x00, 0x00, 0x00, 0x13,
        0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x48, 0x65,
        0x6c, 0x6c, 0x6f, 0x06, 0x00, 0x00, 0x00, 0x57, 0x6f, 0x72, 0x6c, 0x64, 0x21,
    };
    struct fixture *f = *state;
    uint8_t bytes[64];

    write_hello(f->path, RECORDIO_NONE);
    assert_int_equal(get_file(f->path, bytes, sizeof bytes), sizeof golden);
    assert_memory_equal(bytes, golden, sizeof golden);
}

TEST(test_round_trip)
{
    struct fixture *f = *state;

    for (unsigned int c = RECORDIO_NONE; c <= RECORDIO_GZIP; c++) {
        struct recordio_records records = { 0 };
        struct recordio_chunk *chunks = NULL;
        size_t n = 0;

        write_hello(f->path, (enum recordio_compressor)c);
        assert_int_equal(recordio_index(f->path, &chunks, &n, NULL), 0);
        assert_int_equal(n, 1);
        assert_int_equal(chunks[0].n_records, 2);
        assert_int_equal(recordio_read_chunk(f->path, 0, &records, NULL), 0);
        assert_int_equal(records.n, 2);
        assert_int_equal(records.sizes[1], 6);
        assert_memory_equal(records.data + records.offsets[1], "World!", 6);
        recordio_records_clear(&records);
        free(chunks);
    }
}

/* With chunk size 0 every record that is not empty starts a new chunk (the Go writer's rule). */
TEST(test_chunks)
{
    struct recordio_writer *writer = NULL;
    struct recordio_chunk *chunks = NULL;
    struct fixture *f = *state;
    uint8_t record[1000] = { 0 };
    size_t n = 0;

    assert_int_equal(recordio_writer_open(f->path, RECORDIO_NONE, 0, &writer, NULL), 0);
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(recordio_write(writer, record, i, NULL), 0);
    assert_int_equal(recordio_writer_close(writer, NULL), 0);
    assert_int_equal(recordio_index(f->path, &chunks, &n, NULL), 0);
    assert_int_equal(n, 1000);
    for (size_t i = 0; i < n; i++) {
        struct recordio_records records = { 0 };

        assert_int_equal(recordio_read_chunk(f->path, chunks[i].offset_bytes, &records, NULL), 0);
        assert_int_equal(records.n, 1);
        assert_int_equal(records.sizes[0], i);
        recordio_records_clear(&records);
    }
    free(chunks);
}

/* A chunk may be exactly full; the record that does not fit any more starts the next. */
TEST(test_chunk_limit)
{
    static const struct {
        size_t chunk_bytes, chunks;
    } rows[] = { { 9, 4 }, { 10, 2 }, { 14, 2 }, { 15, 2 }, { 20, 1 }, { 21, 1 } };
    struct fixture *f = *state;

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        struct recordio_writer *writer = NULL;
        struct recordio_chunk *chunks = NULL;
        size_t n = 0;

        assert_int_equal(recordio_writer_open(f->path, RECORDIO_NONE, rows[i].chunk_bytes, &writer,
                                              NULL),
                         0);
        for (int j = 0; j < 4; j++)
            assert_int_equal(recordio_write(writer, "12345", 5, NULL), 0);
        assert_int_equal(recordio_writer_close(writer, NULL), 0);
        assert_int_equal(recordio_index(f->path, &chunks, &n, NULL), 0);
        assert_int_equal(n, rows[i].chunks);
        free(chunks);
    }
}

TEST(test_empty)
{
    struct recordio_writer *writer = NULL;
    struct recordio_chunk *chunks = NULL;
    struct fixture *f = *state;
    struct stat st;
    size_t n = 7;

    assert_int_equal(recordio_writer_open(f->path, RECORDIO_GZIP, 10, &writer, NULL), 0);
    assert_int_equal(recordio_writer_close(writer, NULL), 0);
    assert_int_equal(stat(f->path, &st), 0);
    assert_int_equal(st.st_size, 0);
    assert_int_equal(recordio_index(f->path, &chunks, &n, NULL), 0);
    assert_int_equal(n, 0);
    free(chunks);
    assert_int_equal(recordio_writer_open(f->path, RECORDIO_NONE, 10, &writer, NULL), 0);
    recordio_writer_abort(writer); /* teardown sees whether anything is left */
    recordio_writer_abort(NULL);
}

/* Every byte of every file flipped, and every shorter file: an error or, for the index, a smaller
 * answer; the payload's checksum finds each change of the stored bytes. */
TEST(test_damage)
{
    struct fixture *f = *state;
    uint8_t bytes[256];

    for (unsigned int c = RECORDIO_NONE; c <= RECORDIO_GZIP; c++) {
        struct recordio_records records = { 0 };
        struct edl_error error = { 0 };
        size_t size;

        write_hello(f->path, (enum recordio_compressor)c);
        size = get_file(f->path, bytes, sizeof bytes);
        for (size_t i = 0; i < size; i++) {
            bytes[i] ^= 0x41;
            put_file(f->path, bytes, size);
            assert_int_equal(recordio_read_chunk(f->path, 0, &records, &error), EDL_ECORRUPT);
            bytes[i] ^= 0x41;
        }
        for (size_t i = 0; i < size; i++) {
            put_file(f->path, bytes, i);
            assert_int_equal(recordio_read_chunk(f->path, 0, &records, &error), EDL_ECORRUPT);
        }
        assert_non_null(strstr(error.text, f->path));
        put_file(f->path, bytes, size);
        assert_int_equal(recordio_read_chunk(f->path, 1, &records, &error), EDL_ECORRUPT);
        assert_non_null(strstr(error.text, "offset 1"));
        assert_int_equal(recordio_read_chunk(f->path, UINT64_MAX, &records, &error), EDL_ECORRUPT);
    }
}

static void put_chunk(const char *path, uint32_t compressor, uint32_t n, const uint8_t *payload,
                      uint32_t size)
{
    uint32_t header[5] = { RECORDIO_MAGIC, (uint32_t)crc32(0, payload, size), compressor, size, n };
    _cleanup_free_ uint8_t *bytes = xcalloc(1, sizeof header + size);

    memcpy(bytes, header, sizeof header); /* tests run on little endian machines */
    memcpy(bytes + sizeof header, payload, size);
    put_file(path, bytes, sizeof header + size);
}

/* Wrong sizes under a right checksum: what an attacker would send. */
TEST(test_hostile)
{
    static const uint8_t long_record[] = { 0xff, 0xff, 0xff, 0xff, 'x' };
    static const uint8_t one_record[] = { 1, 0, 0, 0, 'x' };
    static const uint8_t long_then_more[] = { 0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0 };
    struct recordio_records records = { 0 };
    struct edl_error error = { 0 };
    struct fixture *f = *state;
    _cleanup_free_ uint8_t *zeros = xcalloc(1, 80u << 20), *packed = xcalloc(1, 1 << 20);
    uLongf packed_size = 1 << 20;

    put_chunk(f->path, 0, 1, long_record, sizeof long_record);
    assert_int_equal(recordio_read_chunk(f->path, 0, &records, &error), EDL_ECORRUPT);
    put_chunk(f->path, 0, 2, long_then_more, sizeof long_then_more);
    assert_int_equal(recordio_read_chunk(f->path, 0, &records, &error), EDL_ECORRUPT);
    put_chunk(f->path, 0, UINT32_MAX, one_record, sizeof one_record);
    assert_int_equal(recordio_read_chunk(f->path, 0, &records, &error), EDL_ECORRUPT);
    put_chunk(f->path, 0, 0, one_record, sizeof one_record);
    assert_int_equal(recordio_read_chunk(f->path, 0, &records, &error), EDL_ECORRUPT);
    put_chunk(f->path, 3, 1, one_record, sizeof one_record);
    assert_int_equal(recordio_read_chunk(f->path, 0, &records, &error), EDL_ECORRUPT);

    /* 80 MiB of zeros in a small gzip member: refused before it is all unpacked */
    z_stream z = {
        .next_in = zeros, .avail_in = 80u << 20, .next_out = packed, .avail_out = (uInt)packed_size
    };
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    put_chunk(f->path, 2, 1, packed, (uint32_t)z.total_out);
    (void)deflateEnd(&z);
    assert_int_equal(recordio_read_chunk(f->path, 0, &records, &error), EDL_ECORRUPT);
    assert_non_null(strstr(error.text, "too large"));
}

TEST(test_not_a_file)
{
    struct recordio_chunk *chunks = NULL;
    struct fixture *f = *state;
    size_t n = 0;

    assert_int_equal(recordio_index(f->path, &chunks, &n, NULL), -ENOENT);
    assert_int_equal(recordio_index(f->folder, &chunks, &n, NULL), -EINVAL);
    assert_int_equal(mkfifo(f->path, 0600), 0);
    assert_int_equal(recordio_index(f->path, &chunks, &n, NULL), -EINVAL); /* and does not wait */
}

/* ---- files with gaps ---- */

#define ONE_CHUNK_BYTES 25 /* of a record of one byte */

static void put_letters(const char *path, const char *letters)
{
    struct recordio_writer *writer = NULL;

    assert_int_equal(recordio_writer_open(path, RECORDIO_NONE, 1, &writer, NULL), 0);
    for (const char *c = letters; *c != '\0'; c++)
        assert_int_equal(recordio_write(writer, c, 1, NULL), 0);
    assert_int_equal(recordio_writer_close(writer, NULL), 0);
}

/* One byte of a file of four chunks is another one; python/tests/test_recordio.py is alike. */
TEST(test_gaps)
{
    static const struct {
        size_t at;
        uint8_t byte;
        size_t n_chunks;
        uint64_t offset, bytes;
        int records; /* -1: not known */
        const char *what;
    } rows[] = {
        { 25, '?', 3, 25, 25, 1, "wrong magic number" },
        { 33, 9, 3, 25, 25, -1, "unknown compressor" },
        { 37, 4, 4, 49, 1, -1, "wrong magic number" },     /* a size of 4, not 5 */
        { 37, 50, 3, 25, 25, -1, "another chunk begins" }, /* into the third payload */
        { 40, 0x7f, 3, 25, 25, -1, "larger than 64 MiB" },
        { 44, 0x7f, 3, 25, 25, -1, "more records" },
        { 0, 0, 3, 0, 25, 1, "wrong magic number" },
        { 75, 0, 3, 75, 25, 1, "wrong magic number" },
        { 87, 6, 3, 75, 25, 1, "ends inside the chunk" },
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        struct recordio_survey survey = { 0 };
        struct edl_error error = { 0 };
        uint8_t bytes[4 * ONE_CHUNK_BYTES];

        put_letters(f->path, "abcd");
        assert_int_equal(get_file(f->path, bytes, sizeof bytes), sizeof bytes);
        bytes[rows[i].at] = rows[i].byte;
        put_file(f->path, bytes, sizeof bytes);
        assert_int_equal(recordio_survey(f->path, &survey, NULL), 0);
        assert_int_equal(survey.n_chunks, rows[i].n_chunks);
        assert_int_equal(survey.n_gaps, 1);
        assert_int_equal(survey.gaps[0].offset_bytes, rows[i].offset);
        assert_int_equal(survey.gaps[0].bytes, rows[i].bytes);
        assert_int_equal(survey.lost_bytes, rows[i].bytes);
        assert_int_equal(survey.gaps[0].counted ? (int)survey.gaps[0].n_records : -1,
                         rows[i].records);
        assert_int_equal(recordio_gap_error(f->path, &survey, &survey.gaps[0], &error),
                         EDL_ECORRUPT);
        if (strstr(error.text, rows[i].what) == NULL)
            fail_msg("no \"%s\" in \"%s\"", rows[i].what, error.text);
        recordio_survey_clear(&survey);
    }
}

/* Each false header claims a megabyte. Without a bound their checksums take minutes. */
TEST(test_false_headers)
{
    const size_t n = 100000, tail = 1 << 20, size = 1 + n * RECORDIO_HEADER_BYTES + tail;
    const uint32_t header[5] = { RECORDIO_MAGIC, 1, 0, 1 << 20, 0 };
    _cleanup_free_ uint8_t *bytes = xcalloc(1, size);
    struct recordio_survey survey = { 0 };
    struct fixture *f = *state;
    struct timespec used;

    for (size_t i = 0; i < n; i++)
        memcpy(bytes + 1 + i * sizeof header, header, sizeof header);
    put_file(f->path, bytes, size);
    assert_int_equal(recordio_survey(f->path, &survey, NULL), 0);
    assert_int_equal(survey.n_chunks, 0);
    assert_int_equal(survey.n_gaps, 1);
    assert_int_equal(survey.lost_bytes, size);
    recordio_survey_clear(&survey);
    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used), 0);
    assert_true(used.tv_sec < 20);
}

/* Frames as other tools write them: padding to skip, then plain bytes. */
TEST_PLAIN(test_snappy_foreign)
{
    static const uint8_t framed[] = {
        0xff, 6,  0, 0, 's',  'N',  'a',  'P',  'p', 'Y', 0xfe, 2,   0,   0,   0,   0, /* padding */
        0x01, 13, 0, 0, 0xa2, 0x8c, 0x12, 0xe0, '1', '2', '3',  '4', '5', '6', '7', '8', '9',
    };
    uint8_t *raw = NULL;
    size_t size = 0;

    assert_int_equal(snappy_frame_decode(framed, sizeof framed, 100, &raw, &size), -EBADMSG);
    /* CRC32C("123456789") is 0xe3069283, the published check value */
    uint8_t good[sizeof framed];
    uint32_t crc = 0xe3069283, masked = (crc >> 15 | crc << 17) + 0xa282ead8;

    memcpy(good, framed, sizeof good);
    memcpy(good + 20, &masked, 4);
    assert_int_equal(snappy_frame_decode(good, sizeof good, 100, &raw, &size), 0);
    assert_int_equal(size, 9);
    assert_memory_equal(raw, "123456789", 9);
    free(raw);
    assert_int_equal(snappy_frame_decode(good, sizeof good, 8, &raw, &size), -E2BIG);
    assert_int_equal(snappy_frame_decode(good, 9, 100, &raw, &size), -EBADMSG);
}

/* The element kinds that our encoder does not write: one-byte and four-byte offsets, long literals.
 */
TEST_PLAIN(test_snappy_elements)
{
    static const uint8_t blocks[][16] = {
        { 8, 0x00, 'a', 0x0d, 1, /* end */ 0xff }, /* copy, one-byte offset, 7 bytes */
        { 8, 0x00, 'a', 0x1a, 1, 0, 0xff },        /* copy, two-byte offset */
        { 8, 0x00, 'a', 0x1b, 1, 0, 0, 0, 0xff },  /* copy, four-byte offset */
        { 8, 0xf0, 7, 'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a', 0xff }, /* literal, one-byte length */
    };
    static const uint8_t bad[][16] = {
        { 8, 0x00, 'a', 0x0d, 2, 0xff },  /* before the beginning */
        { 8, 0x00, 'a', 0x0d, 0, 0xff },  /* offset 0 */
        { 7, 0x00, 'a', 0x0d, 1, 0xff },  /* longer than announced */
        { 9, 0x00, 'a', 0x0d, 1, 0xff },  /* shorter than announced */
        { 8, 0x00, 0xff },                /* literal cut */
        { 8, 0x00, 'a', 0x0d, 0xff },     /* offset cut */
        { 0x80, 0x80, 0x80, 0x01, 0xff }, /* length too large */
    };

    for (size_t i = 0; i < ELEMENTS(blocks) + ELEMENTS(bad); i++) {
        int good = i < ELEMENTS(blocks);
        const uint8_t *block = good ? blocks[i] : bad[i - ELEMENTS(blocks)];
        size_t n = (size_t)((const uint8_t *)memchr(block, 0xff, 16) - block), size = 0;
        _cleanup_free_ uint8_t *framed = NULL, *raw = NULL;
        int r;

        snappy_frame_encode((const uint8_t *)"aaaaaaaa", 8, &framed, &size);
        framed = realloc(framed, 64);
        framed[10] = 0; /* a compressed frame with our block; the checksum of the raw bytes stays */
        framed[11] = (uint8_t)(n + 4);
        memcpy(framed + 18, block, n);
        r = snappy_frame_decode(framed, 18 + n, 100, &raw, &size);
        assert_int_equal(r, good ? 0 : -EBADMSG);
        if (good)
            assert_memory_equal(raw, "aaaaaaaa", 8);
    }
}

TEST_PLAIN(test_snappy_round_trip)
{
    uint32_t seed = 12345;

    for (size_t size = 0; size < 400000; size = size * 2 + 1) {
        for (uint32_t noise = 1; noise <= 256; noise *= 16) {
            _cleanup_free_ uint8_t *raw = xcalloc(1, size), *framed = NULL, *back = NULL;
            size_t framed_size = 0, back_size = 0;

            for (size_t i = 0; i < size; i++) {
                seed = seed * 1664525 + 1013904223;
                raw[i] = (uint8_t)((seed >> 24) % noise);
            }
            snappy_frame_encode(raw, size, &framed, &framed_size);
            assert_int_equal(snappy_frame_decode(framed, framed_size, size, &back, &back_size), 0);
            assert_int_equal(back_size, size);
            assert_memory_equal(back, raw, size);
            if (noise == 1 && size > 1000)
                assert_true(framed_size < size / 8);
        }
    }
}

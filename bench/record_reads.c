/* SPDX-License-Identifier: Apache-2.0 */
/* record_reads.c - how fast a program reads the records of RecordIO files
 *
 * libedl reads each record of a file, alone. Beside it stands the bound of any reader: the same
 * file's bytes are read and their checksum is made, and nothing else. Both take turns, on a file
 * that is in memory. Times are the thread's own (CPU), so that they say something on a busy
 * machine. A figure of megabytes counts the bytes of records, as that of PaddlePaddle's reader in
 * Go does. That one gives 311 MB/s with records of 40 bytes.
 *
 * Usage: record_reads [--json] [--rounds N] [--megabytes N] */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "bench/samples.h"
#include "libedl/edl/edl.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/parse.h"
#include "shared/random.h"
#include "shared/recordio.h"

#define CHUNK_BYTES (1u << 20)
#define BLOCK_BYTES (1u << 20)
#define RECORD_BYTES_MOST 4096
#define GO_MB_PER_S 311.0
#define GOAL_OF_GO 4.0
#define GOAL_OF_LIMIT 0.4

struct options {
    bool json;
    uint64_t rounds, megabytes;
};

struct row {
    const char *key, *what;
    enum recordio_compressor compressor;
    size_t record_bytes;
    double read_mb_per_s, limit_mb_per_s, of_limit;
};

static struct row rows[] = {
    { .key = "read", .what = "40 bytes", .record_bytes = 40 },
    { .key = "read_4k", .what = "4 KiB", .record_bytes = 4096 },
    { .key = "read_snappy",
      .what = "40 bytes, snappy",
      .compressor = RECORDIO_SNAPPY,
      .record_bytes = 40 },
    { .key = "read_gzip",
      .what = "40 bytes, gzip",
      .compressor = RECORDIO_GZIP,
      .record_bytes = 40 },
};

static void give_up(const char *what, const struct edl_error *error)
{
    (void)fprintf(stderr, "record_reads: %s: %s\n", what,
                  error != NULL ? error->text : strerror(errno));
    exit(1);
}

/* write_file - records of random bytes, half of whose bits are set alike, so that they pack a
 * little Returns how many there are. */
static uint64_t write_file(const struct row *row, const char *path, uint64_t megabytes)
{
    const uint64_t n = megabytes * 1000000 / row->record_bytes;
    struct recordio_writer *writer = NULL;
    uint8_t record[RECORD_BYTES_MOST];
    struct edl_error error = { 0 };
    uint64_t seed = 1;

    if (recordio_writer_open(path, row->compressor, CHUNK_BYTES, &writer, &error) < 0)
        give_up(path, &error);
    for (uint64_t i = 0; i < n; i++) {
        for (size_t b = 0; b < row->record_bytes; b += 8) {
            const uint64_t word = random_u64(&seed) & UINT64_C(0x0f0f0f0f0f0f0f0f);

            memcpy(record + b, &word, sizeof word);
        }
        if (recordio_write(writer, record, row->record_bytes, &error) < 0)
            give_up(path, &error);
    }
    if (recordio_writer_close(writer, &error) < 0)
        give_up(path, &error);
    return n;
}

/* read_records - microseconds; each record is looked at */
static double read_records(const char *path, uint64_t n)
{
    const uint64_t began_us = clock_read_us(CLOCK_THREAD_CPUTIME_ID);
    struct edl_records *records = NULL;
    volatile uint8_t seen = 0;
    const void *data;
    uint64_t found = 0;
    size_t size;
    int r;

    if (edl_records_open(NULL, path, EDL_RECORD_RECORDIO, 1, &records) < 0)
        give_up(path, NULL);
    while ((r = edl_records_next(records, &data, &size)) == EDL_RECORD) {
        seen ^= *(const uint8_t *)data;
        found++;
    }
    if (r < 0 || found != n) {
        (void)fprintf(stderr, "record_reads: %" PRIu64 " of %" PRIu64 " records: %s\n", found, n,
                      edl_records_error(records));
        exit(1);
    }
    edl_records_close(records);
    return (double)(clock_read_us(CLOCK_THREAD_CPUTIME_ID) - began_us);
}

/* read_bytes - microseconds */
static double read_bytes(const char *path)
{
    const uint64_t began_us = clock_read_us(CLOCK_THREAD_CPUTIME_ID);
    _cleanup_free_ uint8_t *block = xcalloc(1, BLOCK_BYTES);
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    volatile uLong sum = crc32(0, NULL, 0);
    ssize_t n;

    if (fd < 0)
        give_up(path, NULL);
    while ((n = read(fd, block, BLOCK_BYTES)) > 0)
        sum = crc32(sum, block, (uInt)n);
    if (n < 0)
        give_up(path, NULL);
    return (double)(clock_read_us(CLOCK_THREAD_CPUTIME_ID) - began_us);
}

static void measure(struct row *row, const struct options *options, const char *path)
{
    const uint64_t n = write_file(row, path, options->megabytes);
    const double bytes = (double)n * (double)row->record_bytes;
    struct samples reads = { 0 }, limits = { 0 };
    double read_us, limit_us;

    (void)read_bytes(path); /* into memory */
    for (uint64_t i = 0; i < options->rounds; i++) {
        samples_add(&limits, read_bytes(path));
        samples_add(&reads, read_records(path, n));
    }
    read_us = samples_figures(&reads).p50;
    limit_us = samples_figures(&limits).p50;
    row->read_mb_per_s = bytes / read_us;
    row->limit_mb_per_s = bytes / limit_us;
    row->of_limit = limit_us / read_us;
    samples_free(&reads);
    samples_free(&limits);
    (void)unlink(path);
}

static void print_table(void)
{
    (void)printf("%-18s %12s %26s %10s\n", "records", "read MB/s", "bytes and checksum, MB/s",
                 "of limit");
    for (size_t i = 0; i < ELEMENTS(rows); i++)
        (void)printf("%-18s %12.0f %26.0f %10.2f\n", rows[i].what, rows[i].read_mb_per_s,
                     rows[i].limit_mb_per_s, rows[i].of_limit);
    (void)printf("goals, of records of 40 bytes: %.0f MB/s, which is %.0f times the reader in Go, "
                 "and %.1f of the limit\n",
                 GOAL_OF_GO * GO_MB_PER_S, GOAL_OF_GO, GOAL_OF_LIMIT);
}

static void print_json(void)
{
    json_t *json = json_object();

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        char key[64];

        (void)snprintf(key, sizeof key, "%s_mb_per_s", rows[i].key);
        (void)json_object_set_new(json, key, json_real(rows[i].read_mb_per_s));
        (void)snprintf(key, sizeof key, "%s_of_memory_limit", rows[i].key);
        (void)json_object_set_new(json, key, json_real(rows[i].of_limit));
    }
    (void)json_object_set_new(json, "goal_mb_per_s", json_real(GOAL_OF_GO * GO_MB_PER_S));
    (void)json_dumpf(json, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    (void)putchar('\n');
    json_decref(json);
}

static int usage(void)
{
    (void)fprintf(stderr, "usage: record_reads [--json] [--rounds N] [--megabytes N]\n");
    return 2;
}

int main(int argc, char **argv)
{
    static const struct option long_options[] = {
        { "json", no_argument, NULL, 'j' },
        { "rounds", required_argument, NULL, 'r' },
        { "megabytes", required_argument, NULL, 'm' },
        { NULL, 0, NULL, 0 },
    };
    struct options options = { .rounds = 9, .megabytes = 200 };
    const char *temporary = getenv("TMPDIR");
    char folder[256], path[512];
    int c;

    while ((c = getopt_long(argc, argv, "", long_options, NULL)) != -1)
        if (c == 'j')
            options.json = true;
        else if ((c != 'r' && c != 'm') ||
                 parse_u64(optarg, c == 'r' ? &options.rounds : &options.megabytes) < 0 ||
                 options.rounds == 0 || options.megabytes == 0)
            return usage();
    (void)snprintf(folder, sizeof folder, "%s/bench-records-XXXXXX",
                   temporary != NULL ? temporary : "/tmp");
    if (mkdtemp(folder) == NULL)
        give_up(folder, NULL);
    (void)snprintf(path, sizeof path, "%s/file", folder);
    for (size_t i = 0; i < ELEMENTS(rows); i++)
        measure(&rows[i], &options, path);
    (void)rmdir(folder);
    if (options.json)
        print_json();
    else
        print_table();
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_recordio.c - any bytes as a RecordIO file: the chunks and the gaps between them, which are
 * all of its bytes, then every chunk
 *
 * The checksum would hide the bytes behind it from a fuzzer, so the bytes of the first header's
 * checksum field are corrected first. The other chunks go through as they are. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <stdio.h>
#include <unistd.h>
#include <zlib.h>

#include "shared/cleanup.h"
#include "shared/recordio.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void correct_checksum(uint8_t *data, size_t size)
{
    uint32_t stored, crc;

    if (size < RECORDIO_HEADER_BYTES)
        return;
    stored = (uint32_t)data[12] | (uint32_t)data[13] << 8 | (uint32_t)data[14] << 16 |
             (uint32_t)data[15] << 24;
    if (stored > size - RECORDIO_HEADER_BYTES)
        return;
    crc = (uint32_t)crc32(0, data + RECORDIO_HEADER_BYTES, stored);
    for (int i = 0; i < 4; i++)
        data[4 + i] = (uint8_t)(crc >> (8 * i));
}

static void read_chunk(const char *path, const struct recordio_chunk *chunk)
{
    struct recordio_records records = { 0 };
    volatile uint8_t last = 0;

    if (recordio_read_chunk(path, chunk->offset_bytes, &records, NULL) < 0)
        return;
    for (uint32_t j = 0; j < records.n; j++) /* touch each record's end */
        if (records.sizes[j] > 0)
            last ^= records.data[records.offsets[j] + records.sizes[j] - 1];
    recordio_records_clear(&records);
}

static void read_all(const char *path, size_t size)
{
    struct recordio_survey survey = { 0 };
    uint64_t at = 0;
    size_t g = 0;

    if (recordio_survey(path, &survey, NULL) < 0)
        abort();
    for (size_t i = 0; i < survey.n_chunks; i++) {
        const struct recordio_chunk *chunk = &survey.chunks[i];

        while (g < survey.n_gaps && survey.gaps[g].offset_bytes == at)
            at += survey.gaps[g++].bytes;
        if (chunk->offset_bytes != at)
            abort();
        at += RECORDIO_HEADER_BYTES + (uint64_t)chunk->stored_bytes;
        if (i < 100)
            read_chunk(path, chunk);
    }
    while (g < survey.n_gaps && survey.gaps[g].offset_bytes == at)
        at += survey.gaps[g++].bytes;
    if (g != survey.n_gaps || at != size)
        abort();
    recordio_survey_clear(&survey);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_close_ int fd = memfd_create("fuzz_recordio", MFD_CLOEXEC);
    uint8_t *copy = malloc(size + 1);
    char path[32];

    if (fd < 0 || copy == NULL)
        abort();
    if (size > 0)
        memcpy(copy, data, size);
    correct_checksum(copy, size);
    if (write(fd, copy, size) != (ssize_t)size)
        abort();
    free(copy);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    read_all(path, size);
    return 0;
}

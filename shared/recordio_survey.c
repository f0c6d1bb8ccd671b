/* SPDX-License-Identifier: Apache-2.0 */
/* recordio_survey.c - which chunks a RecordIO file has, and which of its bytes no chunk has
 *
 * A chunk is found by the size in the header before it. Behind a damaged header the next chunk is
 * looked for: a magic number with a header that can be and a payload whose checksum is right. The
 * same rules stand in python/edl/_survey.py, so that both find the same.
 *
 * A hostile file has many false headers. Each costs the checksum of the bytes that it claims, so
 * the work on them is bounded by the size of the file. Then the rest of it counts as lost. */
#include "shared/recordio.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <zlib.h>

#include "shared/cleanup.h"
#include "shared/macro.h"
#include "shared/recordio_file.h"

#define BLOCK_BYTES (1u << 20)
#define BLOCK_BYTES_FIRST 256u /* a gap is short where the next chunk is near */
#define MAGIC_BYTES 4
#define CHECKED_PER_BYTE 4 /* so often each byte of a file is read for checksums, about */

struct surveying {
    int fd;
    struct recordio_survey found;
    size_t chunks_room, gaps_room;
    size_t n_whole;           /* the first chunks, whose checksums were seen to be right */
    uint64_t budget_bytes;    /* for checksums */
    uint8_t *block, *payload; /* owned, [BLOCK_BYTES]; NULL before they are needed */
};

static const uint8_t magic[MAGIC_BYTES] = { 0x04, 0x03, 0x02, 0x01 };

static uint64_t end_of(uint64_t offset_bytes, uint32_t stored_bytes)
{
    return offset_bytes + RECORDIO_HEADER_BYTES + stored_bytes;
}

static uint64_t end_of_chunk(const struct recordio_chunk *chunk)
{
    return end_of(chunk->offset_bytes, chunk->stored_bytes);
}

static void add_chunk(struct surveying *s, uint64_t offset_bytes, const struct recordio_header *h)
{
    struct recordio_survey *found = &s->found;

    if (found->n_chunks == s->chunks_room) {
        s->chunks_room = s->chunks_room * 2 + 16;
        found->chunks = xreallocarray(found->chunks, s->chunks_room, sizeof *found->chunks);
    }
    found->chunks[found->n_chunks++] =
        (struct recordio_chunk){ offset_bytes, h->stored_bytes, h->n_records,
                                 (enum recordio_compressor)h->compressor };
}

/* is_counted - whether the number of records in a damaged header is that of the gap: its size leads
 * to the next chunk, or the file was cut in its chunk */
static bool is_counted(const struct surveying *s, uint64_t begin, uint64_t end,
                       const struct recordio_header *h)
{
    const uint64_t claimed = end_of(begin, h->stored_bytes);

    if (h->stored_bytes > RECORDIO_CHUNK_BYTES_MAX || h->compressor > RECORDIO_GZIP ||
        h->n_records > RECORDIO_RECORDS_MAX(h->compressor, h->stored_bytes))
        return false;
    return claimed == end ||
           (h->magic == RECORDIO_MAGIC && end == s->found.file_bytes && claimed > end);
}

static void add_gap(struct surveying *s, uint64_t begin, uint64_t end, const char *what,
                    const struct recordio_header *h)
{
    struct recordio_survey *found = &s->found;
    const bool counted = is_counted(s, begin, end, h);

    if (found->n_gaps == s->gaps_room) {
        s->gaps_room = s->gaps_room * 2 + 16;
        found->gaps = xreallocarray(found->gaps, s->gaps_room, sizeof *found->gaps);
    }
    found->gaps[found->n_gaps++] = (struct recordio_gap){ .offset_bytes = begin,
                                                          .bytes = end - begin,
                                                          .what = what,
                                                          .counted = counted,
                                                          .n_records = counted ? h->n_records : 0 };
    found->lost_bytes += end - begin;
}

/* ---- the next chunk behind a damaged header ---- */

/* is_whole - 1: the payload behind a header has its checksum; 0: it has not, or the budget is spent
 */
static int is_whole(struct surveying *s, uint64_t offset_bytes, const struct recordio_header *h)
{
    uint64_t at = offset_bytes + RECORDIO_HEADER_BYTES, left = h->stored_bytes;
    uLong sum = crc32(0, NULL, 0);

    if (left > s->budget_bytes) {
        s->budget_bytes = 0;
        return 0;
    }
    s->budget_bytes -= left;
    if (s->payload == NULL)
        s->payload = xreallocarray(NULL, BLOCK_BYTES, 1);
    while (left > 0) {
        size_t n = (size_t)MIN_OF(left, (uint64_t)BLOCK_BYTES);
        int r = recordio_file_read(s->fd, at, s->payload, n);

        if (r < 0)
            return r;
        sum = crc32(sum, s->payload, (uInt)n);
        at += n;
        left -= n;
    }
    return (uint32_t)sum == h->crc;
}

/* is_chunk - 1: a whole chunk begins here, *ret */
static int is_chunk(struct surveying *s, uint64_t offset_bytes, struct recordio_header *ret)
{
    const char *what;
    int r = recordio_header_read(s->fd, offset_bytes, s->found.file_bytes, ret, &what);

    if (r == EDL_ECORRUPT)
        return 0;
    return r < 0 ? r : is_whole(s, offset_bytes, ret);
}

/* find_in_block - as find_chunk, of the places in the first n bytes that the block has */
static int find_in_block(struct surveying *s, uint64_t begin, size_t n, uint64_t *ret_offset,
                         struct recordio_header *ret)
{
    const uint8_t *end = s->block + n, *at = s->block;
    int r = 0;

    while (r == 0 && s->budget_bytes > 0 &&
           (at = memmem(at, (size_t)(end - at), magic, sizeof magic)) != NULL) {
        *ret_offset = begin + (uint64_t)(at - s->block);
        r = is_chunk(s, *ret_offset, ret);
        at++;
    }
    return r;
}

/* find_chunk - 1: the first whole chunk that begins at `from` or behind it; 0: there is none */
static int find_chunk(struct surveying *s, uint64_t from, uint64_t *ret_offset,
                      struct recordio_header *ret)
{
    size_t size = BLOCK_BYTES_FIRST;
    int r = 0;

    if (s->block == NULL)
        s->block = xreallocarray(NULL, BLOCK_BYTES, 1);
    while (r == 0 && s->budget_bytes > 0 && s->found.file_bytes - from >= RECORDIO_HEADER_BYTES) {
        size_t n = (size_t)MIN_OF(s->found.file_bytes - from, (uint64_t)size);

        r = recordio_file_read(s->fd, from, s->block, n);
        if (r == 0)
            r = find_in_block(s, from, n, ret_offset, ret);
        from += n - (MAGIC_BYTES - 1); /* a magic number may lie across two blocks */
        size = MIN_OF(2 * size, (size_t)BLOCK_BYTES);
    }
    return r;
}

/* where_to_look - behind a damaged header; in the chunk before it when that is damaged too, as its
 * size may have led past whole chunks */
static int where_to_look(struct surveying *s, uint64_t damaged, uint64_t *ret_from)
{
    const struct recordio_chunk *last;
    struct recordio_header h = { 0 };
    int r;

    *ret_from = damaged + 1;
    if (s->found.n_chunks <= s->n_whole)
        return 0;
    last = &s->found.chunks[s->found.n_chunks - 1];
    r = is_chunk(s, last->offset_bytes, &h);
    if (r == 0)
        *ret_from = last->offset_bytes + 1;
    return r < 0 ? r : 0;
}

/* pass_damage - *io_offset, where a header is damaged, becomes the place of the next whole chunk */
static int pass_damage(struct surveying *s, uint64_t *io_offset, const char *what,
                       const struct recordio_header *damaged)
{
    const uint64_t begin = *io_offset;
    uint64_t from = 0, next = s->found.file_bytes;
    struct recordio_header h = { 0 }, misleading;
    const char *unused;
    int r = where_to_look(s, begin, &from);

    if (r == 0)
        r = find_chunk(s, from, &next, &h);
    if (r < 0)
        return r;
    if (r == 0)
        next = s->found.file_bytes;
    if (next > begin) {
        add_gap(s, begin, next, what, damaged);
    } else { /* the chunk before it is none, or has another size */
        const uint64_t last = s->found.chunks[--s->found.n_chunks].offset_bytes;

        r = recordio_header_read(s->fd, last, s->found.file_bytes, &misleading, &unused);
        if (r < 0 && r != EDL_ECORRUPT)
            return r;
        add_gap(s, last, next, "another chunk begins inside the chunk", &misleading);
    }
    if (next < s->found.file_bytes) {
        add_chunk(s, next, &h);
        s->n_whole = s->found.n_chunks;
        next = end_of_chunk(&s->found.chunks[s->found.n_chunks - 1]);
    }
    *io_offset = next;
    return 0;
}

/* ---- all of it ---- */

static int survey(struct surveying *s)
{
    uint64_t offset = 0;
    int r = 0;

    while (r == 0 && offset < s->found.file_bytes) {
        struct recordio_header h;
        const char *what;

        r = recordio_header_read(s->fd, offset, s->found.file_bytes, &h, &what);
        if (r == EDL_ECORRUPT) {
            r = pass_damage(s, &offset, what, &h);
        } else if (r == 0) {
            add_chunk(s, offset, &h);
            offset = end_of(offset, h.stored_bytes);
        }
    }
    return r;
}

int recordio_survey(const char *path, struct recordio_survey *ret, struct edl_error *error)
{
    struct surveying s = { 0 };
    _cleanup_close_ int fd = -1;
    int r = recordio_file_open(path, &fd, &s.found.file_bytes, error);

    if (r < 0)
        return r;
    s.fd = fd;
    s.budget_bytes = CHECKED_PER_BYTE * s.found.file_bytes + RECORDIO_CHUNK_BYTES_MAX;
    r = survey(&s);
    free(s.block);
    free(s.payload);
    if (r < 0) {
        recordio_survey_clear(&s.found);
        return edl_error_errno(error, r, "cannot read %s", path);
    }
    *ret = s.found;
    return 0;
}

void recordio_survey_clear(struct recordio_survey *survey)
{
    free(survey->chunks);
    free(survey->gaps);
    *survey = (struct recordio_survey){ 0 };
}

int recordio_gap_error(const char *path, const struct recordio_survey *survey,
                       const struct recordio_gap *gap, struct edl_error *error)
{
    const bool rest = gap->offset_bytes + gap->bytes == survey->file_bytes;
    char what[256];
    int n = snprintf(what, sizeof what, "%s; %s%" PRIu64 " bytes%s", gap->what,
                     rest ? "the rest of the file is lost, " : "", gap->bytes,
                     rest ? "" : " are lost, up to the next whole chunk");

    if (gap->counted)
        (void)snprintf(what + n, sizeof what - (size_t)n, ", with %" PRIu32 " record%s",
                       gap->n_records, gap->n_records == 1 ? "" : "s");
    else
        (void)snprintf(what + n, sizeof what - (size_t)n, ", with an unknown number of records");
    return recordio_damaged(path, gap->offset_bytes, what, error);
}

int recordio_index(const char *path, struct recordio_chunk **ret_chunks, size_t *ret_n,
                   struct edl_error *error)
{
    struct recordio_survey found = { 0 };
    int r = recordio_survey(path, &found, error);

    if (r < 0)
        return r;
    if (found.n_gaps > 0) {
        r = recordio_gap_error(path, &found, &found.gaps[0], error);
        recordio_survey_clear(&found);
        return r;
    }
    *ret_chunks = found.chunks != NULL ? found.chunks : xcalloc(1, sizeof *found.chunks);
    *ret_n = found.n_chunks;
    return 0;
}

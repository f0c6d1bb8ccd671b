/* SPDX-License-Identifier: Apache-2.0 */
/* sample_set.c - checked samples in memory, in an order of their own */
#include "trainer/data/sample_set.h"

#include <errno.h>
#include <inttypes.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "shared/random.h"
#include "shared/recordio.h"
#include "trainer/data/sample.h"

#define BLOCK_BYTES ((size_t)1 << 20) /* of many single samples */

struct entry {
    const uint8_t *record;
    size_t size;
};

struct sample_set {
    struct input_spec inputs[INPUTS_MAX];
    uint32_t n_inputs;
    struct entry *entries;
    size_t n, room;
    uint8_t **blocks; /* the memory that records lie in */
    size_t n_blocks, blocks_room;
    size_t bytes;  /* of all blocks */
    uint8_t *open; /* the block that single samples are copied to */
    size_t open_size, open_room;
};

struct sample_set *sample_set_new(const struct input_spec *inputs, uint32_t n_inputs)
{
    struct sample_set *set = xcalloc(1, sizeof *set);

    memcpy(set->inputs, inputs, n_inputs * sizeof *inputs);
    set->n_inputs = n_inputs;
    return set;
}

struct sample_set *sample_set_free(struct sample_set *set)
{
    if (set == NULL)
        return NULL;
    for (size_t i = 0; i < set->n_blocks; i++)
        free(set->blocks[i]);
    free(set->blocks);
    free(set->entries);
    free(set);
    return NULL;
}

static void keep_block(struct sample_set *set, uint8_t *take_block, size_t bytes)
{
    if (set->n_blocks == set->blocks_room) {
        set->blocks_room = set->blocks_room * 2 + 64;
        set->blocks = xreallocarray(set->blocks, set->blocks_room, sizeof *set->blocks);
    }
    set->blocks[set->n_blocks++] = take_block;
    set->bytes += bytes;
}

static int add_entry(struct sample_set *set, const uint8_t *record, size_t size,
                     struct edl_error *error)
{
    int r = sample_check(set->inputs, set->n_inputs, record, size, NULL, error);

    if (r < 0)
        return r;
    if (set->n >= SAMPLE_SET_SAMPLES_MAX || set->bytes > SAMPLE_SET_BYTES_MAX - size) {
        (void)edl_error_set(error, -E2BIG, "more than %zu samples or %zu bytes at once",
                            SAMPLE_SET_SAMPLES_MAX, SAMPLE_SET_BYTES_MAX);
        return edl_error_remedy(error, "make smaller tasks: --task-records");
    }
    if (set->n == set->room) {
        set->room = set->room * 2 + 1024;
        set->entries = xreallocarray(set->entries, set->room, sizeof *set->entries);
    }
    set->entries[set->n++] = (struct entry){ record, size };
    return 0;
}

int sample_set_add(struct sample_set *set, const uint8_t *record, size_t size,
                   struct edl_error *error)
{
    uint8_t *copy;
    int r;

    if (size > SAMPLE_SIZE_MAX)
        return edl_error_set(error, EDL_ECORRUPT, "a record of %zu bytes; it may have %u", size,
                             SAMPLE_SIZE_MAX);
    if (set->open == NULL || size > set->open_room - set->open_size) {
        set->open_room = MAX_OF(size, BLOCK_BYTES);
        set->open_size = 0;
        set->open = xcalloc(set->open_room, 1);
        keep_block(set, set->open, set->open_room);
    }
    copy = set->open + set->open_size;
    if (size > 0)
        memcpy(copy, record, size);
    r = add_entry(set, copy, size, error);
    if (r == 0)
        set->open_size += size;
    return r;
}

/* Only every stride-th record stays, moved to the front of the chunk's memory. */
static void thin_out(struct recordio_records *records, size_t stride, size_t *io_count)
{
    uint32_t kept = 0, end = 0;

    for (uint32_t i = 0; i < records->n; i++) {
        if ((*io_count)++ % stride != 0)
            continue;
        memmove(records->data + end, records->data + records->offsets[i], records->sizes[i]);
        records->offsets[kept] = end;
        records->sizes[kept++] = records->sizes[i];
        end += records->sizes[i];
    }
    records->n = kept;
    records->data = xreallocarray(records->data, MAX_OF(end, 1u), 1);
}

static size_t bytes_of(const struct recordio_records *records)
{
    return records->n == 0
               ? 0
               : (size_t)records->offsets[records->n - 1] + records->sizes[records->n - 1];
}

int sample_set_read(struct sample_set *set, const char *path, uint64_t offset_bytes, size_t stride,
                    size_t *io_count, struct edl_error *error)
{
    struct recordio_records records = { 0 };
    int r = recordio_read_chunk(path, offset_bytes, &records, error);

    if (r < 0)
        return r;
    if (stride > 1)
        thin_out(&records, stride, io_count);
    else
        *io_count += records.n;
    for (uint32_t i = 0; r == 0 && i < records.n; i++) {
        r = add_entry(set, records.data + records.offsets[i], records.sizes[i], error);
        if (r < 0)
            edl_error_prefix(error, "%s at %" PRIu64 ", record %" PRIu32 ": ", path, offset_bytes,
                             i);
    }
    keep_block(set, records.data, bytes_of(&records));
    records.data = NULL;
    recordio_records_clear(&records);
    return r;
}

size_t sample_set_n(const struct sample_set *set)
{
    return set->n;
}

const uint8_t *sample_set_record(const struct sample_set *set, size_t i, size_t *ret_size)
{
    *ret_size = set->entries[i].size;
    return set->entries[i].record;
}

void sample_set_shuffle(struct sample_set *set, uint64_t seed)
{
    for (size_t i = set->n; i > 1; i--) {
        size_t j = (size_t)(random_u64(&seed) % i);
        struct entry keep = set->entries[i - 1];

        set->entries[i - 1] = set->entries[j];
        set->entries[j] = keep;
    }
}

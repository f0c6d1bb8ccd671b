/* SPDX-License-Identifier: Apache-2.0 */
/* sample_set.h - checked samples in memory, in an order of their own, and batches of them
 *
 * The records stay as they were read: a batch copies each value once, from its record to its place
 * in the batch. To shuffle is to move references. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "trainer/data/batch.h"

struct edl_error;
struct sample_set;
struct batch_room;

#define SAMPLE_SET_SAMPLES_MAX ((size_t)1 << 26)
#define SAMPLE_SET_BYTES_MAX ((size_t)1 << 32)

/* sample_set_new - an empty set; the inputs were checked (sample_inputs_check) and are copied */
struct sample_set *sample_set_new(const struct input_spec *inputs, uint32_t n_inputs);
struct sample_set *sample_set_free(struct sample_set *set);

/* sample_set_add - one sample, copied
 * Errors: EDL_ECORRUPT as sample_check, -E2BIG when the set would grow too large. */
int sample_set_add(struct sample_set *set, const uint8_t *record, size_t size,
                   struct edl_error *error);

/* sample_set_read - every stride-th record of a chunk of a RecordIO file, counted by *io_count
 * Errors: those of recordio_read_chunk and sample_set_add, with file, chunk and record named. The
 * samples read before an error stay. */
int sample_set_read(struct sample_set *set, const char *path, uint64_t offset_bytes, size_t stride,
                    size_t *io_count, struct edl_error *error);

size_t sample_set_n(const struct sample_set *set);

/* sample_set_record - the bytes of one sample, in the set's order; they live as long as the set */
const uint8_t *sample_set_record(const struct sample_set *set, size_t i, size_t *ret_size);

/* sample_set_shuffle - the same order for the same samples in the same order and the same seed */
void sample_set_shuffle(struct sample_set *set, uint64_t seed);

/* batch_room - memory for batches of these inputs, reused from batch to batch; it grows when a
 * batch is larger than all before, never otherwise */
struct batch_room *batch_room_new(const struct input_spec *inputs, uint32_t n_inputs);
struct batch_room *batch_room_free(struct batch_room *room);

/* sample_set_batch - samples first..first+n-1 of the set's order, side by side
 * *ret points into room, until the next batch. The inputs of room are those of the set, and the set
 * has so many samples. */
void sample_set_batch(const struct sample_set *set, size_t first, uint32_t n,
                      struct batch_room *room, struct batch *ret);

/* sample_set_pick - the same of samples indices[n] of the set's order, each below sample_set_n */
void sample_set_pick(const struct sample_set *set, const uint64_t *indices, uint32_t n,
                     struct batch_room *room, struct batch *ret);

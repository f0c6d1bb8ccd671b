/* SPDX-License-Identifier: Apache-2.0 */
/* sample.h - one sample as a record of a RecordIO file, by the inputs of its data set
 *
 * A record holds one value of each input, one after the other, little-endian. INTEGER: an int32.
 * DENSE: size float32. SEQUENCE: a uint32 count and so many int32. Records are untrusted: counts,
 * ids, lengths and floats are checked before a value is used. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "trainer/data/batch.h"

struct edl_error;

#define SAMPLE_SEQUENCE_MAX 65536         /* ids in one sequence */
#define SAMPLE_SIZE_MAX (1u << 24)        /* bytes of one record */
#define SAMPLE_INPUT_SIZE_MAX (1u << 24)  /* ids of an input */
#define SAMPLE_INPUT_DENSE_MAX (1u << 20) /* floats of an input */

/* One value of a sample that is about to be written. */
struct sample_value {
    const int32_t *ids;  /* INTEGER, SEQUENCE */
    uint32_t n_ids;      /* SEQUENCE; DENSE_SEQUENCE: places */
    const float *values; /* DENSE, DENSE_SEQUENCE */
};

/* Bytes to write into, reused from sample to sample. */
struct sample_record {
    uint8_t *bytes;
    size_t size, room;
};

/* sample_inputs_check - names that are there and differ, kinds that are known, sizes within bounds
 * Errors: -EINVAL names the input and the value. */
int sample_inputs_check(const struct input_spec *inputs, uint32_t n_inputs,
                        struct edl_error *error);

/* sample_encode - the record of one sample; io_record grows as it must, the caller frees its bytes
 * Errors: -EINVAL names the input and the value that it cannot have. */
int sample_encode(const struct input_spec *inputs, uint32_t n_inputs,
                  const struct sample_value *values, struct sample_record *io_record,
                  struct edl_error *error);

/* sample_check - record is exactly one sample
 * ret_counts, unless NULL: [n_inputs], the ids or places of each sequence, 0 of other inputs;
 * written on success only. Errors: EDL_ECORRUPT names the input, the byte and the value. */
int sample_check(const struct input_spec *inputs, uint32_t n_inputs, const uint8_t *record,
                 size_t size, uint32_t *ret_counts, struct edl_error *error);

/* sample_integers - the ids of a record whose inputs are all INTEGER; it was checked before */
void sample_integers(const uint8_t *record, uint32_t n_inputs, int32_t *ret_ids);

const char *input_kind_to_string(enum input_kind kind);

/* input_kind_from_string - "integer", "dense", "integer_sequence"; -EINVAL */
int input_kind_from_string(const char *text, enum input_kind *ret);

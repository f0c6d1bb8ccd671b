/* SPDX-License-Identifier: Apache-2.0 */
/* batch.h - the samples of one batch, input by input, as a network takes them
 *
 * A record of a data set is one sample: its inputs one after the other, little-endian. An integer
 * input is an int32, and a dense one its floats. A sequence is a uint32 count and so many int32, or
 * so many places of floats. The target of a regression is a dense input, a class an integer one. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define INPUTS_MAX 32

enum input_kind {
    INPUT_INTEGER,        /* one id below size */
    INPUT_DENSE,          /* size floats */
    INPUT_SEQUENCE,       /* ids below size, at least 1 */
    INPUT_DENSE_SEQUENCE, /* places of size floats, at least 1 */
};

static inline bool input_is_sequence(enum input_kind kind)
{
    return kind == INPUT_SEQUENCE || kind == INPUT_DENSE_SEQUENCE;
}

static inline bool input_is_dense(enum input_kind kind)
{
    return kind == INPUT_DENSE || kind == INPUT_DENSE_SEQUENCE;
}

struct input_spec {
    char name[64];
    enum input_kind kind;
    uint32_t size;
};

/* One input of all samples of a batch; the arrays are whose the batch is. */
struct batch_slot {
    const int32_t *ids;     /* INTEGER: [n]; SEQUENCE: [starts[n]] */
    const uint32_t *starts; /* of sequences: [n + 1], of each sample; starts[0] is 0 */
    const float *values;    /* DENSE: [n, size]; DENSE_SEQUENCE: [starts[n], size] */
};

struct batch {
    uint32_t n; /* samples */
    uint32_t n_slots;
    struct batch_slot slots[INPUTS_MAX];
};

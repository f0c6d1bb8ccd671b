/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer_state.h - what a saved pass keeps of the optimizer: a training that goes on with it has
 * the bits of one that never ended
 *
 * The file lies beside the parameters, and no parameter's name begins with its dot. It has the
 * slots and counts of a table, the values of sparse rows that still owe their decay, and how many
 * steps have drawn dropout. A sum tells to which values it belongs. */
#pragma once

#include <stdint.h>

#include "kernels/optimizer.h"
#include "trainer/model/model_file.h"

struct edl_error;
struct network;
struct table;

#define OPTIMIZER_STATE_NAME ".optimizer"

struct optimizer_state_header {
    char magic[8];
    uint64_t updates, samples, steps;
    uint64_t body_bytes;
    uint32_t method, n_slots, n_params;
    uint32_t values_crc; /* of the parameters that were saved with it */
    uint32_t body_crc;
    uint32_t header_crc; /* of the bytes before it */
};
_Static_assert(sizeof(struct optimizer_state_header) == 64, "written as it lies in memory");

/* The state as a part of a saved model; it refers to the table's memory. */
struct optimizer_state {
    struct optimizer_state_header header;
    struct file_piece pieces[OPTIMIZER_SLOTS_MAX + 4];
    struct model_part part;
    void *layout; /* owned */
};

/* optimizer_state_pack - for optimizer_state_clear; the table is the only shard
 * values: of each parameter of the network, which are saved beside it. steps: of the learner.
 * -EDOM: a slot has a value that is not a number; the parameter is named. */
int optimizer_state_pack(const struct network *network, float *const *values, struct table *table,
                         uint64_t steps, struct optimizer_state *ret, struct edl_error *error);
void optimizer_state_clear(struct optimizer_state *state);

/* optimizer_state_read - the state of the pass in folder into a table that has its values
 * pass: that was trained last. values: those that were read, as above. Returns 1; 0 when there is
 * none for this training, and error says why; EDL_ECORRUPT and so on: the file is damaged, or
 * cannot be read. */
int optimizer_state_read(const char *folder, const struct network *network, float *const *values,
                         uint32_t pass, struct table *table, uint64_t *ret_steps,
                         struct edl_error *error);

/* SPDX-License-Identifier: Apache-2.0 */
/* group_signature.h - what trainers of a group must have in common, as the text that they compare
 * when they meet
 *
 * A line each, so that the first one that differs is the reason: network, samples, micro-batches,
 * seed, rates; and where sums are exact the kernels and the BLAS of the machine. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "libedl/edl/edl.h"

struct batch_history;
struct declaration;

struct group_settings {
    const char *network; /* its name */
    const void *text;    /* of its file */
    uint64_t text_bytes;
    const struct declaration *declaration;
    uint64_t samples, passes; /* to train */
    uint64_t micro_batch, micro_batches;
    bool shuffles;
    const char *batch_rule;              /* "constant" */
    uint64_t most, warm_up;              /* of other rules; else 0 */
    const struct batch_history *given;   /* batches in place of the rule's; NULL */
    const char *device, *kernels, *blas; /* NULL: sums are not exact, machines may differ */
};

void group_signature(const struct group_settings *settings,
                     char ret[EDL_GROUP_SIGNATURE_BYTES_MAX + 1]);

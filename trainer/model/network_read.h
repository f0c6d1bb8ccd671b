/* SPDX-License-Identifier: Apache-2.0 */
/* network_read.h - the parameters of a network out of a saved pass: its folder, or its tar */
#pragma once

#include <stdbool.h>

struct edl_error;
struct network;

struct network_read {
    const struct network *network;
    const char *path;    /* DIR/pass-00000, or a tar of paddle.v2 */
    const char *missing; /* of a parameter that it has no file of: fail, rand, zero */
    bool shared_only;    /* without the averages that no exchange carries */
};

/* network_read - into values, f32[rows, columns] of each, which hold the start values
 * -EINVAL: it is no saved pass; EDL_ECORRUPT, -ENOENT and so on: a file of it */
int network_read(const struct network_read *read, float *const *values, struct edl_error *error);

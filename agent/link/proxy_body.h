/* SPDX-License-Identifier: Apache-2.0 */
/* proxy_body.h - the larger bodies of calls of processes: in memory once, and so much of all jobs
 *
 * A job holds as much as is left for others (fair_share.h), by the bytes that came and not by the
 * announced ones: a caller that stops in the middle of a body holds the bytes that it has sent.
 * Each is a file without a name, so that it is passed on from where it is, as often as it takes. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct edl_error;

#define PROXY_BODIES_MAX_BYTES ((uint64_t)64 << 20)

struct proxy_body {
    uint64_t job_id;
    uint64_t size_bytes;
    FILE *file; /* owned */
    struct proxy_body *prev, *next;
};

struct proxy_bodies {
    struct proxy_body *list; /* utlist */
    uint64_t size_bytes;     /* of all */
};

int proxy_body_new(struct proxy_bodies *bodies, uint64_t job_id, struct proxy_body **ret,
                   struct edl_error *error);

/* proxy_body_take - EDL_ETOOMANY with error when its job holds its share */
int proxy_body_take(struct proxy_bodies *bodies, struct proxy_body *body, const void *data,
                    size_t size, struct edl_error *error);
void proxy_body_free(struct proxy_bodies *bodies, struct proxy_body *body);

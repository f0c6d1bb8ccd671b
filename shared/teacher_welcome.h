/* SPDX-License-Identifier: Apache-2.0 */
/* teacher_welcome.h - what a teacher says of itself in WELCOME: {"model": "digits", "feeds":
 * [{"name": "image", "type": "float32", "shape": [64]}], "fetches": ["prediction"],
 * "batch": 64, "free": 4}; pure
 *
 * Shapes are without the dimension of the samples; null in one stands for any extent. A feed
 * without "shape" or "type" takes any; no feeds, no fetches: any names. "batch" is the samples of
 * one computation at most, "free" the places for tasks of a teacher that has none; 0: unknown.
 *
 * Used by: trainer, libedl. Tests: tests/unit/test_teacher_wire.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "shared/teacher_wire.h"

struct edl_error;

#define TEACHER_EXTENT_ANY UINT64_MAX
#define TEACHER_DIMENSIONS_ANY UINT32_MAX

struct teacher_feed {
    char name[TEACHER_FIELD_MAX + 1];
    enum teacher_type type; /* TEACHER_TYPES: any */
    uint32_t n_dimensions;  /* of one sample; TEACHER_DIMENSIONS_ANY: any shape */
    uint64_t dimensions[TEACHER_DIMENSIONS_MAX];
};

struct teacher_fetch {
    char name[TEACHER_FIELD_MAX + 1];
};

struct teacher_welcome {
    char model[TEACHER_FIELD_MAX + 1];
    struct teacher_feed *feeds;    /* owned */
    struct teacher_fetch *fetches; /* owned */
    uint32_t n_feeds, n_fetches;   /* TEACHER_TENSORS_MAX at most */
    uint32_t batch, free;          /* 0: unknown */
};

/* teacher_welcome_encode - the caller frees it; -EMSGSIZE: it is longer than a WELCOME may be */
int teacher_welcome_encode(const struct teacher_welcome *welcome, char **ret, size_t *ret_size,
                           struct edl_error *error);

/* teacher_welcome_decode - -EPROTO. Names are as they came: show them escaped. */
int teacher_welcome_decode(const uint8_t *body, size_t size, struct teacher_welcome *ret,
                           struct edl_error *error);
void teacher_welcome_clear(struct teacher_welcome *welcome);

/* teacher_feed_fits - 0, or -EINVAL: what the tensor has, and what the teacher wants */
int teacher_feed_fits(const struct teacher_feed *feed, const struct teacher_tensor *tensor,
                      struct edl_error *error);

/* teacher_shape_write - "(3, 4)" or "(any, 4)", cut to size */
void teacher_shape_write(const uint64_t *dimensions, uint32_t n, char *ret, size_t size);

/* SPDX-License-Identifier: Apache-2.0 */
/* image.h - statements that are to be run, with copies of their parameters
 *
 * Recorded in the loop, played in a thread: one block of memory, which borrows nothing.
 * Used by: far/. Tests: tests/unit/test_store_far.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct edl_error;
struct store;

enum far_kind { FAR_NULL, FAR_NUMBER, FAR_REAL, FAR_TEXT };

/* A parameter. */
struct far_value {
    enum far_kind kind;
    int64_t number;
    double real;
    const char *text;
    void (*release)(void *text); /* NULL: it is borrowed */
};

struct image {
    char *bytes; /* owned */
    size_t size, room;
    size_t n_runs;
};

/* image_add - a run of the statement at that place (enum statement) with these parameters */
void image_add(struct image *image, int statement, const struct far_value *values, int n);

/* image_play - runs all on the store, in order; -ENOENT where one changes no row that has to */
int image_play(const struct image *image, struct store *store, struct edl_error *error);

void image_done(struct image *image);

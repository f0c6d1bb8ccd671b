/* SPDX-License-Identifier: Apache-2.0 */
/* pollux.h - jobs of Pollux' applications as profiles */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct edl_error;
struct pollux_app;
struct profile;

/* pollux_profile_new - a job's physics with one batch; batch 0: at every epoch the one with the
 * best goodput. Takes one more reference of app. */
struct profile *pollux_profile_new(struct pollux_app *app, uint32_t batch);

/* The applications of a folder, each read when it is first asked for. */
struct pollux_shelf;

struct pollux_shelf *pollux_shelf_new(const char *dir);
struct pollux_shelf *pollux_shelf_free(struct pollux_shelf *shelf);

/* pollux_shelf_get - *ret: a new reference; adaptive: the batch is chosen anew, not this one
 * Errors: -EINVAL and what opening gives, naming the file and the remedy. */
int pollux_shelf_get(struct pollux_shelf *shelf, const char *name, uint64_t batch, bool adaptive,
                     struct profile **ret, struct edl_error *error);

/* pollux_profile_dir - the folder that it was read from, the first *ret_n characters of what is
 * returned; NULL: it is of another kind */
const char *pollux_profile_dir(const struct profile *profile, size_t *ret_n);

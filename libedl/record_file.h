/* SPDX-License-Identifier: Apache-2.0 */
/* record_file.h - the marks by which a file of a data set is known: its size, and when it was
 * changed last
 *
 * The program that cuts a file into tasks tells both with each of its chunks. So the first reader
 * on another machine knows another file. For record_index.c and record_reader.c; Python has the
 * same in python/edl/_file_facts.py. */
#pragma once

#include <stdint.h>
#include <sys/stat.h>

#include "libedl/edl/edl.h"
#include "shared/error.h"

/* record_file_mtime_us - never 0, which would say that it is not told */
uint64_t record_file_mtime_us(const struct stat *st);

/* record_file_check - -EIO: it is another file than the one that was cut, with what it was and is.
 * Copies may have lost the part of a second, by tar say: then whole seconds are compared. Of a
 * chunk that tells nothing 0. */
int record_file_check(const struct edl_chunk *chunk, const struct stat *st,
                      struct edl_error *error);

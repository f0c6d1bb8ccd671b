/* SPDX-License-Identifier: Apache-2.0 */
/* numbered_files.h - files PREFIX-00000, PREFIX-00001 and so on, which are made together
 *
 * Each appears whole under its name; those of a call that fails are removed. */
#pragma once

#include <stdint.h>

struct edl_error;

#define NUMBERED_FILES_MAX 1000000

/* numbered_path - new string */
char *numbered_path(const char *prefix, uint64_t i);

/* numbered_begin - makes the folder of the prefix, and its folders, where they are missing
 * -EEXIST: there are files of these names, which a pattern would take in. */
int numbered_begin(const char *prefix, struct edl_error *error);

/* numbered_remove - the first n */
void numbered_remove(const char *prefix, uint64_t n);

/* SPDX-License-Identifier: Apache-2.0 */
/* nearest.h - "did you mean ...?": the known word closest to a mistyped one */
#pragma once

#include <stddef.h>

/* nearest_distance - edits (insert, delete, replace, swap of neighbours; case counts nothing) from
 * a to b Words of more than 63 characters are compared by their first 63. */
unsigned int nearest_distance(const char *a, const char *b);

/* nearest_word - the known word with the fewest edits, or NULL when none is close (a third of the
 * word's length, at least 1). `known` has n pointers, NULL entries are skipped. The first wins a
 * tie. */
const char *nearest_word(const char *word, const char *const *known, size_t n);

/* SPDX-License-Identifier: Apache-2.0 */
/* glob_pattern.h - one pattern of a .gitignore file against one path
 *
 * "?" is a byte, "*" any number of them, "[a-z]" one of a set; none of these is a slash. Between
 * slashes "**" is any number of folders. "\" takes the next byte as it is. A malformed pattern (a
 * set without its end, "\" at the end) matches nothing, as in git.
 *
 * A pattern becomes a list of tokens, and a path is matched by the set of tokens that may come
 * next: one step for each byte of the path and token, with any pattern. So no pattern can hang.
 * Pure.
 *
 * Used by: ignore_rules.c. Tests: tests/unit/test_ignore_rules.c, tests/fuzz/fuzz_ignore_rules.c.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define GLOB_BYTES_MAX 4096 /* of a pattern; no path is longer */

struct glob_pattern;

/* glob_pattern_special - how many bytes come before the first of * ? [ \, which may be all */
size_t glob_pattern_special(const char *text, size_t size);

/* glob_pattern_new - of size bytes, at most GLOB_BYTES_MAX; owned by the caller */
struct glob_pattern *glob_pattern_new(const char *text, size_t size);

bool glob_pattern_matches(const struct glob_pattern *pattern, const char *path, size_t size);

struct glob_pattern *glob_pattern_free(struct glob_pattern *pattern); /* NULL, always */

/* SPDX-License-Identifier: Apache-2.0 */
/* workspace_tell.h - what a person is told while a folder is packed
 *
 * Used by: edl-workspace. Tests: tests/unit/test_workspace_walk.c,
 * tests/integration/264-ignored.sh. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "shared/workspace_pack.h"

/* workspace_tell_out - "left out 1,204 files, 310 MiB, by .gitignore"; buffer is always
 * terminated, "" when nothing was left out. Returns buffer. */
const char *workspace_tell_out(const struct workspace_scan *scan, char *buffer, size_t size);

/* workspace_tell_notes - what was left out, what no archive takes, a virtual environment and what
 * it needs; a line each on standard error. listed: the paths themselves are shown as well */
void workspace_tell_notes(const struct workspace_scan *scan, bool listed);

/* workspace_tell_watch - for workspace_pack: shows on standard error how far it is, where that is a
 * terminal; and says so when one of the wanted paths is left out, which a job is about to start.
 * wanted: ends with NULL; borrowed as long as the watch is used */
struct pack_watch workspace_tell_watch(char *const *wanted);

/* SPDX-License-Identifier: Apache-2.0 */
/* workspace_sweep.h - removes the copies of workspaces that no process needs any more
 *
 * What processes left in them is not believed: no link is followed, no mount is entered, and depth
 * and number cost neither stack nor descriptors. Takes as long as there is to remove; run by
 * edl-workspace, never in the agent. Tests: tests/unit/test_workspace_sweep.c. */
#pragma once

#include <stddef.h>

struct edl_error;

/* workspace_sweep - in copies_dir removes whatever does not belong to a folder of processes_dir
 * An entry KEY or KEY.archive belongs to the process folder KEY. Goes on after a failure, which is
 * reported; the next sweep tries again. */
int workspace_sweep(const char *copies_dir, const char *processes_dir, size_t *ret_removed,
                    struct edl_error *error);

/* SPDX-License-Identifier: Apache-2.0 */
/* workspace_sweep.h - removes the copies of workspaces that no process needs any more, some of them
 * only after a while: files that its job wrote into one can be fetched until then
 *
 * Files that processes left in them are not believed: no link is followed, no mount is entered, and
 * depth and number cost neither stack nor descriptors. Takes as long as there is to remove; run by
 * edl-workspace, never in the agent. Tests: tests/unit/test_workspace_sweep.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SWEEP_JOBS_MAX 1000 /* that are told to be over, at once */
#define SWEEP_KEEPS 9       /* exit status of edl-workspace sweep: some will have to go later */

struct edl_error;
struct kept_bounds;

/* workspace_remove - that file or folder of parent_fd, with all that is in it; 0 also when it is
 * not there */
int workspace_remove(int parent_fd, const char *name, struct edl_error *error);

/* workspace_sweep - in copies_dir removes whatever does not belong to a folder of processes_dir
 * An entry KEY or KEY.archive belongs to the process folder KEY. Goes on after a failure, which is
 * reported; the next sweep tries again. */
int workspace_sweep(const char *copies_dir, const char *processes_dir, size_t *ret_removed,
                    struct edl_error *error);

/* Private workspaces, of which only those go whose jobs are over: a job that waits goes on there.
 */
struct sweep_work {
    const char *dir;      /* NULL: none are looked at */
    const uint64_t *jobs; /* that are over */
    size_t n_jobs;
};

/* workspace_sweep_kept - the same, but a copy without a process folder, and a private workspace
 * whose job is over, stay within the bounds. NAME.ended beside it tells how large it is and since
 * when, in elapsed time of this node. *ret_kept: how many stay */
int workspace_sweep_kept(const char *copies_dir, const char *processes_dir,
                         const struct sweep_work *work, const struct kept_bounds *bounds,
                         size_t *ret_removed, size_t *ret_kept, struct edl_error *error);

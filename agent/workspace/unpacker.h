/* SPDX-License-Identifier: Apache-2.0 */
/* unpacker.h - edl-workspace as a child of a supervisor: the archive of a workspace into its folder
 *
 * It runs where the program will run, as whom the program will run, and before it: its time counts
 * for the process. Used by: supervise.c. Tests: tests/unit/test_unpacker.c. */
#pragma once

#include <jansson.h>

#include "agent/processes/child.h"

struct account;
struct edl_error;

/* unpacker_fork - order: its "unpack" says what; workspace: the folder, which is made, or which all
 * processes of the job share, if "unpack" names a slot
 * account: whose it will be, and who unpacks it; NULL: ours
 * *ret: as of child_fork; its status_fd has what it says when it fails */
int unpacker_fork(const json_t *order, const char *workspace, const struct account *account,
                  struct child *ret, struct edl_error *error);

/* unpacker_end - status: as from waitpid. 0, or why it failed; an archive that is damaged goes.
 * -ENOTDIR: the shared folder has no place on this node */
int unpacker_end(const json_t *order, struct child *child, int status, struct edl_error *error);

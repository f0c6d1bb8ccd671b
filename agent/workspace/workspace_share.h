/* SPDX-License-Identifier: Apache-2.0 */
/* workspace_share.h - an archive into the one folder that all processes of a job share on a node
 *
 * The first process unpacks it beside the folder and gives it its name when it is whole: so the
 * folder is never there half. Run by edl-workspace, with the rights of the job's account. Tests:
 * tests/unit/test_workspace_share.c. */
#pragma once

struct edl_error;

/* A program of its own says so with this status: the folder cannot be made or entered there. */
#define SHARE_EXIT_NO_PLACE 6

/* workspace_share - archive_fd, which must hash to sha256, into folder (absolute, see
 * shared_folder.h), which may be there already: then nothing is read of the archive
 * slot: by whose name it is unpacked; what an earlier one of the same slot left is removed first
 * The folder's file .edl-archive holds sha256, on the disk before the folder has its name.
 * -ENOTDIR with remedy: the folder above it is not there or closed, or the folder is no folder,
 * somebody else's, or of another archive. Other errors: those of workspace_unpack; nothing of it
 * stays then. */
int workspace_share(int archive_fd, const char *folder, const char *slot, const char *sha256,
                    struct edl_error *error);

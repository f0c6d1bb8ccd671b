/* SPDX-License-Identifier: Apache-2.0 */
/* workspaces_internal.h - the files of workspaces share these; nobody else includes it */
#pragma once

#include "scheduler/workspaces/workspaces.h"

#define WORKSPACE_SENDER_ATTRIBUTE "user.edl.sender"
#define WORKSPACE_OWNERS_ATTRIBUTE "user.edl.owners"
#define WORKSPACE_OWNERS_BYTES_MAX 2000  /* a file has one block for all its attributes */
#define WORKSPACE_COST_LEAST_BYTES 65536 /* of a quota, for a file, even an empty one */

/* workspaces_insert - the file is there under its name */
struct workspace *workspaces_insert(struct workspaces *workspaces, const char *sha256,
                                    uint64_t bytes, uint64_t wall_us);

/* workspaces_unlink - a file of the folder; its blocks are freed beside the loop; -errno */
int workspaces_unlink(struct workspaces *workspaces, const char *name);

/* workspaces_forget - the archive, and its file, if there is one; nothing of its rows */
void workspaces_forget(struct workspaces *workspaces, struct workspace *workspace);

/* workspaces_coming_bytes - of the uploads of a sender, as its quota counts them */
uint64_t workspaces_coming_bytes(const struct workspaces *workspaces, const char *sender);

/* workspaces_make_folder - if it could not be made at the start: there may be room by now */
int workspaces_make_folder(struct workspaces *workspaces, struct edl_error *error);

/* workspaces_is_stored_now - whether the worker is giving a file that name */
bool workspaces_is_stored_now(const struct workspaces *workspaces, const char *sha256);

/* workspace_write - all of it, to a file of an archive; -errno */
int workspace_write(int fd, const char *data, size_t size, struct edl_error *error);

/* SPDX-License-Identifier: Apache-2.0 */
/* layout.h - where the agent keeps things, and the folders of a process */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "agent/core/process_id.h"
#include "shared/text_format.h"

struct agent_options;
struct edl_error;

struct layout { /* all owned, absolute */
    char *node; /* set by the agent, once it knows */
    char *state_dir;
    char *runtime_dir; /* of process folders and lease; may be the state folder */
    char *processes_dir;
    char *logs_dir;
    char *work_dir;
    char *workspaces_dir;
    char *archives_dir; /* of workspaces; made when it is first needed, as is the next */
    char *copies_dir;   /* a workspace for each process that has one of an archive */
    char *tmp_dir;      /* a folder for each process, of which it is TMPDIR */
    char *output_dir;
    char *socket_path;
    char *lease_path;
    char *program_dir; /* folder of this program: its siblings are found here */
};

/* layout_init - makes the state folder (0700; as root 0711) and those below; on failure nothing is
 * kept in *ret */
int layout_init(const struct agent_options *options, struct layout *ret, struct edl_error *error);
void layout_done(struct layout *layout);

/* New strings, to be freed. */
char *layout_process_dir(const struct layout *layout, const struct process_id *id);
char *layout_copy_dir(const struct layout *layout, const struct process_id *id);
char *layout_tmp_dir(const struct layout *layout, const struct process_id *id);
char *layout_archive_link(const struct layout *layout, const struct process_id *id);
char *layout_log_path(const struct layout *layout, const struct process_id *id);

/* folder_make - path and missing parents, mode for those that are made */
int folder_make(const char *path, unsigned mode, struct edl_error *error);

/* folder_make_passable - one whose entries are others': of a root agent they cannot list it */
int folder_make_passable(const char *path, struct edl_error *error);

/* folder_absolute - makes it like folder_make; *ret: its resolved path, to be freed */
int folder_absolute(const char *path, unsigned mode, char **ret, struct edl_error *error);

/* folder_protected - -EPERM unless the folder is ours and nobody else may write to it */
int folder_protected(const char *path, struct edl_error *error);

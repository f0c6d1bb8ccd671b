/* SPDX-License-Identifier: Apache-2.0 */
/* folder_remover.h - removes process folders beside the agent
 *
 * A disk takes its time to remove a file: each of them waits for the journal, or for the blocks to
 * be discarded. Folders are removed in the order in which they came. */
#pragma once

#include <stdbool.h>
#include <systemd/sd-event.h>

struct folder_remover;
struct layout;

struct folder_remover_config {
    sd_event *event;
    const struct layout
        *layout; /* where edl-workspace is, and the folders of TMPDIR, which go too */
    /* removed - one of them is gone, as far as it could be removed */
    void (*removed)(bool has_copy, void *userdata);
    void *userdata;
};

struct folder_remover *folder_remover_new(const struct folder_remover_config *config);

/* folder_remover_free - waits a little for those that its helper has, and leaves the others to the
 * next agent; accepts NULL, returns NULL */
struct folder_remover *folder_remover_free(struct folder_remover *remover);

/* folder_remover_add - take_path is owned from now on. has_copy: of a workspace, which belongs to
 * no process once the folder is gone. */
void folder_remover_add(struct folder_remover *remover, char *take_path, bool has_copy);

/* SPDX-License-Identifier: Apache-2.0 */
/* gather_disks.c - the folders of the agent; none is made */
#include "agent/doctor/gather.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/layout.h"
#include "agent/options.h"
#include "shared/cleanup.h"
#include "shared/file_system.h"
#include "shared/macro.h"

/* nearest - path without what is not there yet */
static void nearest(const char *path, char ret[FACT_SIZE])
{
    (void)snprintf(ret, FACT_SIZE, "%s", path);
    while (access(ret, F_OK) == -1 && errno == ENOENT) {
        char *slash = strrchr(ret, '/');

        if (slash == NULL)
            (void)snprintf(ret, FACT_SIZE, ".");
        else if (slash == ret)
            ret[1] = '\0';
        else
            *slash = '\0';
    }
}

static struct disk_facts *add(struct doctor_facts *all, const char *name, const char *path)
{
    struct disk_facts *ret = &all->disks[all->n_disks++];
    struct file_system disk;

    *ret = (struct disk_facts){ .name = name };
    (void)snprintf(ret->path, sizeof ret->path, "%s", path);
    nearest(path, ret->looked_at);
    ret->failure = file_system_look(ret->looked_at, &disk);
    if (ret->failure < 0)
        return ret;
    ret->cannot_make = !streq(path, ret->looked_at) && access(ret->looked_at, W_OK | X_OK) == -1;
    memcpy(ret->type, disk.type, sizeof ret->type);
    ret->network = disk.network;
    ret->total_bytes = disk.total_bytes;
    ret->free_bytes = disk.free_bytes;
    ret->files = disk.files;
    ret->files_free = disk.files_free;
    return ret;
}

void gather_disks(const struct doctor_context *context, struct doctor_facts *all)
{
    const struct agent_options *options = context->options;
    struct edl_error error = { 0 };
    struct disk_facts *disk;

    all->workspace_cache_bytes = options->workspace_cache_bytes;
    disk = add(all, "state folder", options->state_dir);
    disk->outlives_boot = true;
    if (streq(disk->path, disk->looked_at) && folder_protected(disk->path, &error) < 0)
        (void)snprintf(disk->fault, sizeof disk->fault, "%.250s", error.text);
    if (options->runtime_dir != NULL)
        (void)add(all, "runtime folder", options->runtime_dir);
    if (options->output_dir != NULL)
        add(all, "output folder", options->output_dir)->may_be_network = true;
}

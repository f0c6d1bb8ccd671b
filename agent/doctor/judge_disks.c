/* SPDX-License-Identifier: Apache-2.0 */
/* judge_disks.c - the folders of an agent: where they lie, and how much room is left */
#include "agent/doctor/facts.h"

#include <stdio.h>

#include "shared/macro.h"

#define ROOM_LEAST_BYTES (UINT64_C(64) << 20) /* for records, sockets, a few logs */
#define ROOM_LITTLE_BYTES (UINT64_C(1) << 30)
#define FILES_LEAST 1000U

static const char *mebibytes(uint64_t bytes, char text[static 24])
{
    (void)snprintf(text, 24, "%llu MiB", (unsigned long long)(bytes >> 20));
    return text;
}

/* true: there is nothing more to say of it */
static bool judge_place(const struct disk_facts *disk, struct findings *ret)
{
    if (disk->failure < 0) {
        found_problem(ret, disk->name, "%s cannot be looked at: %s", disk->path,
                      strerror(-disk->failure));
        found_remedy(ret, "ls -ld %s; run this as the account of the agent", disk->looked_at);
    } else if (disk->cannot_make) {
        found_problem(ret, disk->name, "%s is not there, and you may not make it in %s", disk->path,
                      disk->looked_at);
        found_remedy(ret,
                     "run this as the account of the agent; or as root: mkdir -p %s, and chown",
                     disk->path);
    } else if (disk->fault[0] != '\0') {
        found_problem(ret, disk->name, "%s", disk->fault);
        found_remedy(ret, "chown root %s; chmod go-w %s (or the account of the agent)", disk->path,
                     disk->path);
    } else if (disk->network != NULL && !disk->may_be_network) {
        found_problem(ret, disk->name,
                      "%s is on %s: two machines could use it, and locks do not hold", disk->path,
                      disk->network);
        found_remedy(ret, "give the agent a folder on a disk of this machine, such as"
                          " /var/lib/edl/agent");
    } else {
        return false;
    }
    return true;
}

static void judge_room(const struct disk_facts *disk, uint64_t cache_bytes, struct findings *ret)
{
    char left[24], all[24], cache[24];

    (void)mebibytes(disk->free_bytes, left);
    (void)mebibytes(disk->total_bytes, all);
    if (disk->free_bytes < ROOM_LEAST_BYTES) {
        found_problem(ret, disk->name, "%s: only %s of %s are free", disk->path, left, all);
        found_remedy(ret, "du -xsh %s/*; make room, or give the agent a folder on a larger disk",
                     disk->looked_at);
    } else if (disk->files > 0 && disk->files_free < FILES_LEAST) {
        found_problem(ret, disk->name, "%s: there is room for %llu more file%s only", disk->path,
                      (unsigned long long)disk->files_free, PLURAL(disk->files_free));
        found_remedy(ret, "df -i %s; remove files there", disk->looked_at);
    } else if (cache_bytes > disk->total_bytes) {
        found_warning(ret, disk->name,
                      "%s: archives of workspaces may take %s, and all of it is %s", disk->path,
                      mebibytes(cache_bytes, cache), all);
        found_remedy(ret, "set workspace-cache: %lluMi in /etc/edl/agent.conf",
                     (unsigned long long)(disk->total_bytes / 2 >> 20));
    } else if (disk->free_bytes < ROOM_LITTLE_BYTES) {
        found_warning(ret, disk->name, "%s: %s of %s are free", disk->path, left, all);
        found_remedy(ret, "du -xsh %s/*; make room", disk->looked_at);
    } else {
        found_ok(ret, disk->name, "%s on %s, %s of %s free", disk->path,
                 disk->type[0] != '\0' ? disk->type : "a disk", left, all);
    }
}

void judge_disks(const struct doctor_facts *all, struct findings *ret)
{
    for (size_t i = 0; i < all->n_disks; i++) {
        const struct disk_facts *disk = &all->disks[i];
        bool keeps = disk->outlives_boot;

        if (judge_place(disk, ret))
            continue;
        judge_room(disk, keeps ? all->workspace_cache_bytes : 0, ret);
        if (keeps && streq(disk->type, "tmpfs")) {
            found_warning(ret, disk->name,
                          "%s is on a tmpfs: after the next start of the machine the node has to"
                          " join anew",
                          disk->path);
            found_remedy(ret, "give the agent a --state-dir on a disk");
        }
    }
}

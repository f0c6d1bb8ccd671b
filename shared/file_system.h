/* SPDX-License-Identifier: Apache-2.0 */
/* file_system.h - what a folder lies on, and whether that is another machine's
 *
 * SQLite's write-ahead log needs shared memory and locks that hold, and a sync that means it; an
 * agent's folder needs the lock. Network file systems give neither for sure, and two machines could
 * use the folder at once. Used by: scheduler, agent. Tests: tests/unit/test_file_system.c. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct file_system {
    char type[64];                    /* "ext4", "fuse.sshfs"; "": not known */
    const char *network;              /* static: what it is called; NULL: a local one */
    uint64_t total_bytes, free_bytes; /* free: for others than root */
    uint64_t files, files_free;       /* files 0: as many as there is room for */
};

/* file_system_look - 0 or -errno */
int file_system_look(const char *folder, struct file_system *ret);

/* file_system_network - the name of a network file system, or NULL for a local one
 * magic: statfs(2) f_type; type: of /proc/self/mountinfo ("fuse.sshfs"), looked at for FUSE only */
const char *file_system_network(uint64_t magic, const char *type);

/* file_system_type - the type of the device in a mountinfo (proc(5)); "" when it is not there */
void file_system_type(FILE *mountinfo, dev_t device, char *ret, size_t size);

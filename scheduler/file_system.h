/* SPDX-License-Identifier: Apache-2.0 */
/* file_system.h - what the state directory must not lie on
 *
 * SQLite's write-ahead log needs shared memory and locks that hold, and a sync that means it:
 * network file systems give neither for sure, and two machines could open the database at once.
 * Tests: tests/unit/test_file_system.c. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct edl_error;

/* file_system_check - -EINVAL with remedy when the folder is on a network file system */
int file_system_check(const char *folder, struct edl_error *error);

/* file_system_refused - the name of a network file system, or NULL for one that is taken
 * magic: statfs(2) f_type; type: of /proc/self/mountinfo ("fuse.sshfs"), looked at for FUSE only */
const char *file_system_refused(uint64_t magic, const char *type);

/* file_system_type - the type of the device in a mountinfo (proc(5)); "" when it is not there */
void file_system_type(FILE *mountinfo, dev_t device, char *ret, size_t size);

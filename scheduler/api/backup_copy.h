/* SPDX-License-Identifier: Apache-2.0 */
/* backup_copy.h - a backup of a database that schedulers share, made beside the loop
 *
 * A thread reads one state of all by a connection of its own, and writes a file of SQLite: the same
 * as a backup of any other scheduler, and good for the same restore.
 *
 * Used by: backup.c. Tests: tests/integration/273-restore-shared.sh. */
#pragma once

#include <systemd/sd-event.h>

struct backup_copy;
struct edl_error;

/* backup_copy_new - done is called in the loop when backup_copy_result knows how it went; it may
 * not free the copy. url and path are borrowed */
int backup_copy_new(sd_event *event, const char *url, const char *path,
                    void (*done)(void *userdata), void *userdata, struct backup_copy **ret,
                    struct edl_error *error);

/* backup_copy_result - once done was called: 0, path is whole; else as copy_all */
int backup_copy_result(const struct backup_copy *copy, struct edl_error *error);

/* backup_copy_free - one that is being made is given up; accepts NULL, returns NULL */
struct backup_copy *backup_copy_free(struct backup_copy *copy);

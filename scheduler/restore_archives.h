/* SPDX-License-Identifier: Apache-2.0 */
/* restore_archives.h - archives of workspaces that restored jobs need: a backup has none
 *
 * They are where the state is: in the folder beside a database of SQLite, in rows of PostgreSQL. A
 * restore elsewhere, or of an old backup, lacks some. They are named, so that their owners send
 * them again.
 *
 * Used by: scheduler/restore_backup.c, restore_shared.c, main.c. Tests:
 * tests/integration/273-restore-shared.sh. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct cluster;
struct copy_place;
struct scheduler_options;

struct needed_archive; /* in restore_archives.c */
struct needed_archives {
    struct needed_archive *all; /* owned; uthash */
};

/* needed_archives_add - those of jobs that are not over. needed_archives_in_folder,
 * needed_archives_in_rows - those that are there are needed no more */
void needed_archives_add(struct needed_archives *needed, const struct cluster *cluster);
void needed_archives_in_folder(struct needed_archives *needed,
                               const struct scheduler_options *options);
void needed_archives_in_rows(struct needed_archives *needed, struct copy_place *place);

/* needed_archives_text - for people, a line each, NULL: none is left; the caller frees it */
char *needed_archives_text(const struct needed_archives *needed, size_t *ret_n);
void needed_archives_done(struct needed_archives *needed);

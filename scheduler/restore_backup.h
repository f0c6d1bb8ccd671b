/* SPDX-License-Identifier: Apache-2.0 */
/* restore_backup.h - a backup takes the place of the database (edl-scheduler --restore)
 *
 * Tests: tests/unit/test_restore_backup.c, tests/integration/270-backup.sh. */
#pragma once

#include <stdint.h>

struct edl_error;
struct scheduler_options;

struct restored {
    char aside[4096]; /* where the former database is; "" there was none */
    uint64_t jobs, nodes;
    uint64_t first_number; /* jobs, incarnations and events are numbered from here on */
};

/* restore_backup - options.restore_file becomes the database of options.state_dir
 * No scheduler may run there. The copy is checked as a whole and brought to the newest schema
 * before anything is changed. A crash in the middle leaves a mark, and no scheduler starts before
 * the restore was repeated. Errors: -EEXIST a scheduler runs, EDL_ECORRUPT, -EINVAL not one of ours
 * or a newer one, -ENOSPC, -EIO. */
int restore_backup(const struct scheduler_options *options, struct restored *ret,
                   struct edl_error *error);

/* restore_check - -EINVAL with remedy when a restore was broken off */
int restore_check(const struct scheduler_options *options, struct edl_error *error);

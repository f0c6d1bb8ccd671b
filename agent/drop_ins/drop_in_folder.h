/* SPDX-License-Identifier: Apache-2.0 */
/* drop_in_folder.h - the drop-ins in one folder, in the order in which they run
 *
 * Used by: agent, edl-supervisor, edl-doctor. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "agent/core/drop_in.h"

struct agent_options;
struct edl_error;

#define DROP_INS_MAX 256 /* in one folder; what is beyond is an error */

struct drop_in_folder {
    char **names; /* owned; sorted as bytes */
    size_t n;
    char **ignored; /* owned; the rest of what lies there, but for "." and ".." */
    size_t n_ignored;
};

/* drop_in_folder_path - where they are by these options; "": nowhere */
const char *drop_in_folder_path(const struct agent_options *options, enum drop_in_kind kind);

/* drop_in_folder_read - path "": none; a folder that is not there has no drop-ins, too
 * drop_in_folder_done in any case. */
int drop_in_folder_read(const char *path, struct drop_in_folder *ret, struct edl_error *error);
void drop_in_folder_done(struct drop_in_folder *folder);

/* drop_in_is_program - whether it is a file that can be executed: others are passed over, as
 * run-parts(8) does */
bool drop_in_is_program(const char *path);

/* drop_in_check_trust - -EPERM with error and remedy unless file or folder, each folder above it,
 * and each link and folder on the way to it, is root's and nobody else's to change */
int drop_in_check_trust(const char *path, struct edl_error *error);

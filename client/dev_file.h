/* SPDX-License-Identifier: Apache-2.0 */
/* dev_file.h - where a running `edl dev` leaves word of itself, so that other verbs find it
 *
 * $XDG_RUNTIME_DIR/edl/dev.json, else /tmp/edl-<uid>/dev.json:
 * {"server","token_file","pid","state_dir","virtual_env"}. The folder is 0700 and ours, or it is
 * not used: in /tmp anybody may have made it before us. */
#pragma once

#include <jansson.h>

struct edl_error;

/* dev_file_folder - path of the folder (new string); not created, not checked */
char *dev_file_folder(void);

/* dev_file_read - the document, new reference. -ENOENT: no cluster runs; -EPERM: folder or file is
 * not ours */
int dev_file_read(json_t **ret, struct edl_error *error);

/* dev_file_claim - becomes the default cluster: takes the lock, whose descriptor is *ret_lock_fd
 * -EBUSY when another `edl dev` of this user holds it. Keep the descriptor open; closing it gives
 * the place up. */
int dev_file_claim(int *ret_lock_fd, struct edl_error *error);

/* dev_file_write / dev_file_remove - only while the lock is held; write is atomic */
int dev_file_write(const json_t *document, struct edl_error *error);
void dev_file_remove(void);

/* SPDX-License-Identifier: Apache-2.0 */
/* whole_file.h - small files that are there whole or not at all: keys, certificates, credentials
 *
 * Used by: scheduler, agent, client, trainer. Tests: tests/unit/test_certificate.c, and under loss
 * of power tests/integration/271-power.sh. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct edl_error;

#define WHOLE_FILE_MAX_BYTES (64 * 1024)

/* whole_file_read - the file as text; *ret is the caller's
 * secret: refused with -EPERM when others can read it. Follows no link. Errors: -ENOENT and what
 * else opening it gives, -E2BIG, -EINVAL (a NUL in it) */
int whole_file_read(const char *path, bool secret, char **ret, struct edl_error *error);

/* whole_file_write - replaces it; file and name are on disk when this returns */
int whole_file_write(const char *path, const char *text, unsigned mode, struct edl_error *error);

/* name_sync - what the last part of path means (a new file or folder, another one, none) is on disk
 * when this returns: a sync of the file itself does not promise that (fsync(2)). Blocks. Errors:
 * what opening and syncing its folder give */
int name_sync(const char *path, struct edl_error *error);
/* file_sync - the same, and what is in the file, which is no link */
int file_sync(const char *path, struct edl_error *error);

/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_known_files.h - files of known_hosts: read for a judgement, and a new key added
 *
 * Used by: ssh_session.c. Tests: tests/unit/test_ssh_known_files.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "client/ssh/ssh_config.h"
#include "client/ssh/ssh_known_hosts.h"

/* ssh_known_files_judge - begins a judgement and reads all files of config. known borrows its
 * paths. Errors: a file is there and cannot be read, or is larger than 16 MiB */
int ssh_known_files_judge(const struct ssh_config *config, const char *name, const uint8_t *key,
                          size_t size, struct ssh_known_hosts *known, struct edl_error *error);

/* ssh_known_files_add - a line at the end of the user's first file, as ssh writes it. Errors: what
 * opening and writing it give */
int ssh_known_files_add(const struct ssh_config *config, const char *name, const uint8_t *key,
                        size_t size, struct edl_error *error);

/* SPDX-License-Identifier: Apache-2.0 */
/* workspace_pack.h - a folder as an archive that workspace_unpack takes
 *
 * The same folder gives the same bytes, packed by anybody and with its entries in any order: in the
 * order of names, without owners, times in seconds. So an unchanged workspace is sent once. Files
 * that .edlignore and .gitignore leave out are not packed (workspace_walk.h), and those that a node
 * would refuse are refused here.
 *
 * Used by: edl-workspace. Tests: tests/unit/test_unpack.c. */
#pragma once

#include <stdint.h>

#include "shared/workspace_id.h"
#include "shared/workspace_scan.h"

struct edl_error;

struct packed {
    char sha256[WORKSPACE_HEX + 1];
    uint64_t bytes;             /* of the archive */
    struct workspace_scan scan; /* what the folder holds */
};

/* Told while it packs; each may be NULL. */
struct pack_watch {
    void (*on_bytes)(void *userdata, uint64_t packed_bytes, uint64_t all_bytes);
    void (*on_left)(void *userdata, const struct walk_entry *entry,
                    const struct walk_reason *reason);
    void *userdata;
};

/* workspace_pack - the folder path as a tar file, compressed with zstd, to archive_fd
 * watch: may be NULL. Errors: those of workspace_scan, -E2BIG also for an archive that is too large
 * or too small for what is in it, or what reading and writing gives. */
int workspace_pack(const char *path, int archive_fd, const struct unpack_limits *limits,
                   const struct pack_watch *watch, struct packed *ret, struct edl_error *error);

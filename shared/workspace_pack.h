/* SPDX-License-Identifier: Apache-2.0 */
/* workspace_pack.h - a folder as an archive that workspace_unpack takes
 *
 * The same folder gives the same bytes, whoever packs it and in whatever order its entries lie: in
 * the order of names, without owners, times in seconds. So an unchanged workspace is sent once.
 *
 * Used by: edl-workspace. Tests: tests/unit/test_unpack.c. */
#pragma once

#include <stdint.h>

#include "shared/workspace_id.h"

struct edl_error;

struct packed {
    char sha256[WORKSPACE_HEX + 1];
    uint64_t bytes;      /* of the archive */
    uint64_t entries;    /* in it */
    uint64_t left_out;   /* sockets, FIFOs and devices, which no archive takes */
    char left_path[200]; /* the first of them */
};

/* workspace_pack - the folder path as a tar file, compressed with zstd, to archive_fd
 * Errors: -EPERM (a symbolic link leads out of the folder), or what reading and writing gives. */
int workspace_pack(const char *path, int archive_fd, struct packed *ret, struct edl_error *error);

/* SPDX-License-Identifier: Apache-2.0 */
/* workspace_limits.h - how large a workspace may be, for the side that packs and the one that
 * unpacks
 *
 * A folder that no node would unpack is refused where it is packed, where its owner can do
 * something about it.
 *
 * Used by: workspace_scan.c, workspace_pack.c, workspace_unpack.c, workspace_walk.c, the agent's
 * file_walk.c, the scheduler's route. Tests:
 * tests/unit/test_unpack.c, tests/unit/test_workspace_walk.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WORKSPACE_ARCHIVE_BYTES_MAX ((uint64_t)4 << 30) /* that the scheduler takes */
#define WORKSPACE_PATH_BYTES_MAX 4000
#define WORKSPACE_DEPTH_MAX 200                    /* of folders; one is held open for each */
#define WORKSPACE_PIECE_BYTES ((size_t)128 * 1024) /* in which archives are read */

struct unpack_limits {
    uint64_t bytes;   /* of all files, as long as they look */
    uint64_t entries; /* of the archive */
    uint64_t ratio;   /* bytes unpacked for each byte of the archive; the first 64 MiB are free */
    const char
        *excess; /* static; what people are told of more; NULL: that no node would unpack it */
};

extern const struct unpack_limits unpack_limits_default;

/* workspace_is_bomb - whether so much came out of so much of an archive that it is refused */
bool workspace_is_bomb(const struct unpack_limits *limits, uint64_t unpacked_bytes,
                       uint64_t archive_bytes);

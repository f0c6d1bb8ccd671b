/* SPDX-License-Identifier: Apache-2.0 */
/* workspace_limits.c - how large a workspace may be */
#include "shared/workspace_limits.h"

#define FREE_BYTES (UINT64_C(64) << 20) /* before the ratio counts */

const struct unpack_limits unpack_limits_default = { .bytes = UINT64_C(64) << 30,
                                                     .entries = 200000,
                                                     .ratio = 200 };

bool workspace_is_bomb(const struct unpack_limits *limits, uint64_t unpacked_bytes,
                       uint64_t archive_bytes)
{
    return unpacked_bytes > FREE_BYTES && unpacked_bytes / limits->ratio > archive_bytes;
}

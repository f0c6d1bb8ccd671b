/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint.h - a server's table in a file
 *
 * 64-byte header {magic "EDLCKPT1", job id, updates, shard, shards, body bytes, CRC32 of the body,
 * CRC32 of the header before it} + body {DECLARE body as on the wire, values, accumulators},
 * little-endian. Written to a temporary file beside it, synced, renamed: a reader sees the old one
 * or the new one. */
#pragma once

#include <stdint.h>

struct edl_backend;
struct edl_error;
struct table;

/* checkpoint_write - returns 0 or a negative code; makes the folder (one level) if need be */
int checkpoint_write(const char *path, uint64_t job_id, struct table *table,
                     struct edl_error *error);

/* checkpoint_read - *ret is a new table; -ENOENT when there is no file; EDL_ECORRUPT when it is
 * damaged or of another job or shard (the text names the file) */
int checkpoint_read(const char *path, uint64_t job_id, uint32_t shard,
                    const struct edl_backend *backend, struct table **ret, struct edl_error *error);

/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint.h - a server's table in a file
 *
 * 64-byte header {magic "EDLCKPT2", job id, updates, samples, body bytes, shard, shards, bytes of
 * the declaration, optimizer, slots, CRC32 of the body, CRC32 of the header before it} + body
 * {DECLARE body as on the wire, values, the slots one after the other, u64 touched}, little-endian.
 * Written to a file beside it whose name no other writer uses, synced, read back, renamed: a reader
 * sees the old one or the new one, and the old one stays until the new one is whole. A server that
 * takes the place over sweeps what others left half written. So one that stood still meanwhile, and
 * goes on, finds no file to rename.
 *
 * "EDLCKPT3" says more, of a training whose members keep whole values: behind touched the body has
 * {u64 epoch, place, identity, u32 micro-batches, averages} and so many floats. A table alone is
 * still written as "EDLCKPT2", which a server of a release before can read. "EDLCKPT4" has bytes of
 * the training's own behind the averages, on its batches.
 *
 * "EDLCKPT1" is of releases whose gradients were means, with a rate and an L2 that meant something
 * else. Going on from it would train by other rules than it began with, so it is refused. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct edl_error;
struct one_writer;
struct pserver_config;
struct table;

/* The place of a training beside its values. */
struct checkpoint_more {
    uint64_t epoch, place;  /* records of the epoch that are trained */
    uint64_t identity;      /* of the last step: the generation that computed it */
    uint32_t micro_batches; /* of a step, V */
    uint32_t n_averages;
    float *averages; /* of batches, as batch_norm keeps, one parameter after the other; of a read
                        the caller's (free) */
    uint32_t n_choices;
    void *choices; /* bytes of the training's own; of a read the caller's (free) */
};

/* checkpoint_claim - the place of the server's checkpoint for this process, where nothing is half
 * written then; -EBUSY: another one writes there, by its name. As one_writer_claim. */
int checkpoint_claim(struct one_writer *writer, const struct pserver_config *config,
                     struct edl_error *error);

/* checkpoint_sweep - what was half written for the file is removed */
void checkpoint_sweep(const char *path);

/* checkpoint_next - the name of a file beside it that no other writer uses, for one that waits
 * until it may take the place of the checkpoint. -ENAMETOOLONG
 * checkpoint_next_sweep - those of others are removed, whole or half written; own: stays */
int checkpoint_next(const char *path, char *ret, size_t size, struct edl_error *error);
void checkpoint_next_sweep(const char *path, const char *own);

/* checkpoint_write - returns 0 or a negative code; makes the folder (one level) if need be
 * more: NULL, of a server. writer: who claimed the place; -EBUSY: another one has taken it over,
 * and what is there is its own. NULL: nobody else writes there */
int checkpoint_write(const char *path, uint64_t job_id, struct table *table,
                     const struct checkpoint_more *more, const struct one_writer *writer,
                     struct edl_error *error);

/* checkpoint_read - *ret is a new table; -ENOENT when there is no file; EDL_ECORRUPT when it is
 * damaged, of another job or shard, or of an older release (the text names the file)
 * ret_more: zeros of a file that has none; NULL: not wanted */
int checkpoint_read(const char *path, uint64_t job_id, uint32_t shard, struct table **ret,
                    struct checkpoint_more *ret_more, struct edl_error *error);

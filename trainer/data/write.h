/* SPDX-License-Identifier: Apache-2.0 */
/* write.h - a source as a folder: train and test files, and data.json that describes them
 *
 * train-NNNNN-of-NNNNN.recordio, test-00000-of-00001.recordio, data.json. The same source and
 * options give the same bytes. */
#pragma once

#include <jansson.h>
#include <stdint.h>

struct edl_error;
struct source;

#define WRITE_SHARDS_MAX 1024
#define WRITE_CHUNK_RECORDS_MAX 100000

struct write_options {
    const char *out;        /* folder to make; it does not exist, or is empty */
    const char *name;       /* of the source */
    uint64_t seed;          /* the source's; told in data.json */
    uint64_t shards;        /* train files */
    uint64_t chunk_records; /* samples in a chunk, nearly */
};

/* data_write - *ret: what data.json says, new reference
 * The folder appears whole or not at all. Errors: -ENOTEMPTY when out holds something, -EINVAL for
 * options out of range, -errno of the file system. */
int data_write(const struct write_options *options, struct source *source, json_t **ret,
               struct edl_error *error);

/* write_check - the options alone, before the source is opened; errors as data_write */
int write_check(const struct write_options *options, struct edl_error *error);

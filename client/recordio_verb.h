/* SPDX-License-Identifier: Apache-2.0 */
/* recordio_verb.h - what the actions of `edl recordio` share */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/options.h"
#include "shared/recordio.h"

struct recordio_options {
    struct common_options common;
    const char *out, *compress;
    uint64_t records, parts, chunk_bytes;
    bool lines, files, null, raw;
};

/* One call. The actions print what is wrong and return enum status. */
struct recordio_call {
    const struct recordio_options *options;
    char **paths; /* the arguments behind the action's name */
    size_t n_paths;
};

/* recordio_compressor_name - "none", "snappy", "gzip"; static */
const char *recordio_compressor_name(enum recordio_compressor compressor);

/* recordio_compressor_find - of its name; -EINVAL names those that there are */
int recordio_compressor_find(const char *name, enum recordio_compressor *ret,
                             struct edl_error *error);

int recordio_cat(const struct recordio_call *call);
int recordio_list(const struct recordio_call *call); /* `index` */
int recordio_check(const struct recordio_call *call);
int recordio_convert(const struct recordio_call *call);
int recordio_split(const struct recordio_call *call);

/* SPDX-License-Identifier: Apache-2.0 */
/* record_digest.h - the name of a data set, by which its processes tell it from another
 *
 * Python makes the same name of the same chunks (python/edl/_files.py), so that processes in both
 * languages agree about the data of one job. For record_index.c; tests:
 * tests/unit/test_libedl_records.c, tests/integration/319-records-c.sh. */
#pragma once

#include <stddef.h>

#include "libedl/edl/edl.h"

#define RECORD_DIGEST_TEXT_BYTES 65 /* 64 digits */

/* record_digest - SHA-256, in hex digits, of each chunk: path, offset, number of records, size of
 * the file and the second of its last change */
void record_digest(const struct edl_chunk *chunks, size_t n_chunks,
                   char ret[RECORD_DIGEST_TEXT_BYTES]);

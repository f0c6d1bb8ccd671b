/* SPDX-License-Identifier: Apache-2.0 */
/* record_format.h - files that are neither RecordIO nor a text, by their first bytes
 *
 * Their lines would be no records. python/edl/_formats.py has the same table. Pure. Tests:
 * tests/unit/test_libedl_records.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define RECORD_FORMAT_BLOCK (64u << 10) /* bytes that are looked at */

struct record_format {
    const char *name;    /* "a tar archive" */
    const char *instead; /* what to do */
};

/* record_format_of - of a file that begins with this block; NULL: none of those that are known */
const struct record_format *record_format_of(const uint8_t *block, size_t size,
                                             uint64_t file_bytes);

/* record_format_binary - of a file with zero bytes that is none of them */
extern const struct record_format record_format_binary;

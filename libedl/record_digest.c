/* SPDX-License-Identifier: Apache-2.0 */
/* record_digest.c - the name of a data set, by which its processes tell it from another */
#include "libedl/record_digest.h"

#include <inttypes.h>
#include <sha2.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include "shared/macro.h"

_Static_assert(RECORD_DIGEST_TEXT_BYTES == SHA256_DIGEST_STRING_LENGTH, "digits and their end");

void record_digest(const struct edl_chunk *chunks, size_t n_chunks,
                   char ret[RECORD_DIGEST_TEXT_BYTES])
{
    SHA2_CTX state;

    SHA256Init(&state);
    for (size_t i = 0; i < n_chunks; i++) {
        char numbers[128];
        int n =
            snprintf(numbers, sizeof numbers, "%" PRIu64 " %" PRIu32 " %" PRIu64 " %" PRIu64 "\n",
                     chunks[i].offset_bytes, chunks[i].n_records, chunks[i].file_bytes,
                     chunks[i].mtime_us / USEC_PER_SEC);

        /* with the NUL at its end, which no path has in it */
        SHA256Update(&state, (const uint8_t *)chunks[i].path, strlen(chunks[i].path) + 1);
        SHA256Update(&state, (const uint8_t *)numbers, (size_t)n);
    }
    (void)SHA256End(&state, ret);
}

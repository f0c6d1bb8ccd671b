/* SPDX-License-Identifier: Apache-2.0 */
/* late_snappy.c - the functions of libsnappy that `edl` calls (see late_library.h) */
#include <snappy-c.h>

#include "shared/late_library.h"

static struct late_library snappy = { .name = LIBSNAPPY_SONAME };

snappy_status snappy_compress(const char *input, size_t input_length, char *compressed,
                              size_t *compressed_length)
{
    return LATE(snappy, snappy_compress)(input, input_length, compressed, compressed_length);
}

snappy_status snappy_uncompress(const char *compressed, size_t compressed_length,
                                char *uncompressed, size_t *uncompressed_length)
{
    return LATE(snappy, snappy_uncompress)(compressed, compressed_length, uncompressed,
                                           uncompressed_length);
}

size_t snappy_max_compressed_length(size_t source_length)
{
    return LATE(snappy, snappy_max_compressed_length)(source_length);
}

snappy_status snappy_uncompressed_length(const char *compressed, size_t compressed_length,
                                         size_t *result)
{
    return LATE(snappy, snappy_uncompressed_length)(compressed, compressed_length, result);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_http_parse.c - any bytes as an HTTP answer: whole, and byte by byte with the same outcome */
#include <stdlib.h>
#include <string.h>

#include "shared/http_parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct http_parse whole, bytes;
    int r = 0, s;

    http_parse_init(&whole, false);
    http_parse_init(&bytes, false);
    s = http_parse_feed(&whole, (const char *)data, size);
    for (size_t i = 0; r == 0 && i < size; i++)
        r = http_parse_feed(&bytes, (const char *)data + i, 1);
    if (r == 0)
        r = http_parse_end(&bytes);
    if (s == 0)
        s = http_parse_end(&whole);
    if (r != s ||
        (r == 1 && (whole.status != bytes.status || whole.body_size != bytes.body_size ||
                    (whole.body_size > 0 && memcmp(whole.body, bytes.body, whole.body_size) != 0))))
        abort();
    http_parse_clear(&whole);
    http_parse_clear(&bytes);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* utf8.c - well-formed UTF-8 as in table 3-7 of the Unicode standard; everything else is replaced
 */
#include "agent/logs/utf8.h"

#include <string.h>

static const char replacement[] = "\xEF\xBF\xBD"; /* U+FFFD */

/* sequence - length of the well-formed character at p; 0: none; -1: could become one with more
 * bytes */
static int sequence(const unsigned char *p, size_t n)
{
    unsigned char low = 0x80, high = 0xBF; /* of the second byte */
    size_t length;

    if (p[0] < 0x80)
        return p[0] != 0;
    if (p[0] < 0xC2 || p[0] > 0xF4)
        return 0;
    length = p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : 4;
    if (p[0] == 0xE0)
        low = 0xA0; /* shorter forms exist */
    else if (p[0] == 0xED)
        high = 0x9F; /* surrogates */
    else if (p[0] == 0xF0)
        low = 0x90;
    else if (p[0] == 0xF4)
        high = 0x8F; /* beyond U+10FFFF */
    for (size_t i = 1; i < length; i++) {
        if (i >= n)
            return -1;
        if (p[i] < low || p[i] > high)
            return 0;
        low = 0x80;
        high = 0xBF;
    }
    return (int)length;
}

size_t utf8_sanitise(const char *in, size_t n, bool last, char *out, size_t *ret_size)
{
    size_t used = 0;
    size_t size = 0;

    while (used < n) {
        int length = sequence((const unsigned char *)in + used, n - used);

        if (length < 0 && !last)
            break;
        if (length > 0) {
            (void)memcpy(out + size, in + used, (size_t)length);
            size += (size_t)length;
            used += (size_t)length;
        } else {
            (void)memcpy(out + size, replacement, sizeof replacement - 1);
            size += sizeof replacement - 1;
            used++;
        }
    }
    *ret_size = size;
    return used;
}

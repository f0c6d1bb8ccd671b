/* SPDX-License-Identifier: Apache-2.0 */
/* hex.c - bytes as lower-case hexadecimal digits, and back */
#include "shared/hex.h"

#include <errno.h>
#include <string.h>

static const char digits[] = "0123456789abcdef";

void hex_encode(const void *bytes, size_t n, char *ret)
{
    const uint8_t *from = bytes;

    for (size_t i = 0; i < n; i++) {
        *ret++ = digits[from[i] >> 4];
        *ret++ = digits[from[i] & 15];
    }
    *ret = '\0';
}

static int value_of(char digit)
{
    const char *found = digit != '\0' ? strchr(digits, digit) : NULL;

    return found != NULL ? (int)(found - digits) : -EINVAL;
}

int hex_decode(const char *text, size_t n, uint8_t *ret)
{
    if (strlen(text) != 2 * n || strspn(text, digits) != 2 * n)
        return -EINVAL;
    for (size_t i = 0; i < n; i++)
        ret[i] = (uint8_t)(value_of(text[2 * i]) << 4 | value_of(text[2 * i + 1]));
    return 0;
}

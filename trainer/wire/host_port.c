/* SPDX-License-Identifier: Apache-2.0 */
/* host_port.c - see host_port.h */
#include "trainer/wire/host_port.h"

#include <errno.h>
#include <string.h>

#include "shared/parse.h"

#define DIGITS_SIZE 8

int host_port_parse(const char *text, size_t size, char *host, size_t host_size, uint16_t *ret_port)
{
    const char *colon = memrchr(text, ':', size);
    size_t used = colon != NULL ? (size_t)(colon - text) : 0;
    char digits[DIGITS_SIZE] = "";
    uint64_t port = 0;

    if (colon == NULL || size - used - 1 >= sizeof digits)
        return -EINVAL;
    memcpy(digits, colon + 1, size - used - 1);
    if (used >= 2 && text[0] == '[' && text[used - 1] == ']') {
        text++;
        used -= 2;
    }
    if (used == 0 || used >= host_size || parse_u64(digits, &port) < 0 || port > UINT16_MAX)
        return -EINVAL;
    memcpy(host, text, used);
    host[used] = '\0';
    *ret_port = (uint16_t)port;
    return 0;
}

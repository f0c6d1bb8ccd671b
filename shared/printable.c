/* SPDX-License-Identifier: Apache-2.0 */
/* printable.c - texts of other people's making that are to be shown */
#include "shared/printable.h"

#include <stdio.h>
#include <string.h>

/* control_size - bytes of the control character at text, of which size are there; 0: it is none */
static size_t control_size(const char *text, size_t size)
{
    unsigned char c = (unsigned char)text[0];

    if (c < ' ' || c == 0x7f)
        return 1;
    return size > 1 && c == 0xc2 && ((unsigned char)text[1] & 0xe0) == 0x80 ? 2 : 0;
}

bool printable_is(const char *text)
{
    for (size_t left = strlen(text); left > 0; text++, left--)
        if (control_size(text, left) > 0)
            return false;
    return true;
}

void printable_mask(char *text, size_t size, const char *keep)
{
    for (size_t i = 0; i < size; i++) {
        size_t n = control_size(text + i, size - i);

        if (n == 0 || (text[i] != '\0' && strchr(keep, text[i]) != NULL))
            continue;
        memset(text + i, '?', n);
    }
}

int printable_prefix(const char *text, size_t most)
{
    size_t n = strnlen(text, most);

    if (text[n] == '\0')
        return (int)n;
    while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80) /* it goes on with this byte */
        n--;
    return (int)n;
}

/* escape_byte - one byte of a control character; at most four characters and the end */
static size_t escape_byte(char byte, char escaped[5])
{
    static const char named[] = "\n\t\r", names[] = "ntr";
    const char *at = byte != '\0' ? strchr(named, byte) : NULL;

    if (at != NULL)
        return (size_t)snprintf(escaped, 5, "\\%c", names[at - named]);
    return (size_t)snprintf(escaped, 5, "\\x%02x", (unsigned)(unsigned char)byte);
}

size_t printable_escape(const char *text, char *buffer, size_t size)
{
    size_t used = 0, left = strlen(text);

    while (left > 0) {
        size_t n = control_size(text, left), length = 0;
        char piece[10];

        if (n == 0)
            piece[length++] = *text;
        for (size_t i = 0; i < n; i++)
            length += escape_byte(text[i], piece + length);
        if (used + length + 1 > size)
            break;
        memcpy(buffer + used, piece, length);
        used += length;
        n += n == 0;
        text += n;
        left -= n;
    }
    buffer[used] = '\0';
    return used;
}

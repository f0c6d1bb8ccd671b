/* SPDX-License-Identifier: Apache-2.0 */
/* printable.c - texts of other people's making that are to be shown */
#include "shared/printable.h"

#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "shared/macro.h"

enum { PIECE_MAX = 12 };

/* What is shown as nothing, or turns round what stands beside it (Unicode TR9, TR36): C0 and C1,
 * marks and embeddings of direction, separators of lines, what has no width, tags. In order. */
static const struct {
    uint32_t first, last;
} controls[] = {
    { 0x00, 0x1f },     { 0x7f, 0x9f },       { 0x061c, 0x061c }, { 0x180e, 0x180e },
    { 0x200b, 0x200f }, { 0x2028, 0x202e },   { 0x2060, 0x206f }, { 0xfeff, 0xfeff },
    { 0xfff9, 0xfffb }, { 0xe0000, 0xe007f },
};

/* character_size - of the character of UTF-8 at text, of which size bytes are there, and which one
 * it is; 1: ASCII, or a byte of no character */
static size_t character_size(const char *text, size_t size, uint32_t *ret)
{
    const unsigned char *in = (const unsigned char *)text;
    size_t n = in[0] > 0xf4 ? 1 : in[0] >= 0xf0 ? 4 : in[0] >= 0xe0 ? 3 : in[0] >= 0xc2 ? 2 : 1;

    *ret = in[0];
    if (n == 1 || n > size)
        return 1;
    *ret &= 0x7fU >> n;
    for (size_t i = 1; i < n; i++) {
        if ((in[i] & 0xc0) != 0x80) {
            *ret = in[0];
            return 1;
        }
        *ret = *ret << 6 | (in[i] & 0x3f);
    }
    return n;
}

/* control_size - bytes of the control character at text, of which size are there; 0: it is none */
static size_t control_size(const char *text, size_t size, uint32_t *ret)
{
    size_t n = character_size(text, size, ret);

    if (n == 1 && (unsigned char)text[0] >= 0x80)
        return 0;
    for (size_t i = 0; i < ELEMENTS(controls) && *ret >= controls[i].first; i++)
        if (*ret <= controls[i].last)
            return n;
    return 0;
}

bool printable_is(const char *text)
{
    uint32_t character;

    for (size_t left = strlen(text); left > 0; text++, left--)
        if (control_size(text, left, &character) > 0)
            return false;
    return true;
}

bool printable_is_utf8(const char *text)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 }; /* of so many bytes */
    uint32_t character;
    size_t n;

    for (size_t left = strlen(text); left > 0; text += n, left -= n) {
        n = character_size(text, left, &character);
        if ((n == 1 && character >= 0x80) || character < least[n] || character > 0x10ffff ||
            (character >= 0xd800 && character <= 0xdfff))
            return false;
    }
    return true;
}

void printable_mask(char *text, size_t size, const char *keep)
{
    uint32_t character;

    for (size_t i = 0; i < size; i++) {
        size_t n = control_size(text + i, size - i, &character);

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

/* escape - how the control character reads; piece: PIECE_MAX bytes */
static size_t escape(uint32_t character, char *piece)
{
    static const char named[] = "\n\t\r", names[] = "ntr";
    const char *at = character != 0 && character < 0x80 ? strchr(named, (int)character) : NULL;
    int n;

    if (at != NULL)
        n = snprintf(piece, PIECE_MAX, "\\%c", names[at - named]);
    else
        n = snprintf(piece, PIECE_MAX,
                     character < 0x80      ? "\\x%02" PRIx32
                     : character < 0x10000 ? "\\u%04" PRIx32
                                           : "\\U%08" PRIx32,
                     character);
    return (size_t)n;
}

/* piece_of - what stands for the character at text; *ret_size: of how many bytes it is */
static size_t piece_of(const char *text, size_t left, const char *keep, char *piece,
                       size_t *ret_size)
{
    uint32_t character;
    size_t n = control_size(text, left, &character);

    *ret_size = n > 0 ? n : 1;
    if (n > 0 && (text[0] == '\0' || strchr(keep, text[0]) == NULL))
        return escape(character, piece);
    piece[0] = text[0];
    return 1;
}

size_t printable_escape(const char *text, char *buffer, size_t size)
{
    size_t used = 0, left = strlen(text);

    while (left > 0) {
        char piece[PIECE_MAX];
        size_t n, length = piece_of(text, left, "", piece, &n);

        if (used + length + 1 > size)
            break;
        memcpy(buffer + used, piece, length);
        used += length;
        text += n;
        left -= n;
    }
    buffer[used] = '\0';
    return used;
}

void printable_write(FILE *out, const char *text, size_t size, const char *keep)
{
    while (size > 0) {
        char piece[PIECE_MAX];
        size_t n, length = piece_of(text, size, keep, piece, &n);

        (void)fwrite(piece, 1, length, out);
        text += n;
        size -= n;
    }
}

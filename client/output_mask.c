/* SPDX-License-Identifier: Apache-2.0 */
/* output_mask.c - see output_mask.h */
#include "client/output_mask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/macro.h"
#include "shared/printable.h"

#define ESCAPE '\x1b'
#define KEPT "\n\t\r"

/* What begins at a byte. */
enum kind { TEXT, COLOUR, UNFINISHED };

/* look_escape - ESC [ digits ; : m is a colour (SGR) */
static enum kind look_escape(const char *text, size_t size, size_t *ret_size)
{
    size_t n = 1;

    if (n < size && text[n] == '[')
        for (n++; n < size && strchr("0123456789;:", text[n]) != NULL && text[n] != '\0';)
            n++;
    *ret_size = 1;
    if (n == size && n < OUTPUT_MASK_HELD_MAX)
        return UNFINISHED;
    if (n < 2 || n >= OUTPUT_MASK_HELD_MAX || text[n] != 'm')
        return TEXT;
    *ret_size = n + 1;
    return COLOUR;
}

/* look_character - of UTF-8: whole, or a byte of none */
static enum kind look_character(const char *text, size_t size, size_t *ret_size)
{
    const unsigned char *in = (const unsigned char *)text;
    size_t whole = in[0] >= 0xf0 ? 4 : in[0] >= 0xe0 ? 3 : in[0] >= 0xc2 ? 2 : 1, n = 1;

    while (n < MIN_OF(whole, size) && (in[n] & 0xc0) == 0x80)
        n++;
    *ret_size = n == whole ? whole : 1;
    return n == size && n < whole ? UNFINISHED : TEXT;
}

static enum kind look(const char *text, size_t size, size_t *ret_size)
{
    return *text == ESCAPE ? look_escape(text, size, ret_size)
                           : look_character(text, size, ret_size);
}

char *output_mask_take(struct output_mask *mask, const void *data, size_t size, bool at_end,
                       size_t *ret_size)
{
    size_t left = mask->n_held + size, n;
    char *all = xcalloc(left + 1, 1), *text = all, *shown = NULL;
    FILE *out = open_memstream(&shown, ret_size);

    if (out == NULL)
        abort();
    memcpy(all, mask->held, mask->n_held);
    if (size > 0) /* data may be NULL */
        memcpy(all + mask->n_held, data, size);
    mask->n_held = 0;
    for (; left > 0; text += n, left -= n) {
        enum kind kind = look(text, left, &n);

        if (kind == UNFINISHED && !at_end) {
            memcpy(mask->held, text, left);
            mask->n_held = left;
            break;
        }
        if (kind == COLOUR)
            (void)fwrite(text, 1, n, out);
        else
            printable_write(out, text, n, KEPT);
    }
    (void)fclose(out);
    free(all);
    return shown;
}

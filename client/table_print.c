/* SPDX-License-Identifier: Apache-2.0 */
/* table_print.c - rows of text in columns as wide as their widest cell
 *
 * Two blanks between columns, the last column unpadded, no trailing blanks. */
#include "client/table_print.h"

#include <limits.h>
#include <locale.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "shared/macro.h"
#include "shared/printable.h"

#define COLUMNS_MAX 16

struct table {
    const char *const *headers; /* borrowed */
    size_t n_columns;
    uint32_t right;
    bool bare;
    char **cells; /* owned, row-major */
    size_t n_cells;
    size_t allocated;
};

struct table *table_new(const char *const *headers, uint32_t right)
{
    struct table *table = xcalloc(1, sizeof(*table));

    table->headers = headers;
    table->right = right;
    while (table->n_columns < COLUMNS_MAX && headers[table->n_columns] != NULL)
        table->n_columns++;
    return table;
}

void table_bare(struct table *table)
{
    table->bare = true;
}

struct table *table_free(struct table *table)
{
    if (table == NULL)
        return NULL;
    for (size_t i = 0; i < table->n_cells; i++)
        free(table->cells[i]);
    free(table->cells);
    free(table);
    return NULL;
}

void table_add(struct table *table, const char *format, ...)
{
    char *text = NULL;
    va_list ap;

    va_start(ap, format);
    if (vasprintf(&text, format, ap) < 0)
        abort();
    va_end(ap);
    printable_mask(text, strlen(text), "");
    if (table->n_cells == table->allocated) {
        table->allocated = MAX_OF(table->allocated * 2, (size_t)64);
        table->cells = xreallocarray(table->cells, table->allocated, sizeof(*table->cells));
    }
    table->cells[table->n_cells++] = text;
}

/* unicode - the locale that knows characters of any script, whatever that of the person is; NULL:
 * there is none. For good */
static locale_t unicode(void)
{
    static locale_t locale;

    if (locale == (locale_t)0)
        locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    return locale;
}

/* character_width - of the first character; *ret_size: its bytes. A byte that is no UTF-8 takes a
 * column for each byte */
static size_t character_width(const char *text, size_t *ret_size)
{
    mbstate_t state = { 0 };
    wchar_t character = 0;
    size_t size = mbrtowc(&character, text, strlen(text), &state);
    int width = size <= MB_LEN_MAX ? wcwidth(character) : 1;

    *ret_size = size > 0 && size <= MB_LEN_MAX ? size : 1;
    return width >= 0 ? (size_t)width : 1;
}

/* Columns on the screen: a character of Chinese or an emoji takes two, an accent of its own none.
 */
static size_t text_width(const char *text)
{
    size_t width = 0, size = 0;
    locale_t before;

    while ((*text & 0x80) == 0 && *text != '\0') {
        text++;
        width++;
    }
    if (*text == '\0' || unicode() == (locale_t)0)
        return width + strlen(text);
    before = uselocale(unicode());
    for (; *text != '\0'; text += size)
        width += character_width(text, &size);
    (void)uselocale(before);
    return width;
}

static void print_cell(const struct table *table, size_t column, const char *text, size_t width,
                       FILE *out)
{
    size_t used = text_width(text);
    int pad = used < width ? (int)(width - used) : 0;

    if (column > 0)
        (void)fputs("  ", out);
    if (table->right & (UINT32_C(1) << column))
        (void)fprintf(out, "%*s%s", pad, "", text);
    else
        (void)fprintf(out, "%s%*s", text, column + 1 < table->n_columns ? pad : 0, "");
    if (column + 1 == table->n_columns)
        (void)fputc('\n', out);
}

void table_print(const struct table *table, FILE *out)
{
    size_t width[COLUMNS_MAX] = { 0 };

    for (size_t i = 0; i < table->n_columns; i++)
        width[i] = table->bare ? 0 : text_width(table->headers[i]);
    for (size_t i = 0; i < table->n_cells; i++) {
        size_t *w = &width[i % table->n_columns];

        *w = MAX_OF(*w, text_width(table->cells[i]));
    }
    for (size_t i = 0; i < table->n_columns && !table->bare; i++)
        print_cell(table, i, table->headers[i], width[i], out);
    for (size_t i = 0; i < table->n_cells; i++)
        print_cell(table, i % table->n_columns, table->cells[i], width[i % table->n_columns], out);
}

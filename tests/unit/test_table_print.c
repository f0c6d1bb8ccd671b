/* SPDX-License-Identifier: Apache-2.0 */
/* test_table_print.c - rows of text in columns, with characters of any width */
#include <stdio.h>
#include <stdlib.h>

#include "client/table_print.h"
#include "shared/cleanup.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

TEST(test_table_print_aligns_and_cleans)
{
    static const char *const headers[] = { "N", "NAME", NULL };
    _cleanup_(cleanup_tablep) struct table *table = table_new(headers, 1);
    _cleanup_free_ char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    table_add(table, "%d", 7);
    table_add(table, "a\x1b[31m");
    table_add(table, "%d", 123);
    table_add(table, "b");
    table_print(table, out);
    (void)fclose(out);
    assert_string_equal(text, "  N  NAME\n  7  a?[31m\n123  b\n");
}

/* Other people's names of files and groups: wide, with accents of their own, from right to left,
 * and what is no UTF-8 at all. Whatever the locale, columns stand below each other. */
TEST(test_table_print_knows_how_wide_characters_are)
{
    static const char *const headers[] = { "NAME", "N", NULL };
    static const char *const names[] = { "\xe5\xae\x9f\xe9\xa8\x93", "e\xcc\x81t\xc3\xa9",
                                         "\xf0\x9f\x99\x82", "\xd9\x85\xd9\x87", "\xff\xe5" };
    _cleanup_(cleanup_tablep) struct table *table = table_new(headers, 0);
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    for (size_t i = 0; i < ELEMENTS(names); i++) {
        table_add(table, "%s", names[i]);
        table_add(table, "1");
    }
    table_print(table, out);
    (void)fclose(out);
    assert_string_equal(text, "NAME  N\n"
                              "\xe5\xae\x9f\xe9\xa8\x93  1\n"
                              "e\xcc\x81t\xc3\xa9   1\n"
                              "\xf0\x9f\x99\x82    1\n"
                              "\xd9\x85\xd9\x87    1\n"
                              "\xff\xe5    1\n");
    free(text);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* table_print.h - rows of text in columns as wide as their widest cell */
#pragma once

#include <stdint.h>
#include <stdio.h>

struct table;

/* table_new - headers: NULL-terminated, borrowed; right: bit i set = column i is aligned to the
 * right */
struct table *table_new(const char *const *headers, uint32_t right);
struct table *table_free(struct table *table);

/* table_bare - the line of the headers is not printed */
void table_bare(struct table *table);

/* table_add - one more cell (copied), left to right, row after row; control characters become '?',
 * so that nobody's job name can move another person's cursor */
void table_add(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));

void table_print(const struct table *table, FILE *out);

static inline void cleanup_tablep(struct table **table)
{
    (void)table_free(*table);
}

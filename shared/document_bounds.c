/* SPDX-License-Identifier: Apache-2.0 */
/* document_bounds.c - how many values a JSON text has, before anybody makes them */
#include "shared/document_bounds.h"

#include <stdbool.h>

/* Each value but the first follows an opening bracket or a comma. */
size_t json_values_at_most(const char *text, size_t size)
{
    bool in_text = false;
    size_t n = 1;

    for (size_t i = 0; i < size; i++) {
        char c = text[i];

        if (in_text && c == '\\')
            i++;
        else if (c == '"')
            in_text = !in_text;
        else if (!in_text)
            n += c == ',' || c == '[' || c == '{';
    }
    return n;
}

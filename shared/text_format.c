/* SPDX-License-Identifier: Apache-2.0 */
/* text_format.c - a new text by a format */
#include "shared/text_format.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

char *text_format(const char *format, ...)
{
    char *text = NULL;
    va_list ap;
    int n;

    va_start(ap, format);
    n = vasprintf(&text, format, ap);
    va_end(ap);
    if (n < 0)
        abort();
    return text;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* utf8.h - program output made safe for JSON */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define UTF8_GROWTH 3 /* one bad byte becomes three */

/* utf8_sanitise - copies in to out; invalid bytes and NUL become U+FFFD
 * last: nothing follows. Else an unfinished character at the end is left for the next call.
 * out: room for n * UTF8_GROWTH. Returns how much of in was used. Pure. */
size_t utf8_sanitise(const char *in, size_t n, bool last, char *out, size_t *ret_size);

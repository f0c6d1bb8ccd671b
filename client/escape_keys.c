/* SPDX-License-Identifier: Apache-2.0 */
/* escape_keys.c - see escape_keys.h */
#include "client/escape_keys.h"

void escape_keys_begin(struct escape_keys *keys)
{
    *keys = (struct escape_keys){ .at_start = true };
}

static bool ends_line(char c)
{
    return c == '\r' || c == '\n';
}

enum escape_wish escape_keys_take(struct escape_keys *keys, const char *typed, size_t size,
                                  size_t *at, char *ret, size_t *ret_size)
{
    *ret_size = 0;
    while (*at < size) {
        char c = typed[(*at)++];

        if (keys->tilde) {
            keys->tilde = false;
            if (c == '.')
                return ESCAPE_END;
            if (c == '?')
                return ESCAPE_HELP;
            ret[(*ret_size)++] = '~';
            keys->at_start = false;
            if (c == '~')
                continue;
        } else if (c == '~' && keys->at_start) {
            keys->tilde = true;
            continue;
        }
        ret[(*ret_size)++] = c;
        keys->at_start = ends_line(c);
    }
    return ESCAPE_NONE;
}

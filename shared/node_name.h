/* SPDX-License-Identifier: Apache-2.0 */
/* node_name.h - what can be the name of a node */
#pragma once

#include <stdbool.h>
#include <string.h>

#define NODE_NAME_MAX 63
#define NODE_NAME_RULE "a node's name has 1 to 63 letters, digits, '.', '-', '_'"

/* node_name_valid - whether a node can be called so; text is not NULL */
static inline bool node_name_valid(const char *text)
{
    size_t length =
        strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_");

    return length > 0 && length <= NODE_NAME_MAX && text[length] == '\0';
}

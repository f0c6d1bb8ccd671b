/* SPDX-License-Identifier: Apache-2.0 */
/* account_name.c - see account_name.h */
#include "shared/account_name.h"

#include <ctype.h>
#include <string.h>

bool account_name_valid(const char *name)
{
    size_t length = strlen(name);
    bool good = length <= ACCOUNT_NAME_MAX && (islower((unsigned char)name[0]) || name[0] == '_');

    for (const char *p = name; *p != '\0'; p++)
        good = good && (islower((unsigned char)*p) || isdigit((unsigned char)*p) || *p == '_' ||
                        *p == '-' || *p == '.');
    return good;
}

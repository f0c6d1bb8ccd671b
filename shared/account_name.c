/* SPDX-License-Identifier: Apache-2.0 */
/* account_name.c - see account_name.h */
#include "shared/account_name.h"

#include <string.h>

#include "shared/macro.h"
#include "shared/printable.h"

bool account_name_valid(const char *name)
{
    size_t length = strlen(name);

    return length >= 1 && length <= ACCOUNT_NAME_MAX && name[0] != '-' &&
           strpbrk(name, "/:") == NULL && !streq(name, ".") && !streq(name, "..") &&
           printable_is(name) && printable_is_utf8(name);
}

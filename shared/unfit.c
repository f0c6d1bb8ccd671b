/* SPDX-License-Identifier: Apache-2.0 */
/* unfit.c - see unfit.h */
#include "shared/unfit.h"

#include "shared/macro.h"

static const char *const words[] = {
    [UNFIT_NOT] = "",
    [UNFIT_NO_ACCOUNT] = "no-account",
    [UNFIT_ACCOUNT_REFUSED] = "account-refused",
    [UNFIT_ACCOUNT_DIFFERS] = "account-differs",
    [UNFIT_NO_WORKSPACE] = "no-workspace",
    [UNFIT_START_FAILED] = "start-failed",
    [UNFIT_DISK_FULL] = "disk-full",
    [UNFIT_NO_PROGRAM] = "no-program",
};
_Static_assert(ELEMENTS(words) == _UNFITS, "each has its word");

const char *unfit_to_string(enum unfit why)
{
    return words[why];
}

enum unfit unfit_from_string(const char *word)
{
    for (unsigned i = UNFIT_NOT + 1; word != NULL && unfit_is_refusal(i); i++)
        if (streq(words[i], word))
            return (enum unfit)i;
    return UNFIT_NOT;
}

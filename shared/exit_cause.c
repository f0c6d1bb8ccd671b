/* SPDX-License-Identifier: Apache-2.0 */
/* exit_cause.c - see exit_cause.h */
#include "shared/exit_cause.h"

#include <stddef.h>
#include <string.h>

#include "shared/macro.h"

static const char *const words[] = {
    [EXIT_CAUSE_NONE] = "",
    [EXIT_CAUSE_PROGRAM] = "program",
    [EXIT_CAUSE_STOPPED] = "stopped",
    [EXIT_CAUSE_LEASE] = "lease-ended",
    [EXIT_CAUSE_REBOOTED] = "node-rebooted",
    [EXIT_CAUSE_UNSEEN] = "unseen",
    [EXIT_CAUSE_STOOD_STILL] = "stood-still",
};
_Static_assert(ELEMENTS(words) == _EXIT_CAUSES, "each has its word");

const char *exit_cause_to_string(enum exit_cause cause)
{
    return words[cause];
}

enum exit_cause exit_cause_from_string(const char *word)
{
    for (unsigned i = 0; word != NULL && i < _EXIT_CAUSES; i++)
        if (streq(words[i], word))
            return (enum exit_cause)i;
    return EXIT_CAUSE_NONE;
}

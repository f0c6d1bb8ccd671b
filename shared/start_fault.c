/* SPDX-License-Identifier: Apache-2.0 */
/* start_fault.c - see start_fault.h */
#include "shared/start_fault.h"

#include <errno.h>
#include <string.h>

#include "shared/error.h"
#include "shared/macro.h"

static const char *const words[] = {
    [START_FAULT_NONE] = "",       [START_FAULT_JOB] = "job",
    [START_FAULT_NODE] = "node",   [START_FAULT_DISK] = "disk-full",
    [START_FAULT_PLACE] = "place", [START_FAULT_PROGRAM] = "program",
};
_Static_assert(ELEMENTS(words) == _START_FAULTS, "each has its word");

const char *start_fault_to_string(enum start_fault fault)
{
    return words[fault];
}

enum start_fault start_fault_from_string(const char *word, const char *reason)
{
    static const char before[] = "cannot start";

    if (word == NULL || *word == '\0')
        return reason != NULL && strncmp(reason, before, sizeof before - 1) == 0 ? START_FAULT_NODE
                                                                                 : START_FAULT_NONE;
    for (unsigned i = START_FAULT_NONE + 1; i < _START_FAULTS; i++)
        if (streq(words[i], word))
            return (enum start_fault)i;
    return START_FAULT_NONE;
}

enum start_fault start_fault_of_exec(int code)
{
    switch (code) {
    case -E2BIG:
        return START_FAULT_JOB;
    case -ENOMEM:
    case -EAGAIN:
    case -ENFILE:
    case -EMFILE:
    case -EIO:
        return START_FAULT_NODE;
    default:
        return START_FAULT_PROGRAM;
    }
}

enum start_fault start_fault_of_error(int code)
{
    switch (code) {
    case EDL_EBADSPEC:
        return START_FAULT_JOB;
    case -ECANCELED:
        return START_FAULT_NONE;
    case -ENOSPC:
    case -EDQUOT:
        return START_FAULT_DISK;
    default:
        return START_FAULT_NODE;
    }
}

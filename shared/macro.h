/* SPDX-License-Identifier: Apache-2.0 */
/* macro.h - small helpers that every part uses; no dependencies beyond libc */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ELEMENTS(array) (sizeof(array) / sizeof((array)[0]))
#define MIN_OF(a, b) ((a) < (b) ? (a) : (b))
#define MAX_OF(a, b) ((a) > (b) ? (a) : (b))

/* Behind the noun of n things: "%u job%s", "%u process%s". */
#define PLURAL(n) ((n) == 1 ? "" : "s")
#define PLURAL_ES(n) ((n) == 1 ? "" : "es")

#define USEC_PER_SEC UINT64_C(1000000)
#define USEC_PER_MSEC UINT64_C(1000)
#define NEVER_US UINT64_MAX /* a deadline that never comes */

/* Fixed-size allocations abort when memory is out (crash-only: state is on disk, the unit
 * restarts). Whatever is sized by somebody else is bounded before it comes here. */
static inline void *xcalloc(size_t n, size_t size)
{
    void *p = calloc(n ? n : 1, size ? size : 1);

    if (p == NULL)
        abort();
    return p;
}

static inline void *xreallocarray(void *old, size_t n, size_t size)
{
    void *p = reallocarray(old, n ? n : 1, size ? size : 1);

    if (p == NULL)
        abort();
    return p;
}

static inline char *xstrdup(const char *s)
{
    char *p = strdup(s);

    if (p == NULL)
        abort();
    return p;
}

static inline int streq(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

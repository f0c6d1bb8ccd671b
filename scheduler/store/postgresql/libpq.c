/* SPDX-License-Identifier: Apache-2.0 */
/* libpq.c - see libpq.h */
#include "scheduler/store/postgresql/libpq.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <threads.h>

#include "shared/error.h"
#include "shared/macro.h"

struct libpq libpq;

static once_flag once = ONCE_FLAG_INIT;
static char missing[200]; /* the loader's words; "": nothing is */

static const struct {
    const char *name;
    size_t at; /* in struct libpq */
} functions[] = {
#define XX(name) { #name, offsetof(struct libpq, name) },
    LIBPQ_FUNCTIONS(XX)
#undef XX
};

static void find_all(void)
{
    void *library = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL); /* never closed */
    void *symbol = library;

    for (size_t i = 0; symbol != NULL && i < ELEMENTS(functions); i++) {
        symbol = dlsym(library, functions[i].name);
        memcpy((char *)&libpq + functions[i].at, &symbol, sizeof symbol);
    }
    if (symbol == NULL)
        (void)snprintf(missing, sizeof missing, "%s", dlerror());
}

int libpq_load(struct edl_error *error)
{
    call_once(&once, find_all);
    if (missing[0] == '\0')
        return 0;
    (void)edl_error_set(error, -ENOENT, "the store is in PostgreSQL, but: %s", missing);
    return edl_error_remedy(error, "apt install edl-scheduler-postgresql");
}

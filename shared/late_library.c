/* SPDX-License-Identifier: Apache-2.0 */
/* late_library.c - libraries that are loaded when they are first called */
#include "shared/late_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

static _Noreturn void give_up(const struct late_library *library)
{
    (void)fflush(stdout); /* in the order in which things happened */
    (void)fprintf(stderr, "%s: %s\ntry: install the package that has %s\n",
                  program_invocation_short_name, dlerror(), library->name);
    _exit(1);
}

void *late_symbol(struct late_library *library, const char *name)
{
    void *symbol;

    if (library->handle == NULL)
        library->handle = dlopen(library->name, RTLD_NOW | RTLD_LOCAL);
    symbol = library->handle != NULL ? dlsym(library->handle, name) : NULL;
    if (symbol == NULL)
        give_up(library);
    return symbol;
}

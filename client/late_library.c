/* SPDX-License-Identifier: Apache-2.0 */
/* late_library.c - libraries that are loaded when they are first called */
#include "client/late_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <unistd.h>

#include "client/report.h"
#include "client/verb.h"
#include "shared/error.h"

static _Noreturn void give_up(const struct late_library *library)
{
    struct edl_error error = { 0 };

    (void)edl_error_set(&error, -ENOENT, "%s", dlerror());
    (void)edl_error_remedy(&error, "install the package that has %s", library->name);
    (void)report_error(&error);
    _exit(STATUS_FAILED);
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

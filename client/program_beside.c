/* SPDX-License-Identifier: Apache-2.0 */
/* program_beside.c - another program of the project, in the folder of this one */
#include "client/program_beside.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/report.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/error.h"

int program_path(const char *name, char **ret, struct edl_error *error)
{
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

    if (n == -1)
        return edl_error_errno(error, -errno, "finding the folder of this program");
    self[n] = '\0';
    *strrchr(self, '/') = '\0';
    *ret = text_format("%s/%s", self, name);
    return 0;
}

int program_become(const char *const argv[], const char *package, struct edl_error *error)
{
    _cleanup_free_ char *program = NULL;
    int r = program_path(argv[0], &program, error);

    if (r < 0)
        return r;
    (void)fflush(stdout);
    (void)execv(program, (char *const *)(uintptr_t)argv); /* why: it writes to none of them */
    r = edl_error_errno(error, -errno, "cannot start %s", program);
    (void)edl_error_remedy(error, "it comes with %s: apt-get install %s", package, package);
    return r;
}

/* add_options - as words, which are the caller's to free; returns how many */
static size_t add_options(const struct verb_options *read, const char **ret)
{
    size_t n = 0;

    for (size_t i = 0; i < read->table.n_rows; i++) {
        const char *text = read->given.text[i];
        bool flag = read->rows[i].kind == option_flag;

        if (text != NULL)
            ret[n++] =
                text_format("--%s%s%s", read->rows[i].name, flag ? "" : "=", flag ? "" : text);
    }
    return n;
}

int program_continue(const struct invocation *invocation, const char *name, const char *command,
                     const char *package)
{
    const struct option_words *words = &invocation->arguments;
    _cleanup_free_ const char **argv = xcalloc(OPTIONS_MAX + words->n_args + 4, sizeof *argv);
    struct edl_error error = { 0 };
    size_t n = 0, first, end;

    argv[n++] = name;
    if (command != NULL)
        argv[n++] = command;
    first = n;
    n += add_options(&invocation->read, argv + n);
    end = n;
    if (words->n_args > 0)
        argv[n++] = "--";
    for (size_t i = 0; i < words->n_args; i++)
        argv[n++] = words->args[i];
    (void)program_become(argv, package, &error);
    for (size_t i = first; i < end; i++)
        free((char *)(uintptr_t)argv[i]);
    return report_error(&error);
}

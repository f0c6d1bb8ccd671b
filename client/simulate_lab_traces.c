/* SPDX-License-Identifier: Apache-2.0 */
/* simulate_lab_traces.c - where the traces come from: files, importers */
#include <errno.h>

#include "client/simulate_lab.h"
#include "client/text.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "simulator/trace/pollux.h"
#include "simulator/trace/trace.h"

typedef int (*import_fn)(const char *path, const char *dir, bool adaptive, struct trace **ret,
                         struct edl_error *error);

static const struct importer {
    const char *name;
    import_fn import;
} importers[] = {
    { "pollux", pollux_import },
};

static const struct importer *importer_for(const char *text, const char **ret_dir)
{
    for (size_t i = 0; i < ELEMENTS(importers); i++) {
        size_t n = strlen(importers[i].name);

        if (strncmp(text, importers[i].name, n) == 0 && text[n] == '=' && text[n + 1] != '\0') {
            *ret_dir = text + n + 1;
            return &importers[i];
        }
    }
    return NULL;
}

static int read_one(const struct simulate_options *options, const char *path, bool adaptive,
                    struct trace **ret, struct edl_error *error)
{
    const char *dir = NULL;
    const struct importer *importer =
        options->import != NULL ? importer_for(options->import, &dir) : NULL;

    if (importer != NULL)
        return importer->import(path, dir, adaptive, ret, error);
    (void)edl_error_set(error, -EINVAL, "--import: \"%s\" is none",
                        options->import != NULL ? options->import : "");
    return edl_error_remedy(error, "pollux=DIR, the folder of its applications");
}

int lab_traces(const struct simulate_options *options, const struct arguments *arguments,
               bool adaptive, struct trace ***ret, size_t *ret_n, struct edl_error *error)
{
    size_t given = options->traces.n, n = given + arguments->n_args;
    struct trace **traces = xcalloc(n, sizeof(struct trace *));
    int r = 0;

    for (size_t i = 0; r == 0 && i < n; i++) {
        const char *path = i < given ? options->traces.values[i] : arguments->args[i - given];

        r = read_one(options, path, adaptive, &traces[i], error);
    }
    for (size_t i = 0; r < 0 && i < n; i++)
        (void)trace_free(traces[i]);
    if (r < 0) {
        free(traces);
        return r;
    }
    *ret = traces;
    *ret_n = n;
    return 0;
}

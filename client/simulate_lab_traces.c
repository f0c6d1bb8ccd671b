/* SPDX-License-Identifier: Apache-2.0 */
/* simulate_lab_traces.c - where traces come from and go to: files, importers, generators, --export
 */
#include <errno.h>

#include "client/simulate_lab.h"
#include "client/text.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "simulator/trace/generate.h"
#include "simulator/trace/import.h"
#include "simulator/trace/trace.h"
#include "simulator/trace/trace_file.h"

#define JOBS_DEFAULT 160
#define PER_HOUR_DEFAULT 20.0
#define PER_HOUR_MAX 1e6
#define ROUNDS_MAX 1000

static const struct importer {
    const char *name;
    int (*import)(const char *path, const struct import_options *options, struct trace **ret,
                  struct edl_error *error);
} importers[] = {
    { "pollux", pollux_import },
    { "elasticflow", elasticflow_import },
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

static int import_one(const struct simulate_options *options, const char *path, bool adaptive,
                      struct trace **ret, struct edl_error *error)
{
    struct import_options how = { .adaptive = adaptive, .seed = MAX_OF(options->seed, 1) };
    const struct importer *importer = importer_for(options->import, &how.dir);

    if (importer != NULL)
        return importer->import(path, &how, ret, error);
    (void)edl_error_set(error, -EINVAL, "--import: \"%s\" is none", options->import);
    return edl_error_remedy(error, "pollux=DIR, the folder of its applications, or "
                                   "elasticflow=DIR, the folder of its throughputs");
}

static int parse_rate(const char *text, double *ret, struct edl_error *error)
{
    char *end;

    *ret = PER_HOUR_DEFAULT;
    if (text == NULL)
        return 0;
    *ret = strtod(text, &end);
    if (end != text && *end == '\0' && *ret > 0 && *ret <= PER_HOUR_MAX)
        return 0;
    (void)edl_error_set(error, -EINVAL, "--rate: \"%s\" is no rate", text);
    return edl_error_remedy(error, "submissions per hour, more than 0 and at most %g",
                            PER_HOUR_MAX);
}

static int generate_one(const struct simulate_options *options, uint64_t round, struct trace **ret,
                        struct edl_error *error)
{
    struct generate_options how = {
        .kind = options->generate,
        .jobs = (uint32_t)(options->jobs > 0 ? options->jobs : JOBS_DEFAULT),
        .seed = MAX_OF(options->seed, 1) + round,
    };
    int r = parse_rate(options->rate, &how.per_hour, error);

    if (r == 0 && options->jobs > TRACE_JOBS_MAX)
        return edl_error_set(error, -EINVAL, "--jobs is at most %d", TRACE_JOBS_MAX);
    return r == 0 ? trace_generate(&how, ret, error) : r;
}

static int get_one(const struct simulate_options *options, const struct option_words *arguments,
                   size_t i, bool adaptive, struct trace **ret, struct edl_error *error)
{
    size_t given = options->traces.n;
    const char *path;

    if (options->generate != NULL)
        return generate_one(options, i, ret, error);
    path = i < given ? options->traces.values[i] : arguments->args[i - given];
    if (options->import != NULL)
        return import_one(options, path, adaptive, ret, error);
    return trace_read(path, adaptive, ret, error);
}

int lab_traces(const struct simulate_options *options, const struct option_words *arguments,
               bool adaptive, struct trace ***ret, size_t *ret_n, struct edl_error *error)
{
    size_t n = options->generate != NULL ? MAX_OF(options->rounds, 1)
                                         : options->traces.n + arguments->n_args;
    struct trace **traces;
    int r = 0;

    if (n > ROUNDS_MAX)
        return edl_error_set(error, -EINVAL, "%zu are too many traces, at most %d", n, ROUNDS_MAX);
    traces = xcalloc(n, sizeof(struct trace *));
    for (size_t i = 0; r == 0 && i < n; i++)
        r = get_one(options, arguments, i, adaptive, &traces[i], error);
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

int lab_write(const struct trace *trace, const char *path, struct edl_error *error)
{
    size_t bytes = strlen(path);
    FILE *file = fopen(path, "we");
    int r;

    if (file == NULL)
        return edl_error_errno(error, -errno, "%s cannot be written", path);
    r = trace_write(trace, bytes > 5 && streq(path + bytes - 5, ".json"), file, error);
    if (fclose(file) != 0 && r == 0)
        r = edl_error_errno(error, -errno, "%s cannot be written", path);
    return r;
}

int lab_export(const struct simulate_options *options, const struct option_words *arguments,
               struct edl_error *error)
{
    struct trace **traces = NULL;
    size_t n;
    int r = lab_traces(options, arguments, false, &traces, &n, error);

    if (r < 0)
        return r;
    if (n != 1)
        r = edl_error_set(error, -EINVAL, "--export writes one trace, not %zu", n);
    else
        r = lab_write(traces[0], options->export_to, error);
    for (size_t i = 0; i < n; i++)
        (void)trace_free(traces[i]);
    free(traces);
    return r;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* pollux_import.c - a workload of Pollux: name, time, application, num_replicas, batch_size */
#include <errno.h>
#include <inttypes.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "simulator/trace/csv.h"
#include "simulator/trace/import.h"
#include "simulator/trace/pollux.h"
#include "simulator/trace/profile.h"
#include "simulator/trace/trace.h"

enum column { NAME, TIME, APPLICATION, INSTANCES, BATCH, N_COLUMNS };

static const char *const columns[N_COLUMNS] = {
    [NAME] = "name",
    [TIME] = "time",
    [APPLICATION] = "application",
    [INSTANCES] = "num_replicas",
    [BATCH] = "batch_size",
};

struct importer {
    const struct import_options *options;
    struct pollux_shelf *shelf;
    struct csv *csv;
    size_t at[N_COLUMNS];
    struct edl_error *error;
};

static int find_columns(struct importer *importer)
{
    for (size_t i = 0; i < N_COLUMNS; i++) {
        int r = csv_column(importer->csv, columns[i], &importer->at[i], importer->error);

        if (r < 0)
            return r;
    }
    return 0;
}

static int import_row(struct importer *importer, size_t row, struct trace *trace)
{
    const struct csv *csv = importer->csv;
    struct profile *profile = NULL;
    struct trace_job *job;
    uint64_t instances = 0, batch = 0;
    double submit_s = 0;
    int r = csv_number(csv, row, importer->at[TIME], 0, 1e12, &submit_s, importer->error);

    if (r == 0)
        r = csv_count(csv, row, importer->at[INSTANCES], 1, 100000, &instances, importer->error);
    if (r == 0)
        r = csv_count(csv, row, importer->at[BATCH], 1, UINT32_MAX, &batch, importer->error);
    if (r < 0)
        return r;
    r = pollux_shelf_get(importer->shelf, csv_cell(csv, row, importer->at[APPLICATION]), batch,
                         importer->options->adaptive, &profile, importer->error);
    if (r < 0) {
        edl_error_prefix(importer->error, "%s line %" PRIu64 ": ", csv->name, csv->lines[row]);
        return r;
    }
    job = trace_add(trace);
    job->name = xstrdup(csv_cell(csv, row, importer->at[NAME]));
    job->family = xstrdup(profile->name);
    job->user = xstrdup("");
    job->submit_s = submit_s;
    job->batch = (uint32_t)batch;
    job->profile = profile;
    job->requested = (uint32_t)instances;
    job->min = 1;
    job->max = profile->max;
    return 0;
}

int pollux_import(const char *path, const struct import_options *options, struct trace **ret,
                  struct edl_error *error)
{
    struct importer importer = { .options = options, .error = error };
    struct trace *trace = NULL;
    int r = csv_read(path, &importer.csv, error);

    if (r < 0)
        return r;
    importer.shelf = pollux_shelf_new(options->dir);
    trace = trace_new(path);
    r = find_columns(&importer);
    for (size_t i = 0; r == 0 && i < importer.csv->n_rows; i++)
        r = import_row(&importer, i, trace);
    (void)pollux_shelf_free(importer.shelf);
    (void)csv_free(importer.csv);
    if (r < 0) {
        (void)trace_free(trace);
        return r;
    }
    trace_sort(trace);
    *ret = trace;
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* elasticflow_import.c - logs of clusters over tables of throughput (ElasticFlow, ASPLOS 2023) */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/parse.h"
#include "shared/random.h"
#include "simulator/trace/csv.h"
#include "simulator/trace/formula.h"
#include "simulator/trace/import.h"
#include "simulator/trace/profile.h"
#include "simulator/trace/trace.h"

#define BATCH_COLUMN "global_batch_size"

struct entry { /* a model with a batch */
    char *model;
    uint64_t batch;
    struct profile *profile;
    uint32_t fastest; /* count */
};

struct tables {
    struct entry *items;
    size_t n;
};

enum column { JOB, SUBMITTED, DURATION, INSTANCES, N_COLUMNS };

static const char *const columns[N_COLUMNS] = {
    [JOB] = "job_id",
    [SUBMITTED] = "submission_time",
    [DURATION] = "duration",
    [INSTANCES] = "num_gpu",
};

struct importer {
    const struct import_options *options;
    struct tables tables;
    struct csv *csv;
    size_t at[N_COLUMNS], model, batch;
    uint64_t random;
    struct edl_error *error;
};

static void tables_done(struct tables *tables)
{
    for (size_t i = 0; i < tables->n; i++) {
        free(tables->items[i].model);
        (void)profile_unref(tables->items[i].profile);
    }
    free(tables->items);
}

/* throughput - a cell that is empty, 0 or nan was not measured */
static int throughput(const struct csv *csv, size_t row, size_t column, double *ret,
                      struct edl_error *error)
{
    const char *cell = csv_cell(csv, row, column);
    char *end;

    *ret = strtod(cell, &end);
    if (cell[0] == '\0' || (*end == '\0' && isnan(*ret))) {
        *ret = 0;
        return 0;
    }
    return csv_number(csv, row, column, 0, 1e9, ret, error);
}

static int add_row(struct tables *tables, const struct csv *csv, size_t row, const char *model,
                   struct edl_error *error)
{
    uint32_t counts[CSV_MAX_COLUMNS];
    double rates[CSV_MAX_COLUMNS], best = 0;
    struct entry entry = { .model = NULL };
    size_t n = 0;
    int r = csv_count(csv, row, 0, 1, UINT32_MAX, &entry.batch, error);

    for (size_t c = 1; r == 0 && c < csv->n_columns; c++) {
        uint64_t count;

        if (parse_u64(csv->columns[c], &count) < 0 || count == 0 || count > 100000 ||
            (n > 0 && count <= counts[n - 1])) {
            (void)edl_error_set(error, -EINVAL, "%s line 1: \"%s\" is no number of GPUs", csv->name,
                                csv->columns[c]);
            return edl_error_remedy(error, BATCH_COLUMN ", then rising numbers: 1,2,4,8");
        }
        r = throughput(csv, row, c, &rates[n], error);
        if (r < 0 || rates[n] <= 0)
            continue;
        counts[n] = (uint32_t)count;
        entry.fastest = rates[n] > best ? counts[n] : entry.fastest;
        best = fmax(best, rates[n]);
        n++;
    }
    if (r < 0 || n == 0)
        return r;
    entry.model = xstrdup(model);
    entry.profile = profile_table_new(model, counts, rates, n);
    tables->items = xreallocarray(tables->items, tables->n + 1, sizeof(entry));
    tables->items[tables->n++] = entry;
    return 0;
}

/* check_batches - each once: jobs that name it get the first table that is found */
static int check_batches(const struct csv *csv, struct edl_error *error)
{
    _cleanup_free_ struct csv_key *keys = xcalloc(csv->n_rows, sizeof(*keys));
    int r = 0;

    for (size_t i = 0; r == 0 && i < csv->n_rows; i++) {
        keys[i].row = i;
        r = csv_count(csv, i, 0, 1, UINT32_MAX, &keys[i].values[0], error);
    }
    return r < 0 ? r
                 : csv_refuse_repeated(csv, keys, 0, BATCH_COLUMN,
                                       "one line for each " BATCH_COLUMN, error);
}

static int read_table(struct tables *tables, const char *dir, const char *file,
                      struct edl_error *error)
{
    _cleanup_(cleanup_csvp) struct csv *csv = NULL;
    char path[4096], model[256];
    int r;

    (void)snprintf(path, sizeof(path), "%s/%s", dir, file);
    (void)snprintf(model, sizeof(model), "%.*s", (int)strlen(file) - 4, file);
    r = csv_read(path, &csv, error);
    if (r == 0 && !streq(csv->columns[0], BATCH_COLUMN)) {
        (void)edl_error_set(error, -EINVAL, "%s line 1: its first column is \"%s\"", path,
                            csv->columns[0]);
        return edl_error_remedy(error, BATCH_COLUMN ", then numbers of GPUs: 1,2,4,8");
    }
    for (size_t i = 0; r == 0 && i < csv->n_rows; i++)
        r = add_row(tables, csv, i, model, error);
    return r < 0 ? r : check_batches(csv, error);
}

static int by_model(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = strcmp(x->model, y->model);

    if (order != 0)
        return order;
    return x->batch < y->batch ? -1 : x->batch > y->batch;
}

static int read_tables(struct tables *tables, const char *path, struct edl_error *error)
{
    _cleanup_closedir_ DIR *dir = opendir(path);
    const struct dirent *entry;

    if (dir == NULL) {
        (void)edl_error_errno(error, -errno, "%s", path);
        return edl_error_remedy(error, "elasticflow=DIR: a folder of MODEL.csv");
    }
    while ((entry = readdir(dir)) != NULL) {
        size_t n = strlen(entry->d_name);
        int r = n > 4 && streq(entry->d_name + n - 4, ".csv")
                    ? read_table(tables, path, entry->d_name, error)
                    : 0;

        if (r < 0)
            return r;
    }
    if (tables->n == 0) {
        (void)edl_error_set(error, -EINVAL, "%s has no table of throughput", path);
        return edl_error_remedy(error, "elasticflow=DIR: a folder of MODEL.csv");
    }
    qsort(tables->items, tables->n, sizeof(*tables->items), by_model);
    return 0;
}

/* measured - the largest count up to n; 0: none */
static uint32_t measured(const struct entry *entry, uint32_t n)
{
    uint32_t best = 0;

    for (size_t i = 0; i < entry->profile->n_counts && entry->profile->counts[i] <= n; i++)
        best = entry->profile->counts[i];
    return best;
}

/* as_told - the log names a model, and maybe a batch; NULL: the error is set */
static const struct entry *as_told(const struct importer *importer, size_t row)
{
    const struct csv *csv = importer->csv;
    const char *model = csv_cell(csv, row, importer->model);
    uint64_t batch = 0;

    if (importer->batch != CSV_NO_COLUMN &&
        csv_count(csv, row, importer->batch, 1, UINT32_MAX, &batch, importer->error) < 0)
        return NULL;
    for (size_t i = 0; i < importer->tables.n; i++) {
        const struct entry *entry = &importer->tables.items[i];

        if (streq(entry->model, model) && (batch == 0 || entry->batch == batch))
            return entry;
    }
    (void)csv_refuse(csv, row, importer->model, "was not measured with that batch",
                     "a model and batch of --import elasticflow=DIR", importer->error);
    return NULL;
}

/* drawn - one that was measured with so many GPUs; each has the same chance */
static const struct entry *drawn(struct importer *importer, uint32_t instances)
{
    size_t fits = 0, at;

    for (size_t i = 0; i < importer->tables.n; i++)
        fits += measured(&importer->tables.items[i], instances) > 0;
    at = fits > 0 ? random_below(&importer->random, fits) : 0;
    for (size_t i = 0; i < importer->tables.n; i++)
        if (measured(&importer->tables.items[i], instances) > 0 && at-- == 0)
            return &importer->tables.items[i];
    (void)edl_error_set(importer->error, -EINVAL, "no model was measured with %u GPUs or fewer",
                        instances);
    return NULL;
}

static double rate_of(const struct entry *entry, uint32_t n)
{
    return 1 / profile_pace_of(entry->profile, n, UINT32_MAX / 2, NULL)->step_s;
}

static int import_row(struct importer *importer, size_t row, struct trace *trace)
{
    const struct csv *csv = importer->csv;
    const struct entry *entry;
    struct trace_job *job;
    uint64_t instances = 0;
    double submit_s = 0, duration_s = 0;
    int r = csv_number(csv, row, importer->at[SUBMITTED], 0, 1e12, &submit_s, importer->error);

    if (r == 0)
        r = csv_number(csv, row, importer->at[DURATION], 0, 1e12, &duration_s, importer->error);
    if (r == 0)
        r = csv_count(csv, row, importer->at[INSTANCES], 1, 100000, &instances, importer->error);
    if (r < 0)
        return r;
    entry = importer->model != CSV_NO_COLUMN ? as_told(importer, row)
                                             : drawn(importer, (uint32_t)instances);
    if (entry == NULL)
        return -EINVAL;
    job = trace_add(trace);
    job->name = xstrdup(csv_cell(csv, row, importer->at[JOB]));
    job->family = xstrdup(entry->model);
    job->user = xstrdup("");
    job->submit_s = submit_s;
    job->profile = profile_ref(entry->profile);
    job->requested = MAX_OF(measured(entry, (uint32_t)instances), entry->profile->min);
    job->min = entry->profile->min;
    job->max = MAX_OF(entry->fastest, job->requested);
    job->batch = (uint32_t)entry->batch;
    /* what takes no time still takes a moment: 1 ms */
    job->work_steps = fmax(duration_s, 1e-3) * rate_of(entry, job->requested);
    return 0;
}

int elasticflow_import(const char *path, const struct import_options *options, struct trace **ret,
                       struct edl_error *error)
{
    struct importer importer = { .options = options, .random = options->seed, .error = error };
    struct trace *trace = NULL;
    int r = csv_read(path, &importer.csv, error);

    if (r < 0)
        return r;
    r = read_tables(&importer.tables, options->dir, error);
    for (size_t i = 0; r == 0 && i < N_COLUMNS; i++)
        r = csv_column(importer.csv, columns[i], &importer.at[i], error);
    importer.model = csv_find(importer.csv, "model_name");
    importer.batch = csv_find(importer.csv, "batch_size");
    trace = trace_new(path);
    for (size_t i = 0; r == 0 && i < importer.csv->n_rows; i++)
        r = import_row(&importer, i, trace);
    tables_done(&importer.tables);
    (void)csv_free(importer.csv);
    if (r < 0) {
        (void)trace_free(trace);
        return r;
    }
    trace_sort(trace);
    *ret = trace;
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* pollux_files.c - an application's folder: validation-*.csv, and the conclusions from all its
 * files */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/parse.h"
#include "simulator/trace/csv.h"
#include "simulator/trace/mesh.h"
#include "simulator/trace/pollux_app.h"
#include "simulator/trace/pollux_files.h"

#define EPOCHS_MAX 1000000

/* What the authors' simulator sets by hand; all else follows from the files. */
static const struct limits {
    const char *name;
    uint32_t epochs, max_local;
} limits[] = {
    { "bert", 2, 0 },      { "cifar10", 100, 0 },    { "ncf", 10, 0 },
    { "imagenet", 90, 0 }, { "deepspeech2", 80, 0 }, { "yolov3", 50, 8 },
};

static void free_run(struct pollux_run *run)
{
    free(run->progress);
    free(run->iteration);
    free(run->grad_sqr);
    free(run->grad_var);
}

struct pollux_app *pollux_app_unref(struct pollux_app *app)
{
    if (app == NULL || --app->refs > 0)
        return NULL;
    for (size_t i = 0; i < app->n_runs; i++)
        free_run(&app->runs[i]);
    for (size_t i = 0; i < app->n_curves; i++) {
        free(app->curves[i].placement);
        free(app->curves[i].batch);
        free(app->curves[i].step_s);
        free(app->curves[i].sync_s);
    }
    free(app->runs);
    free(app->curves);
    free(app->points);
    free(app->values);
    (void)mesh_free(app->mesh);
    free(app->bounds);
    free(app->name);
    free(app->folder);
    free(app);
    return NULL;
}

int pollux_csv_open(const struct pollux_app *app, const char *file, struct csv **ret,
                    struct edl_error *error)
{
    char path[4096];
    int r;

    (void)snprintf(path, sizeof(path), "%s/%s", app->folder, file);
    r = csv_read(path, ret, error);
    if (r == -ENOENT)
        (void)edl_error_remedy(error, "pollux=DIR: a folder with one folder per application");
    return r;
}

/* numbers - all of a column, as a new array */
static int numbers(const struct csv *csv, const char *column, double min, double **ret,
                   struct edl_error *error)
{
    double *values = xcalloc(csv->n_rows, sizeof(*values));
    size_t at;
    int r = csv_column(csv, column, &at, error);

    for (size_t i = 0; r == 0 && i < csv->n_rows; i++)
        r = csv_number(csv, i, at, min, 1e30, &values[i], error);
    if (r < 0) {
        free(values);
        return r;
    }
    free(*ret);
    *ret = values;
    return 0;
}

static int read_run(struct pollux_app *app, const char *file, uint32_t batch,
                    struct edl_error *error)
{
    _cleanup_(cleanup_csvp) struct csv *csv = NULL;
    struct pollux_run *run;
    int r = pollux_csv_open(app, file, &csv, error);

    if (r < 0)
        return r;
    app->runs = xreallocarray(app->runs, app->n_runs + 1, sizeof(*app->runs));
    run = &app->runs[app->n_runs++];
    *run = (struct pollux_run){ .batch = batch, .n = csv->n_rows };
    r = csv->n_rows > 0 ? 0 : csv_refuse_no_rows(csv, "a line for each epoch", error);
    if (r == 0)
        r = numbers(csv, "progress", 0, &run->progress, error);
    if (r == 0)
        r = numbers(csv, "iteration", 0, &run->iteration, error);
    if (r == 0)
        r = numbers(csv, "grad_sqr", 0, &run->grad_sqr, error);
    if (r == 0)
        r = numbers(csv, "grad_var", 0, &run->grad_var, error);
    return r;
}

/* batch_of - of a name such as validation-384.csv; 0: another file */
static uint32_t batch_of(const char *file)
{
    static const char before[] = "validation-", after[] = ".csv";
    size_t n = strlen(file);
    char digits[16];
    uint64_t batch;

    if (n <= sizeof(before) + sizeof(after) - 2 || n > sizeof(digits) + sizeof(before) ||
        strncmp(file, before, sizeof(before) - 1) != 0 ||
        !streq(file + n - (sizeof(after) - 1), after))
        return 0;
    (void)snprintf(digits, sizeof(digits), "%.*s",
                   (int)(n - (sizeof(before) - 1) - (sizeof(after) - 1)),
                   file + sizeof(before) - 1);
    return parse_u64(digits, &batch) == 0 && batch <= POLLUX_BATCH_MAX ? (uint32_t)batch : 0;
}

static int by_batch(const void *a, const void *b)
{
    const struct pollux_run *x = a, *y = b;

    return x->batch < y->batch ? -1 : x->batch > y->batch;
}

static int read_runs(struct pollux_app *app, struct edl_error *error)
{
    _cleanup_closedir_ DIR *dir = opendir(app->folder);
    const struct dirent *entry;

    if (dir == NULL) {
        (void)edl_error_errno(error, -errno, "%s", app->folder);
        return edl_error_remedy(error, "pollux=DIR: a folder with one folder per application");
    }
    while ((entry = readdir(dir)) != NULL) {
        uint32_t batch = batch_of(entry->d_name);
        int r = batch > 0 ? read_run(app, entry->d_name, batch, error) : 0;

        if (r < 0)
            return r;
    }
    if (app->n_runs == 0) {
        (void)edl_error_set(error, -EINVAL, "%s has no validation-BATCH.csv", app->folder);
        return edl_error_remedy(error, "pollux=DIR: a folder with one folder per application");
    }
    qsort(app->runs, app->n_runs, sizeof(*app->runs), by_batch);
    for (size_t i = 1; i < app->n_runs; i++)
        if (app->runs[i].batch == app->runs[i - 1].batch) {
            (void)edl_error_set(error, -EINVAL, "%s has two validation files of batch %u",
                                app->folder, app->runs[i].batch);
            return edl_error_remedy(error, "one validation-BATCH.csv for each batch");
        }
    return 0;
}

/* set_limits - batches, and how long it trains: what the authors say, else the shortest run */
static int set_limits(struct pollux_app *app, struct edl_error *error)
{
    size_t shortest = EPOCHS_MAX;

    app->init_batch = app->runs[0].batch;
    app->max_batch = app->runs[app->n_runs - 1].batch;
    app->min_local = UINT32_MAX;
    for (size_t i = 0; i < app->n_curves; i++) {
        const struct pollux_curve *curve = &app->curves[i];

        app->min_local = MIN_OF(app->min_local, (uint32_t)curve->batch[0]);
        app->max_local = MAX_OF(app->max_local, (uint32_t)curve->batch[curve->n - 1]);
    }
    for (size_t i = 0; i < app->n_runs; i++)
        shortest = MIN_OF(shortest, app->runs[i].n);
    app->epochs = (uint32_t)shortest;
    for (size_t i = 0; i < ELEMENTS(limits); i++)
        if (streq(limits[i].name, app->name)) {
            app->epochs = limits[i].epochs;
            app->max_local = limits[i].max_local > 0 ? limits[i].max_local : app->max_local;
        }
    if (app->epochs > shortest) {
        (void)edl_error_set(error, -EINVAL, "%s: %zu epochs in its shortest run, %u are needed",
                            app->folder, shortest, app->epochs);
        return edl_error_remedy(error, "longer validation-BATCH.csv");
    }
    return 0;
}

/* set_bounds - an epoch ends where the slowest run ended it; progress never falls */
static int set_bounds(struct pollux_app *app, struct edl_error *error)
{
    app->bounds = xcalloc(app->epochs + 1, sizeof(*app->bounds));
    for (uint32_t e = 0; e < app->epochs; e++) {
        double least = INFINITY;

        for (size_t i = 0; i < app->n_runs; i++)
            least = fmin(least, app->runs[i].progress[e]);
        if (least <= app->bounds[e]) {
            (void)edl_error_set(error, -EINVAL, "%s: no progress in epoch %u", app->folder, e + 1);
            return edl_error_remedy(error, "progress that rises from line to line");
        }
        app->bounds[e + 1] = least;
    }
    return 0;
}

int pollux_app_read(const char *dir, const char *name, struct pollux_app **ret,
                    struct edl_error *error)
{
    struct pollux_app *app = xcalloc(1, sizeof(*app));
    size_t bytes = strlen(dir) + strlen(name) + 2;
    int r;

    app->refs = 1;
    app->name = xstrdup(name);
    app->folder = xcalloc(1, bytes);
    (void)snprintf(app->folder, bytes, "%s/%s", dir, name);
    r = read_runs(app, error);
    if (r == 0)
        r = pollux_times_read(app, error);
    if (r == 0)
        r = set_limits(app, error);
    if (r == 0)
        r = set_bounds(app, error);
    if (r < 0) {
        (void)pollux_app_unref(app);
        return r;
    }
    *ret = app;
    return 0;
}

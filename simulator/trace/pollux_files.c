/* SPDX-License-Identifier: Apache-2.0 */
/* pollux_files.c - an application's folder: placements.csv, scalability.csv, validation-*.csv */
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

#define BATCH_MAX 1000000000
#define EPOCHS_MAX 1000000

/* What the authors' simulator sets by hand; all else follows from the files. */
static const struct limits {
    const char *name;
    uint32_t epochs, max_local;
} limits[] = {
    { "bert", 2, 0 },      { "cifar10", 100, 0 },    { "ncf", 10, 0 },
    { "imagenet", 90, 0 }, { "deepspeech2", 80, 0 }, { "yolov3", 50, 8 },
};

/* A measurement as both files have it. */
struct measurement {
    uint32_t nodes, instances, batch;
    double step_s, sync_s;
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

static int open_csv(const struct pollux_app *app, const char *file, struct csv **ret,
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
    int r = open_csv(app, file, &csv, error);

    if (r < 0)
        return r;
    app->runs = xreallocarray(app->runs, app->n_runs + 1, sizeof(*app->runs));
    run = &app->runs[app->n_runs++];
    *run = (struct pollux_run){ .batch = batch, .n = csv->n_rows };
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
    return parse_u64(digits, &batch) == 0 && batch <= BATCH_MAX ? (uint32_t)batch : 0;
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
    return 0;
}

static struct pollux_curve *curve_for(struct pollux_app *app, const char *placement)
{
    for (size_t i = 0; i < app->n_curves; i++)
        if (streq(app->curves[i].placement, placement))
            return &app->curves[i];
    app->curves = xreallocarray(app->curves, app->n_curves + 1, sizeof(*app->curves));
    app->curves[app->n_curves] = (struct pollux_curve){ .placement = xstrdup(placement) };
    return &app->curves[app->n_curves++];
}

/* add_to_curve - keeps it sorted by batch */
static void add_to_curve(struct pollux_curve *curve, const struct measurement *m)
{
    size_t i = curve->n++;

    curve->batch = xreallocarray(curve->batch, curve->n, sizeof(double));
    curve->step_s = xreallocarray(curve->step_s, curve->n, sizeof(double));
    curve->sync_s = xreallocarray(curve->sync_s, curve->n, sizeof(double));
    for (; i > 0 && curve->batch[i - 1] > m->batch; i--) {
        curve->batch[i] = curve->batch[i - 1];
        curve->step_s[i] = curve->step_s[i - 1];
        curve->sync_s[i] = curve->sync_s[i - 1];
    }
    curve->batch[i] = m->batch;
    curve->step_s[i] = m->step_s;
    curve->sync_s[i] = m->sync_s;
}

/* read_times - the columns that both files share */
static int read_times(const struct csv *csv, size_t row, struct measurement *ret,
                      struct edl_error *error)
{
    static const char *const names[] = { "local_bsz", "step_time", "sync_time" };
    size_t at[ELEMENTS(names)];
    uint64_t batch = 0;
    int r = 0;

    for (size_t i = 0; r == 0 && i < ELEMENTS(names); i++)
        r = csv_column(csv, names[i], &at[i], error);
    if (r == 0)
        r = csv_count(csv, row, at[0], 1, BATCH_MAX, &batch, error);
    if (r == 0)
        r = csv_number(csv, row, at[1], 1e-9, 1e9, &ret->step_s, error);
    if (r == 0)
        r = csv_number(csv, row, at[2], 0, 1e9, &ret->sync_s, error);
    ret->batch = (uint32_t)batch;
    return r;
}

/* read_placement - "144": nodes and instances */
static int read_placement(const struct csv *csv, size_t row, size_t column, struct measurement *ret,
                          struct edl_error *error)
{
    const char *placement = csv_cell(csv, row, column);
    size_t n = strspn(placement, "123456789");

    if (n == 0 || n > 16 || placement[n] != '\0')
        return csv_refuse(csv, row, column, "is no placement",
                          "a digit from 1 to 9 for each node, 16 at most", error);
    ret->nodes = (uint32_t)n;
    ret->instances = 0;
    for (size_t i = 0; i < n; i++)
        ret->instances += (uint32_t)(placement[i] - '0');
    return 0;
}

static int read_placements(struct pollux_app *app, struct measurement **ret, size_t *ret_n,
                           struct edl_error *error)
{
    _cleanup_(cleanup_csvp) struct csv *csv = NULL;
    struct measurement *all;
    size_t column;
    int r = open_csv(app, "placements.csv", &csv, error);

    if (r == 0)
        r = csv_column(csv, "placement", &column, error);
    if (r < 0)
        return r;
    all = xcalloc(csv->n_rows, sizeof(*all));
    for (size_t i = 0; r == 0 && i < csv->n_rows; i++) {
        r = read_placement(csv, i, column, &all[i], error);
        if (r == 0)
            r = read_times(csv, i, &all[i], error);
        if (r == 0)
            add_to_curve(curve_for(app, csv_cell(csv, i, column)), &all[i]);
    }
    *ret = all;
    *ret_n = csv->n_rows;
    return r;
}

static int by_place(const void *a, const void *b)
{
    const struct measurement *x = a, *y = b;

    if (x->nodes != y->nodes)
        return x->nodes < y->nodes ? -1 : 1;
    if (x->instances != y->instances)
        return x->instances < y->instances ? -1 : 1;
    return x->batch < y->batch ? -1 : x->batch > y->batch;
}

static void add_point(struct pollux_app *app, const struct measurement *m)
{
    size_t i = app->n_points++;

    app->points[i][0] = m->nodes;
    app->points[i][1] = m->instances;
    app->points[i][2] = m->batch;
    app->values[i][0] = m->step_s;
    app->values[i][1] = m->sync_s;
}

/* add_means - placements with as many nodes and instances are one point: their mean */
static void add_means(struct pollux_app *app, struct measurement *all, size_t n)
{
    qsort(all, n, sizeof(*all), by_place);
    for (size_t i = 0, end; i < n; i = end) {
        struct measurement mean = all[i];

        for (end = i + 1; end < n && by_place(&all[i], &all[end]) == 0; end++) {
            mean.step_s += all[end].step_s;
            mean.sync_s += all[end].sync_s;
        }
        mean.step_s /= (double)(end - i);
        mean.sync_s /= (double)(end - i);
        add_point(app, &mean);
    }
}

static int read_scalability(struct pollux_app *app, struct measurement *placed, size_t n_placed,
                            struct edl_error *error)
{
    _cleanup_(cleanup_csvp) struct csv *csv = NULL;
    size_t nodes_at, instances_at;
    int r = open_csv(app, "scalability.csv", &csv, error);

    if (r == 0)
        r = csv_column(csv, "num_nodes", &nodes_at, error);
    if (r == 0)
        r = csv_column(csv, "num_replicas", &instances_at, error);
    if (r < 0)
        return r;
    app->points = xcalloc(n_placed + csv->n_rows, sizeof(*app->points));
    app->values = xcalloc(n_placed + csv->n_rows, sizeof(*app->values));
    add_means(app, placed, n_placed);
    for (size_t i = 0; r == 0 && i < csv->n_rows; i++) {
        struct measurement m = { 0 };
        uint64_t nodes = 0, instances = 0;

        r = csv_count(csv, i, nodes_at, 1, 100000, &nodes, error);
        if (r == 0)
            r = csv_count(csv, i, instances_at, nodes, 100000, &instances, error);
        if (r == 0)
            r = read_times(csv, i, &m, error);
        m.nodes = (uint32_t)nodes;
        m.instances = (uint32_t)instances;
        if (r == 0)
            add_point(app, &m);
    }
    return r;
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
    if (app->epochs == 0 || app->epochs > shortest || app->n_curves == 0) {
        (void)edl_error_set(error, -EINVAL, "%s: %zu epochs in its shortest run, %u are needed",
                            app->folder, shortest, MAX_OF(app->epochs, 1U));
        return edl_error_remedy(error, "longer validation-BATCH.csv, and a line in placements.csv");
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
    struct measurement *placed = NULL;
    size_t n_placed = 0, bytes = strlen(dir) + strlen(name) + 2;
    int r;

    app->refs = 1;
    app->name = xstrdup(name);
    app->folder = xcalloc(1, bytes);
    (void)snprintf(app->folder, bytes, "%s/%s", dir, name);
    r = read_runs(app, error);
    if (r == 0)
        r = read_placements(app, &placed, &n_placed, error);
    if (r == 0)
        r = read_scalability(app, placed, n_placed, error);
    if (r == 0)
        r = set_limits(app, error);
    if (r == 0)
        r = set_bounds(app, error);
    free(placed);
    if (r < 0) {
        (void)pollux_app_unref(app);
        return r;
    }
    *ret = app;
    return 0;
}

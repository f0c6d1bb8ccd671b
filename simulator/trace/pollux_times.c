/* SPDX-License-Identifier: Apache-2.0 */
/* pollux_times.c - placements.csv, scalability.csv: the time of a step, by the places of the
 * instances
 *
 * A placement is the same from whichever node one begins to count: 21 is 12. Each configuration is
 * there once, over both files: two points at one place have no triangulation, and which of two rows
 * of a curve counts would be chance. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/parse.h"
#include "simulator/trace/csv.h"
#include "simulator/trace/pollux_app.h"
#include "simulator/trace/pollux_files.h"

#define NODES_MAX 16 /* of a placement */

/* A measurement as both files have it. */
struct measurement {
    uint32_t nodes, instances, batch;
    double step_s, sync_s;
};

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
        r = csv_count(csv, row, at[0], 1, POLLUX_BATCH_MAX, &batch, error);
    if (r == 0)
        r = csv_number(csv, row, at[1], 1e-9, 1e9, &ret->step_s, error);
    if (r == 0)
        r = csv_number(csv, row, at[2], 0, 1e9, &ret->sync_s, error);
    if (r == 0 && ret->sync_s > ret->step_s)
        r = csv_refuse(csv, row, at[2], "is longer than step_time",
                       "the exchange is a part of the step: sync_time <= step_time", error);
    ret->batch = (uint32_t)batch;
    return r;
}

/* turn - begins with the node from which the placement sorts first, as profile.c asks for it */
static void turn(const char *placement, size_t n, char ret[NODES_MAX + 1])
{
    (void)snprintf(ret, NODES_MAX + 1, "%s", placement);
    for (size_t from = 1; from < n; from++) {
        char turned[NODES_MAX + 1];

        (void)snprintf(turned, sizeof(turned), "%s%.*s", placement + from, (int)from, placement);
        if (strcmp(turned, ret) < 0)
            memcpy(ret, turned, sizeof(turned));
    }
}

/* read_placement - "144": nodes and instances; turned: as the app's curves are called */
static int read_placement(const struct csv *csv, size_t row, size_t column, struct measurement *ret,
                          char turned[NODES_MAX + 1], struct edl_error *error)
{
    const char *placement = csv_cell(csv, row, column);
    size_t n = strspn(placement, "123456789");

    if (n == 0 || n > NODES_MAX || placement[n] != '\0')
        return csv_refuse(csv, row, column, "is no placement",
                          "a digit from 1 to 9 for each node, 16 at most", error);
    ret->nodes = (uint32_t)n;
    ret->instances = 0;
    for (size_t i = 0; i < n; i++)
        ret->instances += (uint32_t)(placement[i] - '0');
    turn(placement, n, turned);
    return 0;
}

/* check_rows - each configuration once; keys get sorted */
static int check_rows(const struct csv *csv, struct csv_key *keys, const char *same,
                      const char *remedy, struct edl_error *error)
{
    size_t column;
    int r = csv_column(csv, "local_bsz", &column, error);

    return r < 0 ? r : csv_refuse_repeated(csv, keys, column, same, remedy, error);
}

static int read_placements(struct pollux_app *app, struct measurement **ret, size_t *ret_n,
                           struct edl_error *error)
{
    _cleanup_(cleanup_csvp) struct csv *csv = NULL;
    _cleanup_free_ struct csv_key *keys = NULL;
    struct measurement *all;
    size_t column;
    int r = pollux_csv_open(app, "placements.csv", &csv, error);

    if (r == 0)
        r = csv_column(csv, "placement", &column, error);
    if (r == 0 && csv->n_rows == 0)
        r = csv_refuse_no_rows(csv, "a line for each placement and local_bsz", error);
    if (r < 0)
        return r;
    all = xcalloc(csv->n_rows, sizeof(*all));
    keys = xcalloc(csv->n_rows, sizeof(*keys));
    for (size_t i = 0; r == 0 && i < csv->n_rows; i++) {
        char turned[NODES_MAX + 1];

        r = read_placement(csv, i, column, &all[i], turned, error);
        if (r == 0)
            r = read_times(csv, i, &all[i], error);
        if (r < 0)
            break;
        add_to_curve(curve_for(app, turned), &all[i]);
        keys[i].row = i;
        (void)parse_u64(turned, &keys[i].values[0]); /* 16 digits */
        keys[i].values[1] = all[i].batch;
    }
    if (r == 0)
        r = check_rows(csv, keys, "placement and local_bsz",
                       "one line for each placement and local_bsz: the right one, or their mean",
                       error);
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

static int by_point(const void *a, const void *b)
{
    const double *x = a, *y = b;

    for (int i = 0; i < 3; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

/* is_placed - among the means of placements, which are sorted */
static bool is_placed(const struct pollux_app *app, size_t n_means, const struct measurement *m)
{
    const double at[3] = { m->nodes, m->instances, m->batch };

    return bsearch(at, app->points, n_means, sizeof(at), by_point) != NULL;
}

static int is_there(const struct csv *csv, size_t row, struct edl_error *error)
{
    size_t column;
    int r = csv_column(csv, "local_bsz", &column, error);

    return r < 0
               ? r
               : csv_refuse(csv, row, column, "is in placements.csv for as many nodes and replicas",
                            "leave it out here, or there", error);
}

static int read_scalability(struct pollux_app *app, struct measurement *placed, size_t n_placed,
                            struct edl_error *error)
{
    _cleanup_(cleanup_csvp) struct csv *csv = NULL;
    _cleanup_free_ struct csv_key *keys = NULL;
    size_t nodes_at, instances_at, n_means;
    int r = pollux_csv_open(app, "scalability.csv", &csv, error);

    if (r == 0)
        r = csv_column(csv, "num_nodes", &nodes_at, error);
    if (r == 0)
        r = csv_column(csv, "num_replicas", &instances_at, error);
    if (r < 0)
        return r;
    app->points = xcalloc(n_placed + csv->n_rows, sizeof(*app->points));
    app->values = xcalloc(n_placed + csv->n_rows, sizeof(*app->values));
    add_means(app, placed, n_placed);
    n_means = app->n_points;
    keys = xcalloc(csv->n_rows, sizeof(*keys));
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
        if (r == 0 && is_placed(app, n_means, &m))
            r = is_there(csv, i, error);
        if (r == 0)
            add_point(app, &m);
        keys[i] = (struct csv_key){ .values = { m.nodes, m.instances, m.batch }, .row = i };
    }
    if (r == 0)
        r = check_rows(csv, keys, "num_nodes, num_replicas and local_bsz",
                       "one line for each of them: the right one, or their mean", error);
    return r;
}

int pollux_times_read(struct pollux_app *app, struct edl_error *error)
{
    _cleanup_free_ struct measurement *placed = NULL;
    size_t n_placed = 0;
    int r = read_placements(app, &placed, &n_placed, error);

    return r < 0 ? r : read_scalability(app, placed, n_placed, error);
}

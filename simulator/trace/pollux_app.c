/* SPDX-License-Identifier: Apache-2.0 */
/* pollux_app.c - what one application's step and epoch cost, between the measurements
 *
 * The rules are those of the simulator of the OSDI 2021 artifact: linear over the batch where the
 * placement was measured, else linear over the triangulated measurements. Gradient statistics and
 * iterations are linear over the batch between two runs. */
#include "simulator/trace/pollux_app.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "simulator/trace/mesh.h"
#include "simulator/trace/profile.h"

#define NODES_MEASURED 16 /* more nodes count as so many */
#define PLACEMENT_MAX 32

/* around - the runs below and above a batch, and how far it is between them */
static int around(const struct pollux_app *app, uint32_t batch, const struct pollux_run **ret_below,
                  const struct pollux_run **ret_above)
{
    size_t i = 0;

    while (i < app->n_runs && app->runs[i].batch < batch)
        i++;
    if (i == app->n_runs || (i == 0 && app->runs[0].batch != batch))
        return -ERANGE;
    *ret_above = &app->runs[i];
    *ret_below = app->runs[i].batch == batch ? &app->runs[i] : &app->runs[i - 1];
    return 0;
}

/* between - linear over the batch */
static double between(const struct pollux_run *below, double low, const struct pollux_run *above,
                      double high, uint32_t batch)
{
    if (below == above)
        return low;
    return ((batch - below->batch) * high + (above->batch - batch) * low) /
           (above->batch - below->batch);
}

int pollux_app_gradient(const struct pollux_app *app, uint32_t batch, uint32_t epoch,
                        double *ret_square, double *ret_variance, struct edl_error *error)
{
    const struct pollux_run *below, *above;

    if (around(app, batch, &below, &above) < 0) {
        (void)edl_error_set(error, -ERANGE, "%s: no run was measured around the batch %u",
                            app->folder, batch);
        return edl_error_remedy(error, "a batch from %u to %u", app->init_batch, app->max_batch);
    }
    *ret_square = between(below, below->grad_sqr[epoch], above, above->grad_sqr[epoch], batch);
    *ret_variance = between(below, below->grad_var[epoch], above, above->grad_var[epoch], batch);
    return 0;
}

int pollux_app_gain(const struct pollux_app *app, uint32_t batch, uint32_t epoch, double *ret,
                    struct edl_error *error)
{
    double sqr, var, scale = (double)batch / app->init_batch;
    int r = pollux_app_gradient(app, batch, epoch, &sqr, &var, error);

    if (r == 0)
        *ret = (var + sqr) / (var / scale + sqr);
    return r;
}

double pollux_app_iteration(const struct pollux_app *app, uint32_t batch, uint32_t epoch)
{
    const struct pollux_run *below, *above;

    if (around(app, batch, &below, &above) < 0)
        return NAN;
    return between(below, below->iteration[epoch], above, above->iteration[epoch], batch);
}

/* name_of - "144" of a placement whose counts are digits; "" of any other */
static void name_of(const struct shape *shape, char name[PLACEMENT_MAX])
{
    for (uint32_t i = 0; i < shape->n_nodes; i++) {
        if (i + 1 >= PLACEMENT_MAX || shape->counts[i] > 9) {
            name[0] = '\0';
            return;
        }
        name[i] = (char)('0' + shape->counts[i]);
        name[i + 1] = '\0';
    }
}

static const struct pollux_curve *find_curve(const struct pollux_app *app,
                                             const struct shape *shape)
{
    char name[PLACEMENT_MAX] = "";

    name_of(shape, name);
    for (size_t i = 0; i < app->n_curves; i++)
        if (streq(app->curves[i].placement, name))
            return &app->curves[i];
    return NULL;
}

static int unknown(const struct pollux_app *app, const struct shape *shape, double batch,
                   struct edl_error *error)
{
    char name[PLACEMENT_MAX] = "";

    name_of(shape, name);
    (void)edl_error_set(error, -ERANGE,
                        "%s: nothing was measured around %u instances on %u nodes%s%s%s with a "
                        "batch of %g each",
                        app->folder, shape->n, shape->n_nodes, name[0] != '\0' ? " (" : "", name,
                        name[0] != '\0' ? ")" : "", batch);
    return edl_error_remedy(error, "fewer instances or nodes, or another batch; "
                                   "placements.csv and scalability.csv list what was measured");
}

/* on_curve - linear over the batch; -ERANGE beyond its ends */
static int on_curve(const struct pollux_curve *curve, double batch, double ret[2])
{
    size_t hi = 1;
    double width, part;

    if (batch < curve->batch[0] || batch > curve->batch[curve->n - 1])
        return -ERANGE;
    if (curve->n == 1) {
        ret[0] = curve->step_s[0];
        ret[1] = curve->sync_s[0];
        return 0;
    }
    while (hi + 1 < curve->n && curve->batch[hi] < batch)
        hi++;
    width = curve->batch[hi] - curve->batch[hi - 1];
    part = batch - curve->batch[hi - 1];
    ret[0] = (curve->step_s[hi] - curve->step_s[hi - 1]) / width * part + curve->step_s[hi - 1];
    ret[1] = (curve->sync_s[hi] - curve->sync_s[hi - 1]) / width * part + curve->sync_s[hi - 1];
    return 0;
}

static int in_mesh(struct pollux_app *app, const struct shape *shape, double batch, double ret[2],
                   struct edl_error *error)
{
    double at[3] = { MIN_OF(shape->n_nodes, NODES_MEASURED), shape->n, batch };

    if (app->mesh == NULL) {
        int r = mesh_new(app->folder, (const double(*)[3])app->points,
                         (const double(*)[2])app->values, app->n_points, &app->mesh, error);

        if (r < 0)
            return r;
    }
    return mesh_at(app->mesh, at, ret) < 0 ? unknown(app, shape, batch, error) : 0;
}

int pollux_app_step(struct pollux_app *app, const struct shape *shape, uint32_t local_batch,
                    double *ret_step_s, double *ret_sync_s, struct edl_error *error)
{
    const struct pollux_curve *curve = find_curve(app, shape);
    double values[2];
    int r = curve == NULL ? in_mesh(app, shape, local_batch, values, error)
                          : on_curve(curve, local_batch, values);

    if (r == -ERANGE && curve != NULL)
        return unknown(app, shape, local_batch, error);
    if (r < 0)
        return r;
    *ret_step_s = values[0];
    *ret_sync_s = values[1];
    return 0;
}

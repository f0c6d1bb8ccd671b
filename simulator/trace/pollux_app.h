/* SPDX-License-Identifier: Apache-2.0 */
/* pollux_app.h - one application as Pollux' authors measured it (OSDI 2021, public files)
 *
 * validation-B.csv: a training run with batch B; a line for each epoch: progress in iterations of
 * the smallest batch, iterations, gradient statistics. placements.csv: times of a step by placement
 * and batch per instance. scalability.csv: the same for more nodes than placements cover. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct edl_error;
struct mesh;
struct shape;

struct pollux_run { /* validation-B.csv */
    uint32_t batch;
    size_t n; /* epochs */
    double *progress, *iteration, *grad_sqr, *grad_var;
};

struct pollux_curve { /* a placement of placements.csv, by rising batch per instance */
    char *placement;  /* "1234": instances on each node */
    size_t n;
    double *batch, *step_s, *sync_s;
};

struct pollux_app {
    char *name, *folder;
    uint32_t refs;
    uint32_t epochs;                /* it ends after them */
    uint32_t init_batch, max_batch; /* smallest and largest of the runs */
    uint32_t min_local, max_local;  /* batch per instance and accumulation step */
    struct pollux_run *runs;        /* by rising batch */
    struct pollux_curve *curves;
    size_t n_runs, n_curves;
    double (*points)[3]; /* nodes, instances, batch per instance: what the mesh is made of */
    double (*values)[2]; /* step and sync seconds */
    size_t n_points;
    struct mesh *mesh; /* made when it is first asked for */
    double *bounds;    /* [epochs + 1] progress at the end of each epoch: the least of the runs */
};

/* pollux_app_read - DIR/NAME/...; errors name the file, the line and the remedy */
int pollux_app_read(const char *dir, const char *name, struct pollux_app **ret,
                    struct edl_error *error);
struct pollux_app *pollux_app_unref(struct pollux_app *app);

/* pollux_app_step - seconds of one accumulation step with its exchange, and of the exchange alone
 * Errors: -ERANGE: nothing was measured around it. */
int pollux_app_step(struct pollux_app *app, const struct shape *shape, uint32_t local_batch,
                    double *ret_step_s, double *ret_sync_s, struct edl_error *error);

/* pollux_app_gain - progress of one step of that batch in that epoch; -ERANGE beyond the runs */
int pollux_app_gain(const struct pollux_app *app, uint32_t batch, uint32_t epoch, double *ret,
                    struct edl_error *error);

/* pollux_app_gradient - its squared norm and its variance with that batch in that epoch */
int pollux_app_gradient(const struct pollux_app *app, uint32_t batch, uint32_t epoch,
                        double *ret_square, double *ret_variance, struct edl_error *error);

/* pollux_app_iteration - iterations of a batch within init_batch..max_batch after epoch + 1 epochs
 */
double pollux_app_iteration(const struct pollux_app *app, uint32_t batch, uint32_t epoch);

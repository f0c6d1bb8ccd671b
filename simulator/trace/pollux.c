/* SPDX-License-Identifier: Apache-2.0 */
/* pollux.c - jobs of Pollux' workloads: batch per instance, accumulation, goodput */
#include "simulator/trace/pollux.h"

#include <errno.h>
#include <math.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "simulator/trace/csv.h"
#include "simulator/trace/pollux_app.h"
#include "simulator/trace/profile.h"
#include "simulator/trace/trace.h"

#define ROUNDING 1e-8 /* a quotient this little above a whole number is that number */
#define SIZES 50      /* batches that an adaptive job chooses from */

struct pollux_profile {
    struct profile profile;
    struct pollux_app *app;
};

/* How a batch is split. */
struct split {
    uint32_t local;  /* on one instance in one accumulation step */
    uint32_t passes; /* accumulation steps before the exchange, 0 or more */
};

static uint32_t ceiling(double quotient)
{
    return (uint32_t)ceil(quotient - ROUNDING);
}

/* split_batch - alone gives one more pass when that is what it takes to see gradient noise */
static struct split split_batch(const struct pollux_app *app, double local, uint32_t n, bool alone)
{
    struct split split = { .passes = ceiling(local / app->max_local) - 1 };

    if (n == 1 && alone)
        split.passes = MAX_OF(split.passes, 1U);
    split.local = ceiling(local / (split.passes + 1));
    return split;
}

/* fixed_split - of the batch that its owner chose, cut to what the runs cover */
static struct split fixed_split(const struct pollux_app *app, uint32_t batch, uint32_t n)
{
    uint32_t local = ceiling((double)batch / n);
    struct split split = split_batch(app, local, n, batch > app->init_batch);

    split.local = MIN_OF(split.local, app->max_batch / (n * (split.passes + 1)));
    return split;
}

static int seconds_of(struct pollux_app *app, const struct shape *shape, struct split split,
                      double *ret, struct edl_error *error)
{
    double step_s, sync_s;
    int r = pollux_app_step(app, shape, split.local, &step_s, &sync_s, error);

    if (r == 0)
        *ret = step_s + (step_s - sync_s) * split.passes;
    return r;
}

static int fixed_pace(const struct pollux_profile *self, const struct shape *shape,
                      struct pace *ret, struct edl_error *error)
{
    struct split split = fixed_split(self->app, self->profile.batch, shape->n);
    uint32_t batch = shape->n * split.local * (split.passes + 1);
    int r = seconds_of(self->app, shape, split, &ret->step_s, error);

    for (uint32_t e = 0; r == 0 && e < self->app->epochs; e++) {
        r = pollux_app_gain(self->app, batch, e, &ret->rate[e], error);
        ret->rate[e] /= ret->step_s;
    }
    return r;
}

/* try_batch - raises each epoch's rate to what this split reaches */
static int try_batch(const struct pollux_profile *self, const struct shape *shape,
                     struct split split, struct pace *ret, struct edl_error *error)
{
    uint32_t batch = shape->n * split.local * (split.passes + 1);
    double seconds;
    int r = seconds_of(self->app, shape, split, &seconds, error);

    for (uint32_t e = 0; r == 0 && e < self->app->epochs; e++) {
        double gain;

        r = pollux_app_gain(self->app, batch, e, &gain, error);
        if (r == 0)
            ret->rate[e] = fmax(ret->rate[e], gain / seconds);
    }
    return r;
}

/* adaptive_pace - the best of SIZES batches in geometric steps, for each epoch by itself */
static int adaptive_pace(const struct pollux_profile *self, const struct shape *shape,
                         struct pace *ret, struct edl_error *error)
{
    const struct pollux_app *app = self->app;
    double least = fmax(app->init_batch, (double)app->min_local * shape->n);
    double most = fmax(least, app->max_batch);
    bool any = false;

    ret->step_s = NAN;
    for (int i = 0; i < SIZES; i++) {
        double local = least * pow(most / least, (double)i / (SIZES - 1)) / shape->n;
        struct split split = split_batch(app, local, shape->n, local > app->init_batch + ROUNDING);

        split.local = MIN_OF(split.local, app->max_batch / (shape->n * (split.passes + 1)));
        if (split.local < app->min_local || split.local > app->max_local)
            continue;
        if (try_batch(self, shape, split, ret, error) < 0)
            return -ERANGE;
        any = true;
    }
    if (any)
        return 0;
    (void)edl_error_set(error, -ERANGE, "%s: no batch fits %u instances", app->folder, shape->n);
    return edl_error_remedy(error, "%u instances at most", app->max_batch / app->min_local);
}

static int pace(struct profile *profile, const struct shape *shape, struct pace *ret,
                struct edl_error *error)
{
    const struct pollux_profile *self = (const struct pollux_profile *)profile;

    return profile->batch > 0 ? fixed_pace(self, shape, ret, error)
                              : adaptive_pace(self, shape, ret, error);
}

/* epoch_steps - as Optimus counts them in that simulator: from the end of the epoch that is under
 * way to the end of the last but one; 1 behind that */
static double epoch_steps(const struct profile *profile, uint32_t phase)
{
    const struct pollux_app *app = ((const struct pollux_profile *)profile)->app;

    if (phase + 1 >= app->epochs)
        return 1;
    return pollux_app_iteration(app, profile->batch, app->epochs - 1) -
           pollux_app_iteration(app, profile->batch, phase);
}

static void free_profile(struct profile *profile)
{
    struct pollux_profile *self = (struct pollux_profile *)profile;

    (void)pollux_app_unref(self->app);
    free(self);
}

static const struct profile_ops ops = {
    .name = "pollux",
    .pace = pace,
    .epoch_steps = epoch_steps,
    .free = free_profile,
};

/* most - instances, each with the smallest batch that was measured; ncf runs on one alone, as its
 * authors have it */
static uint32_t most(const struct pollux_app *app, uint32_t batch)
{
    if (streq(app->name, "ncf"))
        return 1;
    return MAX_OF((batch > 0 ? batch : app->max_batch) / app->min_local, 1U);
}

struct profile *pollux_profile_new(struct pollux_app *app, uint32_t batch)
{
    struct pollux_profile *self = xcalloc(1, sizeof(*self));

    profile_init(&self->profile, &ops, app->name);
    app->refs++;
    self->app = app;
    self->profile.batch = batch;
    self->profile.n_phases = app->epochs;
    self->profile.bounds = app->bounds;
    self->profile.whole_seconds = true;
    self->profile.needs_shape = true;
    self->profile.max = most(app, batch);
    return &self->profile;
}

/* --- a workload --- */

struct importer {
    const char *dir;
    bool adaptive;
    struct csv *csv;
    size_t name, time, application, instances, batch;
    struct pollux_app **apps;
    struct profile **profiles;
    size_t n_apps, n_profiles;
    struct edl_error *error;
};

static struct pollux_app *app_for(struct importer *importer, const char *name)
{
    struct pollux_app *app;

    for (size_t i = 0; i < importer->n_apps; i++)
        if (streq(importer->apps[i]->name, name))
            return importer->apps[i];
    if (pollux_app_read(importer->dir, name, &app, importer->error) < 0)
        return NULL;
    importer->apps = xreallocarray(importer->apps, importer->n_apps + 1, sizeof(app));
    importer->apps[importer->n_apps++] = app;
    return app;
}

/* profile_for - one for all jobs with that application and batch */
static struct profile *profile_for(struct importer *importer, struct pollux_app *app,
                                   uint32_t batch)
{
    struct profile *profile;

    for (size_t i = 0; i < importer->n_profiles; i++) {
        profile = importer->profiles[i];
        if (streq(profile->name, app->name) && profile->batch == batch)
            return profile;
    }
    profile = pollux_profile_new(app, batch);
    importer->profiles =
        xreallocarray(importer->profiles, importer->n_profiles + 1, sizeof(profile));
    importer->profiles[importer->n_profiles++] = profile;
    return profile;
}

static int find_columns(struct importer *importer)
{
    const struct {
        const char *name;
        size_t *ret;
    } wanted[] = {
        { "name", &importer->name },
        { "time", &importer->time },
        { "application", &importer->application },
        { "num_replicas", &importer->instances },
        { "batch_size", &importer->batch },
    };

    for (size_t i = 0; i < ELEMENTS(wanted); i++) {
        int r = csv_column(importer->csv, wanted[i].name, wanted[i].ret, importer->error);

        if (r < 0)
            return r;
    }
    return 0;
}

static int check_application(const struct importer *importer, size_t row)
{
    const char *name = csv_cell(importer->csv, row, importer->application);

    if (name[0] != '\0' && name[0] != '.' && strchr(name, '/') == NULL && strlen(name) < 100)
        return 0;
    return csv_refuse(importer->csv, row, importer->application, "is no application",
                      "the name of a folder of --import pollux=DIR", importer->error);
}

static int check_batch(const struct importer *importer, size_t row, const struct pollux_app *app,
                       uint64_t batch)
{
    char remedy[80];

    if (batch >= app->init_batch && batch <= app->max_batch)
        return 0;
    (void)snprintf(remedy, sizeof(remedy), "from %u to %u: its validation files", app->init_batch,
                   app->max_batch);
    return csv_refuse(importer->csv, row, importer->batch, "was not measured", remedy,
                      importer->error);
}

static int import_row(struct importer *importer, size_t row, struct trace *trace)
{
    const struct csv *csv = importer->csv;
    struct pollux_app *app = NULL;
    struct trace_job *job;
    uint64_t instances = 0, batch = 0;
    double submit_s = 0;
    int r = csv_number(csv, row, importer->time, 0, 1e12, &submit_s, importer->error);

    if (r == 0)
        r = csv_count(csv, row, importer->instances, 1, 100000, &instances, importer->error);
    if (r == 0)
        r = csv_count(csv, row, importer->batch, 1, UINT32_MAX, &batch, importer->error);
    if (r == 0)
        r = check_application(importer, row);
    if (r == 0 && (app = app_for(importer, csv_cell(csv, row, importer->application))) == NULL)
        r = importer->error != NULL ? importer->error->code : -EINVAL;
    if (r == 0)
        r = check_batch(importer, row, app, batch);
    if (r < 0)
        return r;
    job = trace_add(trace);
    job->name = xstrdup(csv_cell(csv, row, importer->name));
    job->family = xstrdup(app->name);
    job->user = xstrdup("");
    job->submit_s = submit_s;
    /* the authors keep ncf's batch even where batches are chosen */
    job->profile = profile_ref(
        profile_for(importer, app,
                    importer->adaptive && !streq(app->name, "ncf") ? 0 : (uint32_t)batch));
    job->requested = (uint32_t)instances;
    job->min = 1;
    job->max = job->profile->max;
    return 0;
}

static void importer_done(struct importer *importer)
{
    for (size_t i = 0; i < importer->n_apps; i++)
        (void)pollux_app_unref(importer->apps[i]);
    for (size_t i = 0; i < importer->n_profiles; i++)
        (void)profile_unref(importer->profiles[i]);
    free(importer->apps);
    free(importer->profiles);
    (void)csv_free(importer->csv);
}

int pollux_import(const char *path, const char *dir, bool adaptive, struct trace **ret,
                  struct edl_error *error)
{
    struct importer importer = { .dir = dir, .adaptive = adaptive, .error = error };
    struct trace *trace = NULL;
    int r = csv_read(path, &importer.csv, error);

    if (r == 0)
        r = find_columns(&importer);
    if (r == 0)
        trace = trace_new(path);
    for (size_t i = 0; r == 0 && i < importer.csv->n_rows; i++)
        r = import_row(&importer, i, trace);
    importer_done(&importer);
    if (r < 0) {
        (void)trace_free(trace);
        return r;
    }
    trace_sort(trace);
    *ret = trace;
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* pollux.c - jobs of Pollux' workloads: batch per instance, accumulation, goodput */
#include "simulator/trace/pollux.h"

#include <errno.h>
#include <math.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "simulator/trace/pollux_app.h"
#include "simulator/trace/pollux_internal.h"
#include "simulator/trace/profile.h"

#define ROUNDING 1e-8 /* a quotient this little above a whole number is that number */
#define SIZES 50      /* batches that an adaptive job chooses from */

static uint32_t ceiling(double quotient)
{
    return (uint32_t)ceil(quotient - ROUNDING);
}

/* split_batch - alone gives one more pass when that is what it takes to see gradient noise */
static struct work_split split_batch(const struct pollux_app *app, double local, uint32_t n,
                                     bool alone)
{
    struct work_split split = { .passes = ceiling(local / app->max_local) - 1 };

    if (n == 1 && alone)
        split.passes = MAX_OF(split.passes, 1U);
    split.local = ceiling(local / (split.passes + 1));
    return split;
}

struct work_split pollux_fixed_split(const struct pollux_app *app, uint32_t batch, uint32_t n)
{
    uint32_t local = ceiling((double)batch / n);
    struct work_split split = split_batch(app, local, n, batch > app->init_batch);

    split.local = MIN_OF(split.local, app->max_batch / (n * (split.passes + 1)));
    return split;
}

static int seconds_of(struct pollux_app *app, const struct shape *shape, struct work_split split,
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
    struct work_split split = pollux_fixed_split(self->app, self->profile.batch, shape->n);
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
                     struct work_split split, struct pace *ret, struct edl_error *error)
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
        struct work_split split =
            split_batch(app, local, shape->n, local > app->init_batch + ROUNDING);

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
    self->profile.learning = &pollux_learning;
    self->profile.max = most(app, batch);
    return &self->profile;
}

struct pollux_shelf {
    char *dir;
    struct pollux_app **apps;
    struct profile **profiles;
    size_t n_apps, n_profiles;
};

struct pollux_shelf *pollux_shelf_new(const char *dir)
{
    struct pollux_shelf *shelf = xcalloc(1, sizeof(*shelf));

    shelf->dir = xstrdup(dir);
    return shelf;
}

struct pollux_shelf *pollux_shelf_free(struct pollux_shelf *shelf)
{
    if (shelf == NULL)
        return NULL;
    for (size_t i = 0; i < shelf->n_apps; i++)
        (void)pollux_app_unref(shelf->apps[i]);
    for (size_t i = 0; i < shelf->n_profiles; i++)
        (void)profile_unref(shelf->profiles[i]);
    free(shelf->apps);
    free(shelf->profiles);
    free(shelf->dir);
    free(shelf);
    return NULL;
}

static int app_for(struct pollux_shelf *shelf, const char *name, struct pollux_app **ret,
                   struct edl_error *error)
{
    int r;

    for (size_t i = 0; i < shelf->n_apps; i++)
        if (streq(shelf->apps[i]->name, name)) {
            *ret = shelf->apps[i];
            return 0;
        }
    if (name[0] == '\0' || name[0] == '.' || strchr(name, '/') != NULL || strlen(name) > 100) {
        (void)edl_error_set(error, -EINVAL, "\"%.60s\" is no application", name);
        return edl_error_remedy(error, "the name of a folder of %s", shelf->dir);
    }
    r = pollux_app_read(shelf->dir, name, ret, error);
    if (r < 0)
        return r;
    shelf->apps = xreallocarray(shelf->apps, shelf->n_apps + 1, sizeof(*ret));
    shelf->apps[shelf->n_apps++] = *ret;
    return 0;
}

/* profile_for - one for all jobs with that application and batch */
static struct profile *profile_for(struct pollux_shelf *shelf, struct pollux_app *app,
                                   uint32_t batch)
{
    struct profile *profile;

    for (size_t i = 0; i < shelf->n_profiles; i++) {
        profile = shelf->profiles[i];
        if (((const struct pollux_profile *)profile)->app == app && profile->batch == batch)
            return profile;
    }
    profile = pollux_profile_new(app, batch);
    shelf->profiles = xreallocarray(shelf->profiles, shelf->n_profiles + 1, sizeof(profile));
    shelf->profiles[shelf->n_profiles++] = profile;
    return profile;
}

int pollux_shelf_get(struct pollux_shelf *shelf, const char *name, uint64_t batch, bool adaptive,
                     struct profile **ret, struct edl_error *error)
{
    struct pollux_app *app = NULL;
    int r = app_for(shelf, name, &app, error);

    if (r < 0)
        return r;
    if (batch < app->init_batch || batch > app->max_batch) {
        (void)edl_error_set(error, -EINVAL, "%s was not measured with batch %llu", name,
                            (unsigned long long)batch);
        return edl_error_remedy(error, "from %u to %u: its validation files", app->init_batch,
                                app->max_batch);
    }
    /* the authors keep ncf's batch even where batches are chosen */
    if (adaptive && !streq(app->name, "ncf"))
        batch = 0;
    *ret = profile_ref(profile_for(shelf, app, (uint32_t)batch));
    return 0;
}

const char *pollux_profile_dir(const struct profile *profile, size_t *ret_n)
{
    const char *folder;

    if (profile->ops != &ops)
        return NULL;
    folder = ((const struct pollux_profile *)profile)->app->folder;
    *ret_n = strlen(folder) - strlen(profile->name) - 1;
    return folder;
}

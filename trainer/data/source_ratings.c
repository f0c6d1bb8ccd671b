/* SPDX-License-Identifier: Apache-2.0 */
/* source_ratings.c - samples of ratings: MovieLens 1M, or a planted world in its form */
#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "trainer/data/planted_ratings.h"
#include "trainer/data/source.h"

#define RATINGS_DEFAULT 1000209
#define RATINGS_MIN 10
#define USERS_DEFAULT 6040
#define MOVIES_DEFAULT 3952
#define IDS_MAX 1000000
#define NOISE_DEFAULT 0.8f

struct ratings {
    struct planted planted; /* truth is NULL for real ones */
    struct planted_options options;
    struct movielens_split split;
    struct movielens_sample room;
};

static void sample(void *state, bool test, uint64_t i, struct sample_value *ret_values)
{
    struct ratings *r = state;
    uint32_t place = test ? r->split.test[i] : r->split.train[i];

    movielens_values(&r->planted.m, &r->planted.m.ratings[place], &r->room, ret_values);
}

/* Costs are those of the target, which is twice the stars. */
static json_t *floor_of(void *state)
{
    const struct ratings *r = state;
    const double n = (double)r->split.n_test, noise = r->options.noise;
    double rounded = 0, test = 0, cost;

    if (r->planted.truth == NULL || r->split.n_test == 0)
        return NULL;
    for (size_t i = 0; i < r->split.n_test; i++) {
        const uint32_t place = r->split.test[i];
        double mean, variance, error;

        rounded_mean_variance((double)r->planted.truth[place], noise, &mean, &variance);
        error = (double)r->planted.m.ratings[place].stars -
                (r->options.rounded ? mean : (double)r->planted.truth[place]);
        rounded += variance / n;
        test += error * error / n;
    }
    cost = r->options.rounded ? rounded : noise * noise;
    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f}", "cost", 4 * cost, "test_cost", 4 * test,
                     "rmse_stars", sqrt(cost), "test_rmse_stars", sqrt(test), "rmse_stars_real",
                     noise, "rmse_stars_rounded", sqrt(rounded));
}

static void ratings_free(void *state)
{
    struct ratings *r = state;

    planted_clear(&r->planted);
    movielens_split_clear(&r->split);
    free(r);
}

static void fill(struct ratings *ratings, uint64_t seed, struct source *ret)
{
    movielens_split(&ratings->planted.m, seed, &ratings->split);
    *ret = (struct source){ .n_train = ratings->split.n_train,
                            .n_test = ratings->split.n_test,
                            .state = ratings,
                            .sample = sample,
                            .floor = floor_of,
                            .release = ratings_free,
                            .n_inputs = MOVIELENS_INPUTS };
    movielens_inputs(&ratings->planted.m, ret->inputs);
}

static int check(const struct source_options *options, struct edl_error *error)
{
    const struct {
        const char *name;
        uint64_t value, min;
    } ids[] = { { "users", options->users, 1 }, { "movies", options->movies, 2 } };

    for (size_t i = 0; i < ELEMENTS(ids); i++)
        if (ids[i].value != 0 && (ids[i].value < ids[i].min || ids[i].value > IDS_MAX))
            return edl_error_set(error, -EINVAL, "--%s %" PRIu64 " is outside %" PRIu64 " to %d",
                                 ids[i].name, ids[i].value, ids[i].min, IDS_MAX);
    return source_check(options, RATINGS_MIN, error);
}

int source_open_recommendation(const struct source_options *options, struct source *ret,
                               struct edl_error *error)
{
    int r = check(options, error);
    struct ratings *ratings;

    if (r < 0)
        return r;
    ratings = xcalloc(1, sizeof *ratings);
    ratings->options = (struct planted_options){
        .seed = options->seed,
        .n_ratings = (size_t)(options->samples != 0 ? options->samples : RATINGS_DEFAULT),
        .user_id_max = (uint32_t)(options->users != 0 ? options->users : USERS_DEFAULT),
        .movie_id_max = (uint32_t)(options->movies != 0 ? options->movies : MOVIES_DEFAULT),
        .noise = (double)(options->noise >= 0 ? options->noise : NOISE_DEFAULT),
        .rounded = options->rounded,
    };
    planted_make(&ratings->options, &ratings->planted);
    fill(ratings, options->seed, ret);
    return 0;
}

int source_open_ml_1m(const struct source_options *options, struct source *ret,
                      struct edl_error *error)
{
    struct movielens m = { 0 };
    struct ratings *ratings;
    int r;

    if (options->data == NULL) {
        (void)edl_error_set(error, -EINVAL, "--data is missing");
        return edl_error_remedy(error, "--data DIR names the folder with users.dat, movies.dat "
                                       "and ratings.dat of MovieLens 1M");
    }
    r = movielens_read(options->data, &m, error);
    if (r < 0)
        return r;
    ratings = xcalloc(1, sizeof *ratings);
    ratings->planted.m = m;
    fill(ratings, options->seed, ret);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* planted_ratings.h - ratings of a world whose tastes are known
 *
 * A user and a film are vectors: sums of a vector for each of their features, and of a little of
 * their own. A user's opinion of a film is 5 times the cosine of the two, from -5 to 5. So (5 cos +
 * 5) / 2 are the true stars, 0 to 5. A rating is the true stars and normal noise; or that, rounded
 * to 1..5 stars, which adds noise of its own. */
#pragma once

#include <stdbool.h>

#include "trainer/data/movielens.h"

struct planted_options {
    uint64_t seed;
    size_t n_ratings;
    uint32_t user_id_max, movie_id_max; /* the second at least 2 */
    double noise;                       /* in stars */
    bool rounded;
};

struct planted {
    struct movielens m;
    float *truth; /* true stars of each rating */
};

/* planted_make - *ret is the caller's (planted_clear); all values are bounded by the caller */
void planted_make(const struct planted_options *options, struct planted *ret);
void planted_clear(struct planted *planted);

/* rounded_mean_variance - of a rating that is rounded: its mean and variance when the true stars
 * are known */
void rounded_mean_variance(double truth, double noise, double *ret_mean, double *ret_variance);

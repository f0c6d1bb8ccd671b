/* SPDX-License-Identifier: Apache-2.0 */
/* movielens.h - ratings of films by users, as MovieLens 1M has them
 *
 * users.dat `id::gender::age::occupation::zip`, movies.dat `id::title (year)::genre|genre`,
 * ratings.dat `user::movie::stars::time`, in Latin-1. Dictionaries: characters of titles, genres
 * and genders by first appearance, ages and occupations sorted as text. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "trainer/data/batch.h"
#include "trainer/data/sample.h"

struct edl_error;

#define MOVIELENS_INPUTS 8
#define MOVIELENS_GENRES_MAX 32

struct movielens_user {
    uint32_t id; /* from 1 */
    uint32_t gender, age, occupation;
};

struct movielens_movie {
    uint32_t id;                      /* from 1 */
    uint32_t genres;                  /* bits */
    uint32_t title_first, title_size; /* in title_ids */
};

struct movielens_rating {
    uint32_t user, movie; /* places in users and movies */
    float stars;
};

struct movielens {
    struct movielens_user *users;
    struct movielens_movie *movies;
    struct movielens_rating *ratings;
    int32_t *title_ids;
    size_t n_users, n_movies, n_ratings, n_title_ids;
    uint32_t user_id_max, movie_id_max;
    uint32_t n_characters, n_genres, n_genders, n_ages, n_occupations;
};

/* One of the three files in memory; what follows the last byte is a NUL. */
struct movielens_text {
    const char *file; /* for errors */
    const char *bytes;
    size_t size;
};

/* movielens_parse - *ret is the caller's (movielens_clear)
 * Errors: EDL_ECORRUPT names file, line and value. */
int movielens_parse(const struct movielens_text *users, const struct movielens_text *movies,
                    const struct movielens_text *ratings, struct movielens *ret,
                    struct edl_error *error);

/* movielens_read - the three files of a folder; errors of reading them, and of movielens_parse */
int movielens_read(const char *folder, struct movielens *ret, struct edl_error *error);
void movielens_clear(struct movielens *m);

/* movielens_inputs - movie_id, title, genres, user_id, gender, age, occupation, rating */
void movielens_inputs(const struct movielens *m, struct input_spec ret[MOVIELENS_INPUTS]);

/* Where the values of one sample lie. */
struct movielens_sample {
    int32_t movie_id, user_id, gender, age, occupation;
    float genres[MOVIELENS_GENRES_MAX], rating;
};

/* movielens_values - of one rating; they point into m and room. The target is 2 * stars - 5. */
void movielens_values(const struct movielens *m, const struct movielens_rating *rating,
                      struct movielens_sample *room, struct sample_value ret[MOVIELENS_INPUTS]);

/* Places of ratings. */
struct movielens_split {
    uint32_t *train, *test;
    size_t n_train, n_test;
};

/* movielens_split - of each user's n ratings int(n * 0.1) to test, chosen by seed; then the train
 * set is shuffled. The test set goes by user. */
void movielens_split(const struct movielens *m, uint64_t seed, struct movielens_split *ret);
void movielens_split_clear(struct movielens_split *split);

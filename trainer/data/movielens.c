/* SPDX-License-Identifier: Apache-2.0 */
/* movielens.c - samples out of ratings: their inputs, their values, the two sets */
#include "trainer/data/movielens.h"

#include <limits.h>
#include <stdio.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "trainer/data/random_stream.h"
#include "trainer/data/text_file.h"

#define RATINGS_BYTES_MAX ((size_t)1 << 30)
#define OTHERS_BYTES_MAX ((size_t)1 << 26)
#define TEST_SHARE 10 /* one of so many */

enum { STREAM_SPLIT = 1, STREAM_SHUFFLE };

static int read_one(const char *folder, const char *name, size_t bytes_max, char **ret_path,
                    char **ret_bytes, size_t *ret_size, struct edl_error *error)
{
    if (asprintf(ret_path, "%s/%s", folder, name) < 0)
        abort();
    return text_file_read(*ret_path, bytes_max, ret_bytes, ret_size, error);
}

int movielens_read(const char *folder, struct movielens *ret, struct edl_error *error)
{
    static const struct {
        const char *name;
        size_t bytes_max;
    } files[] = {
        { "users.dat", OTHERS_BYTES_MAX },
        { "movies.dat", OTHERS_BYTES_MAX },
        { "ratings.dat", RATINGS_BYTES_MAX },
    };
    char *paths[ELEMENTS(files)] = { NULL }, *bytes[ELEMENTS(files)] = { NULL };
    struct movielens_text texts[ELEMENTS(files)] = { 0 };
    int r = 0;

    for (size_t i = 0; r == 0 && i < ELEMENTS(files); i++) {
        r = read_one(folder, files[i].name, files[i].bytes_max, &paths[i], &bytes[i],
                     &texts[i].size, error);
        texts[i].file = paths[i];
        texts[i].bytes = bytes[i];
    }
    if (r < 0)
        (void)edl_error_remedy(error, "--data names the folder with users.dat, movies.dat and "
                                      "ratings.dat of MovieLens 1M");
    else
        r = movielens_parse(&texts[0], &texts[1], &texts[2], ret, error);
    for (size_t i = 0; i < ELEMENTS(files); i++) {
        free(paths[i]);
        free(bytes[i]);
    }
    return r;
}

void movielens_clear(struct movielens *m)
{
    free(m->users);
    free(m->movies);
    free(m->ratings);
    free(m->title_ids);
    *m = (struct movielens){ 0 };
}

void movielens_inputs(const struct movielens *m, struct input_spec ret[MOVIELENS_INPUTS])
{
    const struct input_spec inputs[MOVIELENS_INPUTS] = {
        { "movie_id", INPUT_INTEGER, m->movie_id_max },
        { "title", INPUT_SEQUENCE, m->n_characters },
        { "genres", INPUT_DENSE, m->n_genres },
        { "user_id", INPUT_INTEGER, m->user_id_max },
        { "gender", INPUT_INTEGER, m->n_genders },
        { "age", INPUT_INTEGER, m->n_ages },
        { "occupation", INPUT_INTEGER, m->n_occupations },
        { "rating", INPUT_DENSE, 1 },
    };

    memcpy(ret, inputs, sizeof inputs);
}

void movielens_values(const struct movielens *m, const struct movielens_rating *rating,
                      struct movielens_sample *room, struct sample_value ret[MOVIELENS_INPUTS])
{
    const struct movielens_user *user = &m->users[rating->user];
    const struct movielens_movie *movie = &m->movies[rating->movie];

    *room = (struct movielens_sample){ .movie_id = (int32_t)movie->id - 1,
                                       .user_id = (int32_t)user->id - 1,
                                       .gender = (int32_t)user->gender,
                                       .age = (int32_t)user->age,
                                       .occupation = (int32_t)user->occupation,
                                       .rating = 2 * rating->stars - 5 };
    for (uint32_t g = 0; g < m->n_genres; g++)
        room->genres[g] = (float)(movie->genres >> g & 1);
    ret[0] = (struct sample_value){ .ids = &room->movie_id };
    ret[1] = (struct sample_value){ .ids = m->title_ids + movie->title_first,
                                    .n_ids = movie->title_size };
    ret[2] = (struct sample_value){ .values = room->genres };
    ret[3] = (struct sample_value){ .ids = &room->user_id };
    ret[4] = (struct sample_value){ .ids = &room->gender };
    ret[5] = (struct sample_value){ .ids = &room->age };
    ret[6] = (struct sample_value){ .ids = &room->occupation };
    ret[7] = (struct sample_value){ .values = &room->rating };
}

static void shuffle(uint32_t *places, size_t n, uint64_t state)
{
    for (size_t i = n; i > 1; i--) {
        size_t j = (size_t)random_below(&state, i);
        uint32_t keep = places[i - 1];

        places[i - 1] = places[j];
        places[j] = keep;
    }
}

/* Places of ratings grouped by user; ret_ends: [n_users + 1], where each user's begin, and the end.
 */
static void group_by_user(const struct movielens *m, uint32_t *ret_places, size_t *ret_ends)
{
    for (size_t i = 0; i < m->n_ratings; i++)
        ret_ends[m->ratings[i].user + 1]++;
    for (size_t u = 0; u < m->n_users; u++)
        ret_ends[u + 1] += ret_ends[u];
    for (size_t i = m->n_ratings; i-- > 0;) /* from the back, so that ends become beginnings */
        ret_places[--ret_ends[m->ratings[i].user + 1]] = (uint32_t)i;
    for (size_t u = 0; u < m->n_users; u++)
        ret_ends[u] = ret_ends[u + 1];
    ret_ends[m->n_users] = m->n_ratings;
}

void movielens_split(const struct movielens *m, uint64_t seed, struct movielens_split *ret)
{
    _cleanup_free_ uint32_t *places = xcalloc(m->n_ratings, sizeof *places);
    _cleanup_free_ size_t *ends = xcalloc(m->n_users + 1, sizeof *ends);
    struct movielens_split split = { .train = xcalloc(m->n_ratings, sizeof *split.train),
                                     .test = xcalloc(m->n_ratings / TEST_SHARE + 1,
                                                     sizeof *split.test) };

    group_by_user(m, places, ends);
    for (size_t u = 0; u < m->n_users; u++) {
        const size_t n = ends[u + 1] - ends[u], n_test = n / TEST_SHARE;

        shuffle(places + ends[u], n, random_stream(seed, STREAM_SPLIT, m->users[u].id));
        memcpy(split.test + split.n_test, places + ends[u], n_test * sizeof *places);
        memcpy(split.train + split.n_train, places + ends[u] + n_test,
               (n - n_test) * sizeof *places);
        split.n_test += n_test;
        split.n_train += n - n_test;
    }
    shuffle(split.train, split.n_train, random_stream(seed, STREAM_SHUFFLE, 0));
    *ret = split;
}

void movielens_split_clear(struct movielens_split *split)
{
    free(split->train);
    free(split->test);
    *split = (struct movielens_split){ 0 };
}

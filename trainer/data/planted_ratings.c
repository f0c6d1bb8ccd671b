/* SPDX-License-Identifier: Apache-2.0 */
/* planted_ratings.c - ratings of a world whose tastes are known */
#include "trainer/data/planted_ratings.h"

#include "shared/cleanup.h"
#include "shared/macro.h"
#include "trainer/data/random_stream.h"

#define TASTES 6              /* length of a vector */
#define COMMON 1.2            /* of each vector in its first place: most ratings are friendly */
#define FEATURE_DEVIATION 0.7 /* of all features of a user, or of a film, together */
#define OWN_DEVIATION 0.25    /* of what a user or a film has alone */
#define GENDERS 2
#define AGES 7
#define OCCUPATIONS 21
#define GENRES 18
#define GENRES_OF_FILM_MAX 3
#define CHARACTERS 98 /* 0 is the blank */
#define WORDS 64
#define WORD_SIZE_MIN 3
#define WORD_SIZE_MAX 5
#define WORDS_OF_TITLE_MAX 4
/* films that exist, of all ids */
#define FILMS_OF_IDS(max) ((max)*UINT64_C(3883) / 3952)

enum { STREAM_WORLD = 1, STREAM_USER, STREAM_FILM, STREAM_RATINGS, STREAM_ACTIVITY };

struct vector {
    double at[TASTES];
};

struct world {
    struct vector genders[GENDERS], ages[AGES], occupations[OCCUPATIONS];
    struct vector genres[GENRES], words[WORDS];
    struct vector user_own, film_own; /* one direction of each */
    struct {
        int32_t ids[WORD_SIZE_MAX];
        uint32_t size;
    } spelled[WORDS];
};

static void draw_vectors(struct vector *vectors, size_t n, double deviation, uint64_t *state)
{
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < TASTES; k++)
            vectors[i].at[k] = deviation * random_normal(state);
}

static void add(struct vector *to, const struct vector *what, double factor)
{
    for (int k = 0; k < TASTES; k++)
        to->at[k] += factor * what->at[k];
}

static double cosine(const struct vector *a, const struct vector *b)
{
    double product = 0, square_a = 0, square_b = 0;

    for (int k = 0; k < TASTES; k++) {
        product += a->at[k] * b->at[k];
        square_a += a->at[k] * a->at[k];
        square_b += b->at[k] * b->at[k];
    }
    return product / sqrt(square_a * square_b);
}

static void draw_world(struct world *w, uint64_t seed)
{
    const double of_user = FEATURE_DEVIATION / sqrt(3), of_film = FEATURE_DEVIATION / sqrt(2);
    uint64_t state = random_stream(seed, STREAM_WORLD, 0);

    draw_vectors(w->genders, GENDERS, of_user, &state);
    draw_vectors(w->ages, AGES, of_user, &state);
    draw_vectors(w->occupations, OCCUPATIONS, of_user, &state);
    draw_vectors(w->genres, GENRES, of_film, &state);
    draw_vectors(w->words, WORDS, of_film, &state);
    draw_vectors(&w->user_own, 1, OWN_DEVIATION, &state);
    draw_vectors(&w->film_own, 1, OWN_DEVIATION, &state);
    for (size_t i = 0; i < WORDS; i++) {
        w->spelled[i].size =
            WORD_SIZE_MIN + (uint32_t)random_below(&state, WORD_SIZE_MAX - WORD_SIZE_MIN + 1);
        for (uint32_t k = 0; k < w->spelled[i].size; k++)
            w->spelled[i].ids[k] = 1 + (int32_t)random_below(&state, CHARACTERS - 1);
    }
}

static struct movielens_user draw_user(const struct world *w, uint64_t seed, uint32_t id,
                                       struct vector *ret)
{
    uint64_t state = random_stream(seed, STREAM_USER, id);
    struct movielens_user user = { .id = id,
                                   .gender = (uint32_t)random_below(&state, GENDERS),
                                   .age = (uint32_t)random_below(&state, AGES),
                                   .occupation = (uint32_t)random_below(&state, OCCUPATIONS) };

    *ret = (struct vector){ { COMMON } };
    add(ret, &w->genders[user.gender], 1);
    add(ret, &w->ages[user.age], 1);
    add(ret, &w->occupations[user.occupation], 1);
    add(ret, &w->user_own, random_normal(&state));
    return user;
}

/* Words with a blank after each; the vector gets their mean. */
static void draw_title(const struct world *w, struct movielens *m, struct movielens_movie *movie,
                       struct vector *io_vector, uint64_t *state)
{
    const uint32_t n = 1 + (uint32_t)random_below(state, WORDS_OF_TITLE_MAX);

    movie->title_first = (uint32_t)m->n_title_ids;
    for (uint32_t i = 0; i < n; i++) {
        const size_t word = random_below(state, WORDS);

        memcpy(m->title_ids + m->n_title_ids, w->spelled[word].ids,
               w->spelled[word].size * sizeof *m->title_ids);
        m->n_title_ids += w->spelled[word].size;
        m->title_ids[m->n_title_ids++] = 0;
        add(io_vector, &w->words[word], 1.0 / n);
    }
    movie->title_size = (uint32_t)m->n_title_ids - movie->title_first;
}

static struct movielens_movie draw_movie(const struct world *w, struct movielens *m, uint64_t seed,
                                         uint32_t id, struct vector *ret)
{
    uint64_t state = random_stream(seed, STREAM_FILM, id);
    struct movielens_movie movie = { .id = id };
    const int n = 1 + (int)random_below(&state, GENRES_OF_FILM_MAX);

    for (int i = 0; i < n; i++)
        movie.genres |= UINT32_C(1) << random_below(&state, GENRES);
    *ret = (struct vector){ { COMMON } };
    for (uint32_t g = 0; g < GENRES; g++)
        if (movie.genres >> g & 1)
            add(ret, &w->genres[g], 1.0 / __builtin_popcount(movie.genres));
    draw_title(w, m, &movie, ret, &state);
    add(ret, &w->film_own, random_normal(&state));
    return movie;
}

static void draw_people(const struct planted_options *o, const struct world *w, struct movielens *m,
                        struct vector *users, struct vector *movies)
{
    for (size_t i = 0; i < m->n_users; i++)
        m->users[i] = draw_user(w, o->seed, (uint32_t)i + 1, &users[i]);
    for (size_t i = 0; i < m->n_movies; i++) { /* ids with gaps, the last one is the largest */
        uint32_t id = m->n_movies == 1
                          ? 1
                          : (uint32_t)(1 + i * (uint64_t)(o->movie_id_max - 1) / (m->n_movies - 1));

        m->movies[i] = draw_movie(w, m, o->seed, id, &movies[i]);
    }
}

/* How many ratings each user gives: some give many times as many as others. */
static void share_out(const struct planted_options *o, size_t n_users, size_t *ret)
{
    uint64_t state = random_stream(o->seed, STREAM_ACTIVITY, 0);
    _cleanup_free_ double *weights = xcalloc(n_users, sizeof *weights);
    double sum = 0;
    size_t given = 0;

    for (size_t u = 0; u < n_users; u++)
        sum += weights[u] = exp(random_normal(&state));
    for (size_t u = 0; u < n_users; u++)
        given += ret[u] = (size_t)((double)o->n_ratings * weights[u] / sum);
    for (size_t u = 0; given < o->n_ratings; u = (u + 1) % n_users, given++)
        ret[u]++;
}

static double rate(const struct planted_options *o, double truth, uint64_t *state)
{
    double stars = truth + o->noise * random_normal(state);

    return o->rounded ? fmin(fmax(floor(stars + 0.5), 1), 5) : stars;
}

static void draw_ratings(const struct planted_options *o, const struct vector *users,
                         const struct vector *movies, struct planted *planted)
{
    struct movielens *m = &planted->m;
    _cleanup_free_ size_t *counts = xcalloc(m->n_users, sizeof *counts);
    size_t n = 0;

    share_out(o, m->n_users, counts);
    for (size_t u = 0; u < m->n_users; u++) {
        uint64_t state = random_stream(o->seed, STREAM_RATINGS, u);

        for (size_t k = 0; k < counts[u] && n < m->n_ratings; k++, n++) {
            double unit = random_unit(&state), truth;
            size_t movie = (size_t)(unit * sqrt(unit) * (double)m->n_movies);

            truth = (5 * cosine(&users[u], &movies[movie]) + 5) / 2;
            planted->truth[n] = (float)truth;
            m->ratings[n] = (struct movielens_rating){ .user = (uint32_t)u,
                                                       .movie = (uint32_t)movie,
                                                       .stars = (float)rate(o, truth, &state) };
        }
    }
}

void planted_make(const struct planted_options *options, struct planted *ret)
{
    _cleanup_free_ struct world *world = xcalloc(1, sizeof *world);
    const size_t n_movies = MAX_OF((size_t)FILMS_OF_IDS(options->movie_id_max), (size_t)1);
    _cleanup_free_ struct vector *users = xcalloc(options->user_id_max, sizeof *users);
    _cleanup_free_ struct vector *movies = xcalloc(n_movies, sizeof *movies);
    const size_t title_max = WORDS_OF_TITLE_MAX * (WORD_SIZE_MAX + 1);

    *ret = (struct planted){
        .m = { .users = xcalloc(options->user_id_max, sizeof *ret->m.users),
               .movies = xcalloc(n_movies, sizeof *ret->m.movies),
               .ratings = xcalloc(options->n_ratings, sizeof *ret->m.ratings),
               .title_ids = xcalloc(n_movies * title_max, sizeof *ret->m.title_ids),
               .n_users = options->user_id_max,
               .n_movies = n_movies,
               .n_ratings = options->n_ratings,
               .user_id_max = options->user_id_max,
               .movie_id_max = options->movie_id_max,
               .n_characters = CHARACTERS,
               .n_genres = GENRES,
               .n_genders = GENDERS,
               .n_ages = AGES,
               .n_occupations = OCCUPATIONS },
        .truth = xcalloc(options->n_ratings, sizeof *ret->truth),
    };
    draw_world(world, options->seed);
    draw_people(options, world, &ret->m, users, movies);
    draw_ratings(options, users, movies, ret);
}

void planted_clear(struct planted *planted)
{
    movielens_clear(&planted->m);
    free(planted->truth);
    *planted = (struct planted){ 0 };
}

/* The share of a normal distribution (mean 0, deviation 1) below x. */
static double below(double x)
{
    return erfc(-x / M_SQRT2) / 2;
}

void rounded_mean_variance(double truth, double noise, double *ret_mean, double *ret_variance)
{
    double mean = 0, square = 0, before = 0;

    for (int stars = 1; stars <= 5; stars++) {
        double upto = stars == 5 ? 1 : below((stars + 0.5 - truth) / fmax(noise, 1e-9));

        mean += stars * (upto - before);
        square += stars * stars * (upto - before);
        before = upto;
    }
    *ret_mean = mean;
    *ret_variance = fmax(square - mean * mean, 0);
}

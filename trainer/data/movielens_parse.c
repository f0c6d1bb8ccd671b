/* SPDX-License-Identifier: Apache-2.0 */
/* movielens_parse.c - the three files of MovieLens 1M; nothing in them is trusted */
#include <errno.h>
#include <inttypes.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "trainer/data/dictionary.h"
#include "trainer/data/movielens.h"

#define FIELDS_MAX 5
#define STARS_MAX 5
#define ID_MAX SAMPLE_INPUT_SIZE_MAX

/* A piece of a line. */
struct field {
    const char *at;
    size_t size;
};

/* A file that is read line by line. */
struct lines {
    const struct movielens_text *text;
    const char *at;
    size_t number; /* of the line last read, from 1 */
    struct field fields[FIELDS_MAX];
    size_t n_fields;
    struct edl_error *error;
};

/* Where ids lie in users or movies: place + 1, 0 where there is none. */
struct places {
    uint32_t *of_id; /* [max + 1] */
    uint32_t max;
};

struct parse {
    struct movielens m;
    size_t users_room, movies_room, ratings_room, title_room;
    struct dictionary genders, ages, occupations, genres;
    uint32_t characters[256]; /* id + 1, by byte */
    struct places user_places, movie_places;
};

static int fail(const struct lines *lines, const char *what, struct field value)
{
    return edl_error_set(lines->error, EDL_ECORRUPT, "%s line %zu: %s: \"%.*s\"", lines->text->file,
                         lines->number, what, (int)MIN_OF(value.size, 60u), value.at);
}

/* The next piece up to a separator or the end; *io_rest becomes what follows the separator. */
static struct field cut(struct field *io_rest, const char *separator)
{
    const size_t width = strlen(separator);
    const char *found =
        io_rest->size > 0 ? memmem(io_rest->at, io_rest->size, separator, width) : NULL;
    struct field piece = *io_rest;

    if (found == NULL) {
        *io_rest = (struct field){ io_rest->at + io_rest->size, 0 };
        return piece;
    }
    piece.size = (size_t)(found - piece.at);
    io_rest->size -= piece.size + width;
    io_rest->at = found + width;
    return piece;
}

/* The fields of the next line; 0 at the end of the file, empty lines are passed over. */
static int next_line(struct lines *lines, size_t n_fields_min)
{
    const char *end = lines->text->bytes + lines->text->size;
    struct field line, whole;

    do {
        const char *newline;

        if (lines->at >= end)
            return 0;
        newline = memchr(lines->at, '\n', (size_t)(end - lines->at));
        line = (struct field){ lines->at, (size_t)((newline != NULL ? newline : end) - lines->at) };
        lines->at += line.size + (newline != NULL);
        lines->number++;
        if (line.size > 0 && line.at[line.size - 1] == '\r')
            line.size--;
    } while (line.size == 0);
    whole = line;
    lines->n_fields = 0;
    while (lines->n_fields < FIELDS_MAX && line.size > 0)
        lines->fields[lines->n_fields++] = cut(&line, "::");
    if (lines->n_fields < n_fields_min)
        return fail(lines, "too few fields with \"::\" between", whole);
    return 1;
}

static int number(const struct lines *lines, size_t i, const char *what, uint32_t max,
                  uint32_t *ret)
{
    const struct field field = lines->fields[i];
    uint32_t value = 0;

    if (field.size == 0 || field.size > 9)
        return fail(lines, what, field);
    for (size_t k = 0; k < field.size; k++) {
        if (field.at[k] < '0' || field.at[k] > '9')
            return fail(lines, what, field);
        value = value * 10 + (uint32_t)(field.at[k] - '0');
    }
    if (value < 1 || value > max)
        return fail(lines, what, field);
    *ret = value;
    return 0;
}

static int word(const struct lines *lines, struct field field, const char *what,
                struct dictionary *dictionary, uint32_t *ret)
{
    if (dictionary_add(dictionary, field.at, field.size, ret) < 0)
        return fail(lines, what, field);
    return 0;
}

/* Enters the id of a line that is the next one of n. */
static int enter(const struct lines *lines, struct places *places, uint32_t id, size_t n)
{
    if (id > places->max || places->of_id == NULL) {
        uint32_t max = MAX_OF(id, MIN_OF(places->max * 2 + 1024, ID_MAX));

        places->of_id = xreallocarray(places->of_id, (size_t)max + 1, sizeof *places->of_id);
        for (size_t i = places->max + (places->max > 0); i <= max; i++)
            places->of_id[i] = 0;
        places->max = max;
    }
    if (places->of_id[id] != 0)
        return fail(lines, "this id was in a line before", lines->fields[0]);
    places->of_id[id] = (uint32_t)n + 1;
    return 0;
}

static int look_up(const struct lines *lines, size_t i, const struct places *places,
                   const char *what, uint32_t *ret)
{
    uint32_t id = 0;
    int r = number(lines, i, what, ID_MAX, &id);

    if (r < 0)
        return r;
    if (id > places->max || places->of_id[id] == 0)
        return fail(lines, what, lines->fields[i]);
    *ret = places->of_id[id] - 1;
    return 0;
}

/* Room for one more. */
#define GROW(array, n, room)                                                                       \
    do {                                                                                           \
        if ((n) == (room)) {                                                                       \
            (room) = (room)*2 + 1024;                                                              \
            (array) = xreallocarray((array), (room), sizeof *(array));                             \
        }                                                                                          \
    } while (0)

static int parse_user(struct parse *p, const struct lines *lines)
{
    struct movielens_user user = { 0 };
    struct field gender = lines->fields[1];
    int r = number(lines, 0, "not the id of a user", ID_MAX, &user.id);

    gender.size = MIN_OF(gender.size, 1u); /* its first character */
    if (r == 0)
        r = enter(lines, &p->user_places, user.id, p->m.n_users);
    if (r == 0)
        r = word(lines, gender, "no gender", &p->genders, &user.gender);
    if (r == 0)
        r = word(lines, lines->fields[2], "no age", &p->ages, &user.age);
    if (r == 0)
        r = word(lines, lines->fields[3], "no occupation", &p->occupations, &user.occupation);
    if (r < 0)
        return r;
    GROW(p->m.users, p->m.n_users, p->users_room);
    p->m.users[p->m.n_users++] = user;
    p->m.user_id_max = MAX_OF(p->m.user_id_max, user.id);
    return 0;
}

/* The title without "(year)" at its end; the blank before it stays. */
static int strip_year(const struct lines *lines, struct field *io_title)
{
    const struct field whole = *io_title;
    size_t n = whole.size;

    if (n == 0 || whole.at[--n] != ')')
        return fail(lines, "a title without \"(year)\" at its end", whole);
    while (n > 0 && whole.at[n - 1] >= '0' && whole.at[n - 1] <= '9')
        n--;
    if (n == 0 || n == whole.size - 1 || whole.at[n - 1] != '(')
        return fail(lines, "a title without \"(year)\" at its end", whole);
    io_title->size = n - 1;
    if (io_title->size == 0 || io_title->size > SAMPLE_SEQUENCE_MAX)
        return fail(lines, "a title of no or too many characters", whole);
    return 0;
}

static void add_title(struct parse *p, struct field title, struct movielens_movie *movie)
{
    movie->title_first = (uint32_t)p->m.n_title_ids;
    movie->title_size = (uint32_t)title.size;
    for (size_t i = 0; i < title.size; i++) {
        uint32_t *id = &p->characters[(uint8_t)title.at[i]];

        if (*id == 0)
            *id = ++p->m.n_characters;
        GROW(p->m.title_ids, p->m.n_title_ids, p->title_room);
        p->m.title_ids[p->m.n_title_ids++] = (int32_t)*id - 1;
    }
}

static int parse_genres(struct parse *p, const struct lines *lines, uint32_t *ret)
{
    struct field rest = lines->fields[2];
    uint32_t genres = 0;

    do {
        uint32_t genre = 0;
        int r =
            word(lines, cut(&rest, "|"), "no genre, or more than 32 of them", &p->genres, &genre);

        if (r < 0)
            return r;
        if (genre >= MOVIELENS_GENRES_MAX)
            return fail(lines, "more than 32 genres", lines->fields[2]);
        genres |= UINT32_C(1) << genre;
    } while (rest.size > 0);
    *ret = genres;
    return 0;
}

static int parse_movie(struct parse *p, const struct lines *lines)
{
    struct movielens_movie movie = { 0 };
    struct field title = lines->fields[1];
    int r = number(lines, 0, "not the id of a film", ID_MAX, &movie.id);

    if (r == 0)
        r = enter(lines, &p->movie_places, movie.id, p->m.n_movies);
    if (r == 0)
        r = strip_year(lines, &title);
    if (r == 0)
        r = parse_genres(p, lines, &movie.genres);
    if (r < 0)
        return r;
    add_title(p, title, &movie);
    GROW(p->m.movies, p->m.n_movies, p->movies_room);
    p->m.movies[p->m.n_movies++] = movie;
    p->m.movie_id_max = MAX_OF(p->m.movie_id_max, movie.id);
    return 0;
}

static int parse_rating(struct parse *p, const struct lines *lines)
{
    struct movielens_rating rating = { 0 };
    uint32_t stars = 0;
    int r = look_up(lines, 0, &p->user_places, "no such user in the file of users", &rating.user);

    if (r == 0)
        r = look_up(lines, 1, &p->movie_places, "no such film in the file of films", &rating.movie);
    if (r == 0)
        r = number(lines, 2, "not a rating of 1 to 5 stars", STARS_MAX, &stars);
    if (r < 0)
        return r;
    rating.stars = (float)stars;
    GROW(p->m.ratings, p->m.n_ratings, p->ratings_room);
    p->m.ratings[p->m.n_ratings++] = rating;
    return 0;
}

static int parse_file(struct parse *p, const struct movielens_text *text, size_t n_fields_min,
                      int (*parse_line)(struct parse *p, const struct lines *lines),
                      struct edl_error *error)
{
    struct lines lines = { .text = text, .at = text->bytes, .error = error };
    size_t n = 0;
    int r;

    while ((r = next_line(&lines, n_fields_min)) > 0) {
        r = parse_line(p, &lines);
        if (r < 0)
            return r;
        n++;
    }
    if (r == 0 && n == 0)
        return edl_error_set(error, EDL_ECORRUPT, "%s is empty", text->file);
    return r;
}

/* What comes after the last line: sorted dictionaries, and how large each is. */
static void finish(struct parse *p)
{
    uint32_t ages[DICTIONARY_MAX], occupations[DICTIONARY_MAX];

    dictionary_ranks(&p->ages, ages);
    dictionary_ranks(&p->occupations, occupations);
    for (size_t i = 0; i < p->m.n_users; i++) {
        p->m.users[i].age = ages[p->m.users[i].age];
        p->m.users[i].occupation = occupations[p->m.users[i].occupation];
    }
    p->m.n_genders = p->genders.n;
    p->m.n_ages = p->ages.n;
    p->m.n_occupations = p->occupations.n;
    p->m.n_genres = p->genres.n;
}

int movielens_parse(const struct movielens_text *users, const struct movielens_text *movies,
                    const struct movielens_text *ratings, struct movielens *ret,
                    struct edl_error *error)
{
    struct parse p = { 0 };
    int r = parse_file(&p, users, 4, parse_user, error);

    if (r == 0)
        r = parse_file(&p, movies, 3, parse_movie, error);
    if (r == 0)
        r = parse_file(&p, ratings, 3, parse_rating, error);
    if (r == 0)
        finish(&p);
    free(p.user_places.of_id);
    free(p.movie_places.of_id);
    if (r < 0)
        movielens_clear(&p.m);
    else
        *ret = p.m;
    return r;
}

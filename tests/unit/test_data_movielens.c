/* SPDX-License-Identifier: Apache-2.0 */
/* test_data_movielens.c - the files of MovieLens 1M become samples, and nothing else does
 *
 * With EDL_ML_1M_DIR, the folder of the real files, their known figures are checked as well. */
#include "tests/unit/test.h"
#include "trainer/data/movielens.h"

#include <stdio.h>
#include <stdlib.h>

#include "trainer_fixture.h"

/* F first, ages and occupations whose order as text is not that of numbers. */
static const char users[] = "3::F::1::10::48067\n"
                            "1::M::56::2::70072\r\n"
                            "7::F::18::1::55117\n";
static const char movies[] = "2::Ab a (1995)::Comedy|Drama\n"
                             "9::\xc9t\xe9 (A) (2000)::Drama\n"
                             "4::C (1)::War|Comedy";
static const char ratings[] = "3::9::5::978300760\n"
                              "1::2::3::978302109\n"
                              "3::4::1::978301968\n";

static int parse(const char *of_users, const char *of_movies, const char *of_ratings,
                 struct movielens *ret, struct edl_error *error)
{
    const struct movielens_text texts[] = { { "U", of_users, strlen(of_users) },
                                            { "M", of_movies, strlen(of_movies) },
                                            { "R", of_ratings, strlen(of_ratings) } };

    return movielens_parse(&texts[0], &texts[1], &texts[2], ret, error);
}

TEST(test_input_order_and_sizes)
{
    static const struct input_spec expected[MOVIELENS_INPUTS] = {
        { "movie_id", INPUT_INTEGER, 9 },   { "title", INPUT_SEQUENCE, 10 },
        { "genres", INPUT_DENSE, 3 },       { "user_id", INPUT_INTEGER, 7 },
        { "gender", INPUT_INTEGER, 2 },     { "age", INPUT_INTEGER, 3 },
        { "occupation", INPUT_INTEGER, 3 }, { "rating", INPUT_DENSE, 1 },
    };
    struct input_spec inputs[MOVIELENS_INPUTS];
    struct movielens m = { 0 };

    assert_int_equal(parse(users, movies, ratings, &m, NULL), 0);
    movielens_inputs(&m, inputs);
    for (int i = 0; i < MOVIELENS_INPUTS; i++) {
        assert_string_equal(inputs[i].name, expected[i].name);
        assert_int_equal(inputs[i].kind, expected[i].kind);
        assert_int_equal(inputs[i].size, expected[i].size);
    }
    movielens_clear(&m);
}

/* Values of rating i, with the title spelt out by number of character. */
struct expected {
    int32_t movie_id, user_id, gender, age, occupation;
    float genres[3], rating;
    int32_t title[12];
    uint32_t title_size;
};

static void check_sample(const struct movielens *m, size_t i, const struct expected *e)
{
    struct sample_value values[MOVIELENS_INPUTS];
    struct movielens_sample room;

    movielens_values(m, &m->ratings[i], &room, values);
    assert_int_equal(values[0].ids[0], e->movie_id);
    assert_int_equal(values[1].n_ids, e->title_size);
    assert_memory_equal(values[1].ids, e->title, e->title_size * sizeof e->title[0]);
    assert_memory_equal(values[2].values, e->genres, sizeof e->genres);
    assert_int_equal(values[3].ids[0], e->user_id);
    assert_int_equal(values[4].ids[0], e->gender);
    assert_int_equal(values[5].ids[0], e->age);
    assert_int_equal(values[6].ids[0], e->occupation);
    assert_true(values[7].values[0] == e->rating);
}

/* Characters by first appearance: A 0, b 1, blank 2, a 3, \xc9 4, t 5, \xe9 6, ( 7, ) 8, C 9. The
 * year goes, the blank before it stays. Genres: Comedy, Drama, War. Ages as text: 1, 18, 56;
 * occupations 1, 10, 2. The rating is 2 * stars - 5. */
TEST(test_values)
{
    static const struct expected expected[] = {
        { 8, 2, 0, 0, 1, { 0, 1, 0 }, 5, { 4, 5, 6, 2, 7, 0, 8, 2 }, 8 },
        { 1, 0, 1, 2, 2, { 1, 1, 0 }, 1, { 0, 1, 2, 3, 2 }, 5 },
        { 3, 2, 0, 0, 1, { 1, 0, 1 }, -3, { 9, 2 }, 2 },
    };
    struct movielens m = { 0 };

    assert_int_equal(parse(users, movies, ratings, &m, NULL), 0);
    assert_int_equal(m.n_ratings, ELEMENTS(expected));
    for (size_t i = 0; i < ELEMENTS(expected); i++)
        check_sample(&m, i, &expected[i]);
    movielens_clear(&m);
}

TEST(test_wrong_lines_are_named)
{
    static const struct {
        const char *users, *movies, *ratings, *says;
    } wrong[] = {
        { "", movies, ratings, "U is empty" },
        { "\n\n", movies, ratings, "U is empty" },
        { "1::M::1\n", movies, ratings,
          "U line 1: too few fields with \"::\" between: \"1::M::1\"" },
        { "\n1:M:1:0\n", movies, ratings, "U line 2: too few fields" },
        { "x::M::1::0\n", movies, ratings, "U line 1: not the id of a user: \"x\"" },
        { "0::M::1::0\n", movies, ratings, "U line 1: not the id of a user: \"0\"" },
        { "-1::M::1::0\n", movies, ratings, "U line 1: not the id of a user: \"-1\"" },
        { "99999999999999999999::M::1::0\n", movies, ratings, "not the id of a user: \"9999" },
        { "16777217::M::1::0\n", movies, ratings, "not the id of a user: \"16777217\"" },
        { "1::M::1::0\n1::F::1::0\n", movies, ratings, "U line 2: this id was in a line before" },
        { "1::::1::0\n", movies, ratings, "U line 1: no gender" },
        { users, "1::A::War\n", ratings, "M line 1: a title without \"(year)\" at its end: \"A\"" },
        { users, "1::A ()::War\n", ratings, "M line 1: a title without \"(year)\"" },
        { users, "1::A (19x5)::War\n", ratings, "M line 1: a title without \"(year)\"" },
        { users, "1::1995)::War\n", ratings, "M line 1: a title without \"(year)\"" },
        { users, "1::(1995)::War\n", ratings, "M line 1: a title of no or too many characters" },
        { users, "1::A (1995)\n", ratings, "M line 1: too few fields" },
        { users, "1::A (1995)::War||Drama\n", ratings, "M line 1: no genre" },
        { users, "1::A (1)::a|b|c|d|e|f|g|h|i|j|k|l|m|n|o|p|q|r|s|t|u|v|w|x|y|z|1|2|3|4|5|6|7\n",
          ratings, "M line 1: more than 32 genres" },
        { users, movies, "2::9::5::1\n", "R line 1: no such user in the file of users: \"2\"" },
        { users, movies, "3::16777216::5::1\n", "R line 1: no such film in the file of films" },
        { users, movies, "3::3::5::1\n", "R line 1: no such film in the file of films: \"3\"" },
        { users, movies, "3::9::5::1\n3::9::6::1\n",
          "R line 2: not a rating of 1 to 5 stars: \"6\"" },
        { users, movies, "3::9::0::1\n", "R line 1: not a rating of 1 to 5 stars" },
        { users, movies, "3::9::4.5::1\n", "R line 1: not a rating of 1 to 5 stars" },
    };

    for (size_t i = 0; i < ELEMENTS(wrong); i++) {
        struct movielens m = { .n_users = 77 };
        struct edl_error error = { 0 };
        int r = parse(wrong[i].users, wrong[i].movies, wrong[i].ratings, &m, &error);

        if (r != EDL_ECORRUPT || strstr(error.text, wrong[i].says) == NULL)
            fail_msg("%s: %d %s", wrong[i].says, r, error.text);
        assert_int_equal(m.n_users, 77);
    }
}

/* Users 0..n-1 with i ratings each; the films say which rating it is. */
static void make_ratings(uint32_t n_users, struct movielens *ret)
{
    struct movielens m = { .n_users = n_users, .n_ratings = n_users * (n_users - 1) / 2 };
    size_t n = 0;

    m.users = xcalloc(n_users, sizeof *m.users);
    m.ratings = xcalloc(m.n_ratings, sizeof *m.ratings);
    for (uint32_t u = 0; u < n_users; u++)
        m.users[u].id = u + 1;
    for (uint32_t k = 0; n < m.n_ratings; k++) /* users take turns, so their ratings lie apart */
        for (uint32_t u = k + 1; u < n_users; u++)
            m.ratings[n++] = (struct movielens_rating){ .user = u, .movie = k };
    *ret = m;
}

TEST(test_split_takes_a_tenth_of_each_user)
{
    enum { USERS = 64 };
    struct movielens m = { 0 };
    struct movielens_split split = { 0 };
    uint32_t tests[USERS] = { 0 };
    uint8_t *seen;
    size_t expected = 0;

    make_ratings(USERS, &m);
    seen = xcalloc(m.n_ratings, 1);
    movielens_split(&m, 1, &split);
    for (uint32_t u = 0; u < USERS; u++)
        expected += (size_t)(u * 0.1);
    assert_int_equal(split.n_test, expected);
    assert_int_equal(split.n_train + split.n_test, m.n_ratings);
    for (size_t i = 0; i < split.n_train; i++)
        seen[split.train[i]]++;
    for (size_t i = 0; i < split.n_test; i++) {
        seen[split.test[i]]++;
        tests[m.ratings[split.test[i]].user]++;
    }
    for (size_t i = 0; i < m.n_ratings; i++)
        assert_int_equal(seen[i], 1);
    for (uint32_t u = 0; u < USERS; u++)
        assert_int_equal(tests[u], (uint32_t)(u * 0.1));
    free(seen);
    movielens_split_clear(&split);
    movielens_clear(&m);
}

TEST(test_split_follows_its_seed)
{
    struct movielens m = { 0 };
    struct movielens_split one = { 0 }, again = { 0 }, two = { 0 };

    make_ratings(64, &m);
    movielens_split(&m, 1, &one);
    movielens_split(&m, 1, &again);
    movielens_split(&m, 2, &two);
    assert_memory_equal(one.train, again.train, one.n_train * sizeof *one.train);
    assert_memory_equal(one.test, again.test, one.n_test * sizeof *one.test);
    assert_memory_not_equal(one.train, two.train, one.n_train * sizeof *one.train);
    assert_memory_not_equal(one.test, two.test, one.n_test * sizeof *one.test);
    movielens_split_clear(&one);
    movielens_split_clear(&again);
    movielens_split_clear(&two);
    movielens_clear(&m);
}

/* With one rating each nothing can be chosen for testing: what is left of a seed is the order. */
TEST(test_train_ratings_are_shuffled)
{
    enum { USERS = 64 };
    struct movielens m = { .n_users = USERS, .n_ratings = USERS };
    struct movielens_split one = { 0 }, two = { 0 };
    uint32_t in_order[USERS];

    m.users = xcalloc(USERS, sizeof *m.users);
    m.ratings = xcalloc(USERS, sizeof *m.ratings);
    for (uint32_t u = 0; u < USERS; u++)
        m.ratings[u].user = in_order[u] = u;
    movielens_split(&m, 1, &one);
    movielens_split(&m, 2, &two);
    assert_int_equal(one.n_train, USERS);
    assert_memory_not_equal(one.train, in_order, sizeof in_order);
    assert_memory_not_equal(one.train, two.train, sizeof in_order);
    movielens_split_clear(&one);
    movielens_split_clear(&two);
    movielens_clear(&m);
}

TEST(test_the_real_files)
{
    const char *folder = getenv("EDL_ML_1M_DIR");
    static const uint32_t sizes[] = { 3952, 98, 18, 6040, 2, 7, 21, 1 };
    struct input_spec inputs[MOVIELENS_INPUTS];
    struct movielens_split split = { 0 };
    struct movielens m = { 0 };

    if (folder == NULL)
        skip();
    assert_int_equal(movielens_read(folder, &m, NULL), 0);
    movielens_inputs(&m, inputs);
    for (int i = 0; i < MOVIELENS_INPUTS; i++)
        assert_int_equal(inputs[i].size, sizes[i]);
    movielens_split(&m, 1, &split);
    assert_int_equal(split.n_train, 902826);
    assert_int_equal(split.n_test, 97383);
    movielens_split_clear(&split);
    movielens_clear(&m);
}

TEST(test_folder_without_the_files)
{
    struct movielens m = { 0 };
    struct edl_error error = { 0 };
    char folder[64];

    folder_make(folder, sizeof folder);
    assert_true(movielens_read(folder, &m, &error) < 0);
    assert_non_null(strstr(error.text, "/users.dat"));
    assert_non_null(strstr(error.remedy, "--data names the folder"));
    folder_remove(folder);
}

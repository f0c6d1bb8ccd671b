/* SPDX-License-Identifier: Apache-2.0 */
/* test_goodput_family.c - lengths of jobs from others of their family */
#include <stdio.h>
#include <stdint.h>

#include "scheduler/core/speed/family.h"
#include "scheduler/core/speed/prior.h"
#include "tests/unit/test.h"

#define assert_work(families, name, done, expected)                                                \
    assert_true(goodput_family_work(families, name, done) == (double)(expected))

TEST(test_median_of_the_longer_ones)
{
    struct goodput_families *families = goodput_families_new();
    static const double ended[] = { 50, 10, 40, 20, 30 };

    for (size_t i = 0; i < 5; i++)
        goodput_family_ended(families, "a", ended[i]);
    assert_work(families, "a", 0, 30);
    assert_work(families, "a", 9, 30);
    assert_work(families, "a", 10, 40); /* 20, 30, 40, 50: the upper one of the two in the middle */
    assert_work(families, "a", 25, 40);
    assert_work(families, "a", 45, 50);
    assert_work(families, "b", 0, 0);
    assert_null(goodput_families_free(families));
}

TEST(test_mixture)
{
    struct goodput_families *families = goodput_families_new();

    for (int i = 0; i < 90; i++)
        goodput_family_ended(families, "m", 1);
    for (int i = 0; i < 10; i++)
        goodput_family_ended(families, "m", 1000);
    assert_work(families, "m", 0, 1);
    assert_work(families, "m", 1, 1000); /* who is not over after 1 is one of the others */
    assert_null(goodput_families_free(families));
}

TEST(test_nobody_has_ended)
{
    struct goodput_families *families = goodput_families_new();

    goodput_family_begun(families, "a");
    goodput_family_done(families, "a", 70);
    assert_work(families, "a", 70, 0); /* alone: it knows nothing that its own level does not */
    goodput_family_begun(families, "a");
    assert_work(families, "a", 0, 140);
    assert_work(families, "a", 70, 140);
    goodput_family_done(families, "a", 60); /* another one: the most counts */
    assert_work(families, "a", 60, 140);
    goodput_family_ended(families, "a", 80);
    assert_work(families, "a", 60, 80);
    assert_work(families, "a", 90, 180); /* beyond all that ended */
    assert_null(goodput_families_free(families));
}

TEST(test_no_family)
{
    struct goodput_families *families = goodput_families_new();

    goodput_family_begun(families, "");
    goodput_family_begun(families, "");
    goodput_family_done(families, "", 5);
    goodput_family_ended(families, "", 9);
    assert_work(families, "", 1, 0);
    assert_null(goodput_families_free(families));
    assert_null(goodput_families_free(NULL));
}

TEST(test_many_keep_their_shape)
{
    struct goodput_families *families = goodput_families_new();
    struct goodput_family_facts facts;
    double median;

    for (int i = 0; i < 100000; i++)
        goodput_family_ended(families, "a", (double)((i * 7919LL) % 1000));
    median = goodput_family_work(families, "a", -1);
    assert_true(median > 450 && median < 550);
    median = goodput_family_work(families, "a", 800);
    assert_true(median > 880 && median < 920);
    goodput_families_bound(families, 10, 100);
    for (int i = 0; i < 1000; i++) {
        goodput_family_ended(families, "a", (double)((i * 7919LL) % 1000));
        assert_true(goodput_family_get(families, "a", &facts));
        assert_true(facts.n_ended <= 100);
    }
    median = goodput_family_work(families, "a", -1);
    assert_true(median > 400 && median < 600);
    assert_null(goodput_families_free(families));
}

/* The one that nothing was noted of for longest goes. */
TEST(test_bounded_number_of_families)
{
    struct goodput_families *families = goodput_families_new();
    char name[2] = "a";

    for (; name[0] <= 'e'; name[0]++)
        goodput_family_ended(families, name, name[0]);
    goodput_families_bound(families, 3, 16);
    assert_work(families, "b", 0, 0);
    assert_work(families, "c", 0, 'c');
    goodput_family_done(families, "c", 1);
    goodput_family_begun(families, "f");
    assert_work(families, "d", 0, 0);
    assert_work(families, "c", 0, 'c');
    assert_work(families, "e", 0, 'e');
    goodput_family_prior(families, "e")->largest = 7;
    goodput_family_begun(families, "g");
    goodput_family_begun(families, "h");
    assert_work(families, "c", 0, 0);
    assert_work(families, "e", 0, 'e');
    assert_int_equal(goodput_family_prior(families, "e")->largest, 7);
    assert_null(goodput_family_prior(families, ""));
    assert_null(goodput_families_free(families));
}

static bool is_known(const struct goodput_families *families, const char *name)
{
    struct goodput_family_facts facts;

    return goodput_family_get(families, name, &facts);
}

/* Each has his share: only whoever has the most loses something, by what was not noted of for
 * longest. */
TEST(test_nobody_pushes_others_out)
{
    struct goodput_families *families = goodput_families_new();
    char name[16];

    goodput_families_bound(families, 4, 16);
    goodput_family_begun(families, "bob:1");
    goodput_family_begun(families, "bob:2");
    for (int i = 0; i < 20; i++) {
        (void)snprintf(name, sizeof(name), "amy:%d", i);
        goodput_family_begun(families, name);
        assert_true(is_known(families, "bob:1") && is_known(families, "bob:2"));
        assert_true(is_known(families, name));
    }
    assert_true(is_known(families, "amy:18"));
    assert_false(is_known(families, "amy:17"));
    /* a third one: both have two, and bob's have not been noted of for longer */
    goodput_family_done(families, "bob:1", 5);
    goodput_family_begun(families, "cat:1");
    assert_false(is_known(families, "bob:2"));
    assert_true(is_known(families, "bob:1") && is_known(families, "amy:18"));
    /* who gets more than the others loses his own, although another's is older */
    goodput_family_begun(families, "cat:2");
    goodput_family_begun(families, "cat:3");
    assert_true(is_known(families, "bob:1"));
    assert_true(is_known(families, "cat:2") && is_known(families, "cat:3"));
    assert_false(is_known(families, "cat:1"));
    families = goodput_families_free(families);
}

TEST(test_copy_is_independent)
{
    struct goodput_families *families = goodput_families_new();
    struct goodput_families *copy;

    goodput_families_bound(families, 2, 16);
    goodput_family_ended(families, "a", 10);
    goodput_family_begun(families, "b"); /* nobody has ended */
    goodput_family_prior(families, "a")->largest = 4;
    copy = goodput_families_copy(families);
    for (int i = 0; i < 3; i++)
        goodput_family_ended(copy, "a", 100);
    assert_work(copy, "a", 0, 100);
    assert_work(families, "a", 0, 10);
    assert_int_equal(goodput_family_prior(copy, "a")->largest, 4);
    goodput_family_ended(copy, "b", 7);
    goodput_family_ended(copy, "c", 7); /* bounded as well, in the same order */
    assert_work(copy, "a", 0, 0);
    assert_work(copy, "b", 0, 7);
    assert_null(goodput_families_free(copy));
    assert_work(families, "a", 0, 10);
    assert_null(goodput_families_free(families));
}

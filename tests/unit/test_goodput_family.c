/* SPDX-License-Identifier: Apache-2.0 */
/* test_goodput_family.c - lengths of jobs from others of their family */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scheduler/core/goodput_family.h"

#define assert_work(families, name, done, expected)                                                \
    assert_true(goodput_family_work(families, name, done) == (double)(expected))

static void test_median_of_the_longer_ones(void **state)
{
    struct goodput_families *families = goodput_families_new();
    static const double ended[] = { 50, 10, 40, 20, 30 };

    (void)state;
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

static void test_mixture(void **state)
{
    struct goodput_families *families = goodput_families_new();

    (void)state;
    for (int i = 0; i < 90; i++)
        goodput_family_ended(families, "m", 1);
    for (int i = 0; i < 10; i++)
        goodput_family_ended(families, "m", 1000);
    assert_work(families, "m", 0, 1);
    assert_work(families, "m", 1, 1000); /* who is not over after 1 is one of the others */
    assert_null(goodput_families_free(families));
}

static void test_nobody_has_ended(void **state)
{
    struct goodput_families *families = goodput_families_new();

    (void)state;
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

static void test_no_family(void **state)
{
    struct goodput_families *families = goodput_families_new();

    (void)state;
    goodput_family_begun(families, "");
    goodput_family_begun(families, "");
    goodput_family_done(families, "", 5);
    goodput_family_ended(families, "", 9);
    assert_work(families, "", 1, 0);
    assert_null(goodput_families_free(families));
    assert_null(goodput_families_free(NULL));
}

static void test_many_keep_their_shape(void **state)
{
    struct goodput_families *families = goodput_families_new();
    double median;

    (void)state;
    for (int i = 0; i < 100000; i++)
        goodput_family_ended(families, "a", (double)((i * 7919LL) % 1000));
    median = goodput_family_work(families, "a", -1);
    assert_true(median > 450 && median < 550);
    median = goodput_family_work(families, "a", 800);
    assert_true(median > 880 && median < 920);
    assert_null(goodput_families_free(families));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_median_of_the_longer_ones), cmocka_unit_test(test_mixture),
        cmocka_unit_test(test_nobody_has_ended),          cmocka_unit_test(test_no_family),
        cmocka_unit_test(test_many_keep_their_shape),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

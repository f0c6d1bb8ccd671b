/* SPDX-License-Identifier: Apache-2.0 */
/* test_agreement.c - trainers of the same servers that were started with other flags */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/test.h"
#include "trainer/wire/agreement.h"
#include "trainer/exchange/local_sgd.h"
#include "trainer/server/pserver_terms.h"
#include "trainer/wire/wire.h"

static const struct agreement usual = {
    .trainers = 4, .send_every = 3, .center = LOCAL_SGD_AVERAGE + 1, .delta_add_rate = 0.5f
};

static struct agreement_known known_of(const struct agreement *said, uint32_t trainer)
{
    struct agreement_known known = { 0 };

    agreement_add(&known, said, trainer);
    return known;
}

TEST(test_each_term)
{
    struct agreement others[] = { usual, usual, usual, usual };
    static const char *const texts[] = {
        "trainer-7 has --num_gradient_servers=2, and trainer-1 has 4: start all trainers with the "
        "same",
        "trainer-7 has --num_batches_per_send_parameter=1, and trainer-1 has 3:",
        "trainer-7 has --center_parameter_update_method=elastic_average, and trainer-1 has "
        "average:",
        "trainer-7 has --delta_add_rate=0.25, and trainer-1 has 0.5:",
    };
    const struct agreement_known known = known_of(&usual, 1);
    struct edl_error error = { 0 };

    others[0].trainers = 2;
    others[1].send_every = 1;
    others[2].center = LOCAL_SGD_ELASTIC + 1;
    others[3].delta_add_rate = 0.25f;
    assert_int_equal(agreement_check(&known, &usual, 7, &error), 0);
    for (size_t i = 0; i < ELEMENTS(others); i++) {
        assert_int_equal(agreement_check(&known, &others[i], 7, &error), -EINVAL);
        if (strstr(error.text, texts[i]) == NULL)
            fail_msg("%s", error.text);
    }
    others[2].center = UINT32_MAX; /* of a peer that says nonsense */
    assert_int_equal(agreement_check(&known, &others[2], 7, &error), -EINVAL);
    assert_non_null(strstr(error.text, "=?, and trainer-1 has average"));
}

TEST(test_servers_count)
{
    const struct agreement_known servers =
        known_of(&(struct agreement){ .trainers = 2 }, AGREEMENT_NOBODY);
    struct edl_error error = { 0 };

    assert_int_equal(agreement_check(&servers, &usual, 0, &error), -EINVAL);
    assert_non_null(strstr(error.text, "trainer-0 has --num_gradient_servers=4, and the parameter "
                                       "servers have 2: start all trainers and servers with"));
}

/* What nobody has said is no difference, and is known once somebody says it. */
TEST(test_what_is_not_said)
{
    const struct agreement silent = { .send_every = 3 };
    struct agreement_known known = known_of(&silent, 0);
    struct agreement other = usual;

    assert_int_equal(agreement_check(&known, &usual, 1, NULL), 0);
    agreement_add(&known, &usual, 1);
    assert_memory_equal(&known.said, &usual, sizeof usual);
    assert_int_equal(agreement_check(&known, &silent, 1, NULL), 0);
    other.trainers = 9;
    agreement_add(&known, &other, 2); /* what was said first stays */
    assert_int_equal(known.said.trainers, 4);
}

/* Local SGD divides by the number of trainers: one that was not given divides by 1, and says so. */
TEST(test_local_sgd_says_how_many)
{
    static const struct {
        uint32_t given, send_every, said;
    } cases[] = { { 0, 1, 0 }, { 2, 1, 2 }, { 0, 2, 1 }, { 1, 2, 1 }, { 3, 2, 3 } };
    const struct agreement two = agreement_of_flags(2, 2, 1, 1);
    const struct agreement_known known = known_of(&two, 0);
    struct agreement said;
    struct edl_error error = { 0 };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        said = agreement_of_flags(cases[i].given, cases[i].send_every, 1, 0.5f);
        assert_int_equal(said.trainers, cases[i].said);
        assert_int_equal(said.center, cases[i].send_every > 1 ? 1 : 0);
        assert_true(said.delta_add_rate == (cases[i].send_every > 1 ? 0.5f : 0));
    }
    said = agreement_of_flags(0, 2, 1, 1);
    assert_int_equal(agreement_check(&known, &said, 1, &error), -EINVAL);
    assert_non_null(strstr(error.text, "trainer-1 has --num_gradient_servers=1, and trainer-0 has "
                                       "2: start all"));
}

/* ---- ports ---- */

static int check_ports(const struct block_placement *own, const struct block_placement *before,
                       struct block_placement ports, struct edl_error *error)
{
    const struct declaration declaration = { .placement = ports };
    const struct wire_hello hello = { .trainer = 1 };
    struct declaration first = { 0 };
    struct pserver_terms terms;

    pserver_terms_init(&terms, own, 0);
    if (before != NULL)
        first.placement = *before;
    return pserver_terms_check(&terms, before != NULL ? &first : NULL, &hello, &declaration, error);
}

TEST(test_ports)
{
    const struct block_placement own = { 2, 1 }, none = { 0, 0 };
    struct edl_error error = { 0 };

    assert_int_equal(check_ports(&own, NULL, (struct block_placement){ 2, 1 }, &error), 0);
    assert_int_equal(check_ports(&own, NULL, (struct block_placement){ 2, 0 }, &error), 0);
    assert_int_equal(check_ports(&own, NULL, (struct block_placement){ 3, 0 }, &error), -EINVAL);
    assert_int_equal(check_ports(&own, NULL, (struct block_placement){ 1, 2 }, &error), -EINVAL);
    assert_non_null(strstr(error.text, "--ports_num and --ports_num_for_sparse are 1 and 2 of this "
                                       "trainer, and 2 and 1 of the parameter servers"));
    assert_int_equal(check_ports(&none, NULL, (struct block_placement){ 1, 2 }, &error), 0);
    assert_int_equal(check_ports(&none, &own, (struct block_placement){ 2, 1 }, &error), 0);
    assert_int_equal(check_ports(&none, &own, (struct block_placement){ 2, 0 }, &error), -EINVAL);
    assert_non_null(
        strstr(error.text, "2 and 0 of this trainer, and 2 and 1 of the first trainer"));
    assert_int_equal(check_ports(&none, &none, (struct block_placement){ 1, 0 }, &error), -EINVAL);
}

/* The second trainer is compared with the first one. */
TEST(test_first_trainer)
{
    const struct declaration declaration = { .placement = { 1, 0 } };
    struct wire_hello hello = { .trainer = 3, .agreement = usual };
    struct edl_error error = { 0 };
    struct pserver_terms terms;

    pserver_terms_init(&terms, &declaration.placement, 4);
    assert_int_equal(pserver_terms_check(&terms, NULL, &hello, &declaration, &error), 0);
    pserver_terms_add(&terms, &hello);
    hello.trainer = 5;
    assert_int_equal(pserver_terms_check(&terms, &declaration, &hello, &declaration, &error), 0);
    hello.agreement.send_every = 2;
    assert_int_equal(pserver_terms_check(&terms, &declaration, &hello, &declaration, &error),
                     -EINVAL);
    assert_non_null(strstr(error.text, "trainer-5 has --num_batches_per_send_parameter=2, and "
                                       "trainer-3 has 3"));
}

/* A refusal names the trainer that said the value, not the one that came first. */
TEST(test_who_said_it)
{
    const struct declaration declaration = { .placement = { 1, 0 } };
    struct wire_hello first = { .trainer = 3, .agreement = { .send_every = 3 } };
    struct wire_hello second = { .trainer = 5, .agreement = { .trainers = 2, .send_every = 3 } };
    struct wire_hello third = { .trainer = 6, .agreement = { .trainers = 4, .send_every = 3 } };
    struct edl_error error = { 0 };
    struct pserver_terms terms;

    pserver_terms_init(&terms, &declaration.placement, 0);
    pserver_terms_add(&terms, &first);
    pserver_terms_add(&terms, &second);
    assert_int_equal(pserver_terms_check(&terms, &declaration, &third, &declaration, &error),
                     -EINVAL);
    assert_non_null(
        strstr(error.text, "trainer-6 has --num_gradient_servers=4, and trainer-5 has 2: start"));
    third.agreement = (struct agreement){ .send_every = 2 };
    assert_int_equal(pserver_terms_check(&terms, &declaration, &third, &declaration, &error),
                     -EINVAL);
    assert_non_null(strstr(error.text, "and trainer-3 has 3: start"));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_group_member.c - processes that train the same values together: the same bits, however many
 * they are, also when some come and go
 *
 * The group is pretended: gradients of micro-batches are summed as whole numbers here, in any
 * order, and the state goes from member to member by its parts. */
#define TEST_OWN_MAIN

#include "tests/lib/chain_set.h"
#include "tests/unit/network_case.h"
#include "tests/unit/test.h"

#include <cblas.h>
#include <errno.h>
#include <string.h>

#include "kernels/kernels.h"
#include "tests/unit/trainer_fixture.h"
#include "trainer/data/sample.h"
#include "trainer/data/sample_set.h"
#include "trainer/exchange/table.h"
#include "trainer/learn/group_member.h"
#include "trainer/network/random_batch.h"

enum { SAMPLES = 100, MICRO = 6, V = 4, MEMBERS_MAX = 5, VALUES_MAX = 8192 };

#define ONE_UNIT 0x1p40 /* of the sums */

struct group {
    const struct network *network;
    const struct sample_set *samples;
    struct declaration declaration;
    struct group_member *members[MEMBERS_MAX];
    uint32_t n;
    uint32_t last_samples;
    struct batch_rules rules; /* all 0: constant */
    uint32_t v;               /* micro-batches of a step; 0: V */
};

static uint64_t values_of(const struct group_member *member)
{
    uint64_t n, values = 0;
    const struct group_member_bucket *buckets = group_member_buckets(member, &n);

    for (uint64_t i = 0; i < n; i++)
        values += buckets[i].n_values;
    assert_true(values <= VALUES_MAX);
    return values;
}

static void copy_state(const struct group_member *from, struct group_member *to)
{
    uint64_t n, n_to;
    const struct group_member_part *have = group_member_parts(from, &n);
    const struct group_member_part *take = group_member_parts(to, &n_to);

    assert_int_equal(n, n_to);
    for (uint64_t i = 0; i < n; i++) {
        assert_int_equal(have[i].n_bytes, take[i].n_bytes);
        memcpy(take[i].bytes, have[i].bytes, have[i].n_bytes);
    }
    assert_int_equal(group_member_state_came(to, NULL), 0);
}

static void join(struct group *g)
{
    const struct batch_rules constant = { BATCH_CONSTANT, MICRO, V * MICRO, 0, 0 };
    const struct batch_rules rules = g->rules.micro_batch > 0 ? g->rules : constant;
    const struct group_member_config config = { .network = g->network,
                                                .backend = backend_cpu(),
                                                .declaration = &g->declaration,
                                                .samples = g->samples,
                                                .rules = rules,
                                                .seed = 5 };

    assert_true(g->n < MEMBERS_MAX);
    assert_int_equal(group_member_new(&config, &g->members[g->n], NULL), 0);
    if (g->n > 0)
        copy_state(g->members[0], g->members[g->n]);
    g->n++;
}

/* The first one goes, and with it whatever it alone knew. */
static void leave(struct group *g)
{
    (void)group_member_free(g->members[0]);
    memmove(g->members, g->members + 1, --g->n * sizeof(struct group_member *));
}

static void step(struct group *g, uint64_t number)
{
    static int64_t sums[VALUES_MAX];
    static float gradient[VALUES_MAX], sum[VALUES_MAX];
    const uint64_t values = values_of(g->members[0]);
    const uint32_t v = g->v > 0 ? g->v : V;

    for (uint32_t i = 0; i < g->n && g->v > 0; i++)
        group_member_begin(g->members[i], v);
    memset(sums, 0, sizeof sums);
    g->last_samples = 0;
    for (uint64_t i = 0; i < v; i++) {
        const uint64_t m = g->n > 1 ? (i + number) % v : i; /* in any order */
        uint32_t n;

        memset(gradient, 0, sizeof gradient);
        assert_int_equal(group_member_gradient(g->members[(m * 7 + number) % g->n], m, gradient, &n,
                                               NULL),
                         0);
        g->last_samples += n;
        for (uint64_t k = 0; k < values; k++)
            sums[k] += (int64_t)((double)gradient[k] * ONE_UNIT);
    }
    for (uint64_t k = 0; k < values; k++)
        sum[k] = (float)((double)sums[k] / ONE_UNIT);
    for (uint32_t i = 0; i < g->n; i++)
        assert_int_equal(group_member_move(g->members[i], sum, NULL), 0);
}

/* The bytes of a member's state, in one piece; *ret_n of them. */
static uint8_t *state_of(const struct group_member *member, size_t *ret_n)
{
    uint64_t n;
    const struct group_member_part *parts = group_member_parts(member, &n);
    uint8_t *bytes, *at;

    *ret_n = 0;
    for (uint64_t i = 0; i < n; i++)
        *ret_n += parts[i].n_bytes;
    at = bytes = xcalloc(*ret_n, 1);
    for (uint64_t i = 0; i < n; i++) {
        memcpy(at, parts[i].bytes, parts[i].n_bytes);
        at += parts[i].n_bytes;
    }
    return bytes;
}

/* Two epochs: with so many members, or (0) with one, two, three, and fewer again. */
static uint8_t *train(const struct network *network, const struct sample_set *samples,
                      uint32_t n_members, size_t *ret_n)
{
    struct group g = { .network = network, .samples = samples };
    uint64_t steps;
    uint8_t *state;

    assert_int_equal(network_declaration(network, 1, &g.declaration, NULL), 0);
    for (uint32_t i = 0; i < MAX_OF(n_members, 1u); i++)
        join(&g);
    steps = 2 * ((SAMPLES + V * MICRO - 1) / (V * MICRO));
    assert_int_equal(steps, 2 * ((SAMPLES + MICRO * V - 1) / (MICRO * V)));
    for (uint64_t s = 0; s < steps; s++) {
        if (n_members == 0 && (s == 1 || s == 3))
            join(&g);
        if (n_members == 0 && (s == 5 || s == 8))
            leave(&g);
        step(&g, s);
        assert_int_equal(group_member_place(g.members[0]).steps, s + 1);
    }
    assert_int_equal(group_member_place(g.members[0]).epoch, 2);
    assert_int_equal(group_member_place(g.members[0]).place, 0);
    assert_int_equal(g.last_samples, SAMPLES % (MICRO * V));
    state = state_of(g.members[0], ret_n);
    while (g.n > 0)
        leave(&g);
    return state;
}

static void same_with_any_number(const struct network *network, const struct sample_set *samples)
{
    size_t n, n_other;
    uint8_t *alone = train(network, samples, 1, &n);

    for (uint32_t members = 0; members <= 4; members++) {
        uint8_t *others = train(network, samples, members, &n_other);

        assert_int_equal(n_other, n);
        if (memcmp(alone, others, n) != 0)
            fail_msg("%u members (0: they come and go): other bits than one", members);
        free(others);
    }
    free(alone);
}

/* Dropout, and a table of words whose rows are dense here. */
TEST(test_words)
{
    struct network *network = chain_network("embedding=5 hidden=7 dropout=0.3 rate=0.1");
    struct sample_set *samples = chain_set(network, SAMPLES, 2);

    same_with_any_number(network, samples);
    (void)sample_set_free(samples);
    (void)network_free(network);
}

static const char normed[] =
    "{\"inputs\":[{\"name\":\"image\",\"type\":\"dense\",\"size\":16,\"channels\":1,"
    "\"height\":4,\"width\":4},{\"name\":\"label\",\"type\":\"integer\",\"size\":2}],"
    "\"layers\":[{\"kind\":\"conv\",\"input\":\"image\",\"filter\":3,\"filters\":4},"
    "{\"kind\":\"batch_norm\"},{\"kind\":\"fc\",\"size\":2,\"activation\":\"softmax\"}],"
    "\"cost\":{\"kind\":\"cross_entropy\",\"label\":\"label\"},"
    "\"training\":{\"method\":\"adam\",\"learning_rate\":0.01}}";

static struct sample_set *pictures(const struct network *network)
{
    struct sample_set *set = sample_set_new(network->inputs, network->n_inputs);
    struct sample_record record = { 0 };
    uint64_t state = 4;

    for (uint32_t i = 0; i < SAMPLES; i++) {
        const int32_t label = (int32_t)(i % 2);
        float pixels[16];
        const struct sample_value values[] = { { .values = pixels }, { .ids = &label } };

        for (int k = 0; k < 16; k++)
            pixels[k] = 3.0f + (label > 0 ? 2.0f : 0.5f) * (float)random_normal(&state);
        assert_int_equal(sample_encode(network->inputs, 2, values, &record, NULL), 0);
        assert_int_equal(sample_set_add(set, record.bytes, record.size, NULL), 0);
    }
    free(record.bytes);
    return set;
}

/* Averages of batches are a part of the sum: they come near what the batches have. */
TEST(test_averages)
{
    struct network *network = network_of(normed);
    struct sample_set *samples = pictures(network);
    struct group g = { .network = network, .samples = samples };
    uint64_t n_buckets;
    const struct group_member_bucket *buckets;

    same_with_any_number(network, samples);
    assert_int_equal(network_declaration(network, 1, &g.declaration, NULL), 0);
    join(&g);
    join(&g);
    buckets = group_member_buckets(g.members[0], &n_buckets);
    assert_true(n_buckets == g.declaration.n_params + 2u);
    assert_int_equal(buckets[n_buckets - 1].n_values, 4);
    for (uint64_t s = 0; s < 100; s++)
        step(&g, s);
    for (uint32_t p = 0; p < network->n_params; p++) {
        struct network_learner *learner = group_member_learner(g.members[1]);

        for (uint32_t k = 0; network->params[p].is_static && k < 4; k++)
            assert_true(network_learner_values(learner)[p][k] != 0);
    }
    leave(&g);
    leave(&g);
    (void)sample_set_free(samples);
    (void)network_free(network);
}

/* With any batches, and members that come between them, each record is trained once in an epoch. */
TEST(test_each_record_once_while_the_batch_changes)
{
    static const uint32_t sizes[] = { 4, 8, 12, 4, 1, 7, 16 };
    struct network *network = chain_network("embedding=5 hidden=7 dropout=0.3");
    struct sample_set *samples = chain_set(network, SAMPLES, 2);
    struct group g = { .network = network,
                       .samples = samples,
                       .rules = { BATCH_LINEAR, MICRO, V * MICRO, 16 * MICRO, 3 } };
    uint64_t trained = 0;

    assert_int_equal(network_declaration(network, 1, &g.declaration, NULL), 0);
    join(&g);
    for (uint64_t s = 0; s < 40; s++) {
        g.v = sizes[s % ELEMENTS(sizes)];
        if (s == 3 || s == 9)
            join(&g); /* it has the place, and how far the rate is, from another */
        if (s == 12)
            leave(&g);
        step(&g, s);
        trained += g.last_samples;
        for (uint32_t i = 0; i < g.n; i++) {
            const struct group_member_place place = group_member_place(g.members[i]);

            assert_int_equal(place.epoch * SAMPLES + place.place, trained);
            assert_int_equal(group_member_micro_batches(g.members[i]), g.v);
        }
    }
    assert_true(trained > 10 * SAMPLES);
    for (uint32_t i = 1; i < g.n; i++) { /* the same bits */
        size_t n, n_other;
        uint8_t *one = state_of(g.members[0], &n), *other = state_of(g.members[i], &n_other);

        assert_int_equal(n, n_other);
        assert_memory_equal(one, other, n);
        free(one);
        free(other);
    }
    while (g.n > 0)
        leave(&g);
    (void)sample_set_free(samples);
    (void)network_free(network);
}

/* linear_as_by_hand - twice the batch by the rule makes the values that a user gets who writes it
 * and these rates */
static void linear_as_by_hand(enum optimizer_method method, float rate_times)
{
    struct network *network = chain_network("embedding=5 hidden=7 dropout=0");
    struct sample_set *samples = chain_set(network, SAMPLES, 2);
    struct group rule = { .network = network,
                          .samples = samples,
                          .rules = { BATCH_LINEAR, MICRO, V * MICRO, 8 * V * MICRO, 0 },
                          .v = 2 * V };
    struct group hand = { .network = network,
                          .samples = samples,
                          .rules = { BATCH_CONSTANT, MICRO, 2 * V * MICRO, 0, 0 },
                          .v = 2 * V };
    assert_int_equal(network_declaration(network, 1, &rule.declaration, NULL), 0);
    rule.declaration.optimizer = optimizer_default(method);
    rule.declaration.optimizer.learning_rate = 0.03125F;
    rule.declaration.optimizer.l2_rate = method == OPTIMIZER_ADAM ? 0 : 0.125F;
    rule.declaration.optimizer.clipping = 0.5F;
    hand.declaration = rule.declaration;
    hand.declaration.optimizer.learning_rate *= rate_times;
    hand.declaration.optimizer.l2_rate *= 2;
    hand.declaration.optimizer.clipping *= 2;
    join(&rule);
    join(&hand);
    for (uint64_t s = 0; s < 6; s++) {
        uint64_t n;
        const struct group_member_part *by_rule, *by_hand;

        step(&rule, s);
        step(&hand, s);
        by_rule = group_member_parts(rule.members[0], &n);
        by_hand = group_member_parts(hand.members[0], &n);
        assert_memory_equal(by_rule[0].bytes, by_hand[0].bytes, by_rule[0].n_bytes);
    }
    leave(&rule);
    leave(&hand);
    (void)sample_set_free(samples);
    (void)network_free(network);
}

TEST(test_rates_follow_the_batch)
{
    linear_as_by_hand(OPTIMIZER_MOMENTUM, 1);
    linear_as_by_hand(OPTIMIZER_ADAGRAD, 2);
    linear_as_by_hand(OPTIMIZER_RMSPROP, 2);
    linear_as_by_hand(OPTIMIZER_ADAM, 2);
}

/* go_on - another process that has nothing but a checkpoint of the first member */
static void go_on(struct group *g, const struct group *from, bool with_choices)
{
    const struct group_member *had = from->members[0];
    const struct group_member_place place = group_member_place(had);
    uint32_t n_averages, n_choices;
    float *averages = group_member_averages(had, &n_averages);
    void *choices = group_member_choices(had, &n_choices);
    const struct group_member_kept kept = { .epoch = place.epoch,
                                            .place = place.place,
                                            .micro_batches = group_member_micro_batches(had),
                                            .n_averages = n_averages,
                                            .averages = averages,
                                            .n_choices = with_choices ? n_choices : 0,
                                            .choices = choices };

    *g = *from;
    g->n = 0;
    join(g);
    assert_int_equal(group_member_restore(g->members[0], group_member_table(from->members[0]),
                                          &kept, NULL),
                     0);
    free(averages);
    free(choices);
}

static bool have_the_same_values(const struct group *a, const struct group *b)
{
    uint64_t n, n_b;
    const struct group_member_part *of_a = group_member_parts(a->members[0], &n),
                                   *of_b = group_member_parts(b->members[0], &n_b);

    assert_int_equal(n, n_b);
    return memcmp(of_a[0].bytes, of_b[0].bytes, of_a[0].n_bytes) == 0;
}

/* What goodput measures and chooses is in the state, so whoever comes has it, and in checkpoints:
 * a training that goes on in the middle of a warm-up has the rates of one that never ended. */
TEST(test_choices_are_kept)
{
    static const uint32_t sizes[] = { 4, 4, 8, 8, 8, 4, 8 };
    struct network *network = chain_network("embedding=5 hidden=7 dropout=0.3 rate=0.1");
    struct sample_set *samples = chain_set(network, SAMPLES, 2);
    struct group g = { .network = network,
                       .samples = samples,
                       .rules = { BATCH_GOODPUT, MICRO, V * MICRO, 16 * MICRO, 30 } },
                 on, without;
    size_t n, n_other;
    uint8_t *one, *other;

    assert_int_equal(network_declaration(network, 1, &g.declaration, NULL), 0);
    join(&g);
    assert_true(group_member_noise(g.members[0]) < 0);
    for (uint64_t s = 0; s < 40; s++) {
        g.v = sizes[s % ELEMENTS(sizes)];
        if (s == 3 || s == 9)
            join(&g);
        if (s == 12)
            leave(&g);
        if (s % 5 == 4)
            group_member_tell_step(g.members[g.n - 1], g.n, 0.01);
        step(&g, s);
        if (s == 23) {
            go_on(&on, &g, true);
            go_on(&without, &g, false);
        } else if (s > 23) {
            on.v = without.v = g.v;
            step(&on, s);
            step(&without, s);
        }
    }
    assert_true(group_member_noise(g.members[0]) >= 0);
    one = state_of(g.members[0], &n);
    other = state_of(g.members[1], &n_other);
    assert_memory_equal(one, other, n);
    assert_true(have_the_same_values(&g, &on));
    assert_false(have_the_same_values(&g, &without));
    assert_int_equal(group_member_history(on.members[0])->n, group_member_history(g.members[0])->n);
    assert_int_equal(batch_history_at(group_member_history(on.members[0]), 3), 8);
    free(one);
    free(other);
    while (g.n > 0)
        leave(&g);
    leave(&on);
    leave(&without);
    (void)sample_set_free(samples);
    (void)network_free(network);
}

/* The batches of another training, in place of the rule's: with them one member makes its bits. */
TEST(test_given_batches)
{
    static struct batch_history given;
    struct network *network = chain_network("");
    struct sample_set *samples = chain_set(network, SAMPLES, 2);
    struct declaration declaration;
    struct group_member_config config = { .network = network,
                                          .backend = backend_cpu(),
                                          .declaration = &declaration,
                                          .samples = samples,
                                          .rules = { BATCH_LINEAR, 4, 8, 64, 0 } };
    struct group_member *member;

    assert_int_equal(network_declaration(network, 1, &declaration, NULL), 0);
    assert_int_equal(group_member_new(&config, &member, NULL), 0);
    assert_int_equal(group_member_choice(member, 3, 1), 6);
    member = group_member_free(member);
    batch_history_note(&given, 1, 2);
    batch_history_note(&given, 7, 5);
    config.given = &given;
    assert_int_equal(group_member_new(&config, &member, NULL), 0);
    assert_int_equal(group_member_choice(member, 3, 6), 2);
    assert_int_equal(group_member_choice(member, 3, 7), 5);
    member = group_member_free(member);
    (void)sample_set_free(samples);
    (void)network_free(network);
}

TEST(test_refused)
{
    struct network *network = chain_network("");
    struct sample_set *samples = chain_set(network, 10, 2);
    struct declaration declaration;
    struct group_member_config config = { .network = network,
                                          .backend = backend_cpu(),
                                          .declaration = &declaration,
                                          .samples = samples,
                                          .rules = { BATCH_CONSTANT, 0, 1, 0, 0 } };
    struct group_member *member = NULL;
    struct edl_error error = { 0 };

    assert_int_equal(network_declaration(network, 1, &declaration, NULL), 0);
    assert_int_equal(group_member_new(&config, &member, &error), -EINVAL);
    assert_non_null(strstr(error.text, "a batch of 1 in micro-batches of 0"));
    assert_null(member);
    (void)sample_set_free(samples);
    (void)network_free(network);
}

int main(int argc, char **argv)
{
    openblas_set_num_threads(1);
    return tests_main(argc, argv);
}

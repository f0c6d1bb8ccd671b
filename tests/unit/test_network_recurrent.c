/* SPDX-License-Identifier: Apache-2.0 */
/* test_network_recurrent.c - recurrent layers beside their formulas, written down place by place
 *
 * Two sequences of ids, of three places and of one; layers of two values. */
#include "tests/unit/network_case.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "tests/unit/test.h"
#include "trainer/network/plan.h"

#define H 2
#define ROWS 4

static const int32_t ids[ROWS] = { 0, 2, 1, 2 };
static const uint32_t starts[] = { 0, 3, 4 };

/* Every value of a parameter is another one. */
static double value(size_t i)
{
    return 0.9 * sin(1.7 * (double)i + 0.3);
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* What enters part p of place row: the table's row, the bias, and the place before times W. */
static double enters(size_t row, size_t p, size_t parts, size_t h, const double *last,
                     const double *w, size_t width)
{
    double sum = value((size_t)ids[row] * parts * H + p * H + h) + value(p * H + h);

    for (size_t k = 0; last != NULL && k < H; k++)
        sum += last[k] * w[k * width + h];
    return sum;
}

static void lstm_place(size_t row, const double *last, const double *state, double *ret_state,
                       double *ret)
{
    double w[H * 4 * H];

    for (size_t i = 0; i < H * 4 * H; i++)
        w[i] = value(i);
    for (size_t h = 0; h < H; h++) {
        const double c = state != NULL ? state[h] : 0;
        double gate[4];

        for (size_t p = 0; p < 4; p++)
            gate[p] = enters(row, p, 4, h, last, w + p * H, 4 * H);
        gate[1] = sigmoid(gate[1] + c * value(4 * H + h));
        gate[2] = sigmoid(gate[2] + c * value(5 * H + h));
        ret_state[h] = tanh(gate[0]) * gate[1] + c * gate[2];
        gate[3] = sigmoid(gate[3] + ret_state[h] * value(6 * H + h));
        ret[h] = gate[3] * tanh(ret_state[h]);
    }
}

static void gru_place(size_t row, const double *last, double *ret)
{
    double gates[2 * H * H], candidate[H * H], kept[H], update[H];

    for (size_t i = 0; i < 2 * H * H; i++)
        gates[i] = value(i);
    for (size_t i = 0; i < H * H; i++)
        candidate[i] = value(2 * H * H + i);
    for (size_t h = 0; h < H; h++) {
        update[h] = sigmoid(enters(row, 0, 3, h, last, gates, 2 * H));
        kept[h] =
            sigmoid(enters(row, 1, 3, h, last, gates + H, 2 * H)) * (last != NULL ? last[h] : 0);
    }
    for (size_t h = 0; h < H; h++) {
        const double fresh = tanh(enters(row, 2, 3, h, last != NULL ? kept : NULL, candidate, H));

        ret[h] = (1 - update[h]) * (last != NULL ? last[h] : 0) + update[h] * fresh;
    }
}

static void recurrent_place(size_t row, const double *last, double *ret)
{
    double w[H * H];

    for (size_t i = 0; i < H * H; i++)
        w[i] = value(i);
    for (size_t h = 0; h < H; h++)
        ret[h] = tanh(enters(row, 0, 1, h, last, w, H));
}

static void expect_places(const char *kind, bool reverse, double out[ROWS][H])
{
    double state[ROWS][H];

    for (size_t s = 0; s < 2; s++)
        for (size_t t = 0; t < starts[s + 1] - starts[s]; t++) {
            const size_t row = reverse ? starts[s + 1] - 1 - t : starts[s] + t;
            const size_t before = reverse ? row + 1 : row - 1;
            const double *last = t > 0 ? out[before] : NULL;

            if (strcmp(kind, "lstm") == 0)
                lstm_place(row, last, t > 0 ? state[before] : NULL, state[row], out[row]);
            else if (strcmp(kind, "gru") == 0)
                gru_place(row, last, out[row]);
            else
                recurrent_place(row, last, out[row]);
        }
}

static void run(const char *kind, size_t parts, bool reverse)
{
    const struct batch batch = { .n = 2,
                                 .n_slots = 1,
                                 .slots = { { .ids = ids, .starts = starts } } };
    struct plan_config config = { NULL, backend_cpu(), tensor_ops_f64(), 2, true };
    double *params[3], out[ROWS][H];
    struct plan_result result;
    struct network *network;
    struct plan *plan = NULL;
    const double *computed;
    char text[512];
    size_t rows;

    (void)
        snprintf(text, sizeof text,
                 "{\"inputs\":[{\"name\":\"ids\",\"type\":\"integer_sequence\",\"size\":3}],"
                 "\"layers\":[{\"kind\":\"table\",\"input\":\"ids\",\"size\":%zu},{\"kind\":\"%s\","
                 "\"name\":\"o\",\"reverse\":%s}],\"outputs\":[\"o\"]}",
                 parts * H, kind, reverse ? "true" : "false");
    config.network = network = network_of(text);
    assert_int_equal(network->n_params, 3);
    for (uint32_t p = 0; p < 3; p++) {
        const struct param_spec *spec = &network->params[p].spec;

        params[p] = xcalloc((size_t)spec->rows * spec->columns, sizeof **params);
        for (size_t i = 0; i < (size_t)spec->rows * spec->columns; i++)
            params[p][i] = value(i);
    }
    expect_places(kind, reverse, out);
    assert_int_equal(plan_new(&config, &plan, NULL), 0);
    assert_int_equal(plan_batch(plan, &batch, NULL), 0);
    plan_forward(plan, (void *const *)params, false, 0, &result);
    computed = plan_output(plan, 0, &rows);
    assert_int_equal(rows, ROWS);
    for (size_t i = 0; i < ROWS * H; i++)
        if (!(fabs(computed[i] - out[i / H][i % H]) < 1e-12))
            fail_msg("%s: value %zu is %.12g, not %.12g", kind, i, computed[i], out[i / H][i % H]);
    plan = plan_free(plan);
    for (uint32_t p = 0; p < 3; p++)
        free(params[p]);
    (void)network_free(network);
}

TEST(test_recurrent_layers)
{
    static const struct {
        const char *kind;
        size_t parts;
    } kinds[] = { { "lstm", 4 }, { "gru", 3 }, { "recurrent", 1 } };

    for (size_t i = 0; i < ELEMENTS(kinds); i++) {
        run(kinds[i].kind, kinds[i].parts, false);
        run(kinds[i].kind, kinds[i].parts, true);
    }
}

/* Two inputs that go place by place have as many places in each sample. */
TEST(test_sequences_side_by_side)
{
    static const uint32_t same[] = { 0, 3, 4 }, other[] = { 0, 2, 4 };
    struct network *network =
        network_of("{\"inputs\":[{\"name\":\"a\",\"type\":\"integer_sequence\",\"size\":3},"
                   "{\"name\":\"b\",\"type\":\"integer_sequence\",\"size\":3}],\"layers\":["
                   "{\"kind\":\"table\",\"name\":\"x\",\"input\":\"a\",\"size\":2},{\"kind\":"
                   "\"table\",\"name\":\"y\",\"input\":\"b\",\"size\":2},{\"kind\":\"fc\","
                   "\"name\":\"o\",\"inputs\":[\"x\",\"y\"],\"size\":2}],\"outputs\":[\"o\"]}");
    const struct plan_config config = { network, backend_cpu(), tensor_ops_f64(), 2, true };
    struct batch batch = { .n = 2, .n_slots = 2 };
    struct edl_error error = { 0 };
    struct plan *plan = NULL;

    assert_int_equal(plan_new(&config, &plan, NULL), 0);
    batch.slots[0] = (struct batch_slot){ .ids = ids, .starts = starts };
    batch.slots[1] = (struct batch_slot){ .ids = ids, .starts = same };
    assert_int_equal(plan_batch(plan, &batch, NULL), 0);
    batch.slots[1].starts = other;
    assert_int_equal(plan_batch(plan, &batch, &error), -EINVAL);
    assert_non_null(
        strstr(error.text, "takes a and b side by side, but they have places: 3 and 2"));
    plan = plan_free(plan);
    (void)network_free(network);
}

/* The score of labels at the places from..to: w of the first, of the last and of each next one, and
 * the table's values. */
static double score_of(const int32_t *labels, size_t from, size_t to)
{
    double sum = value((size_t)labels[0]) + value(H + (size_t)labels[to - from - 1]);

    for (size_t row = from; row < to; row++) {
        const size_t k = row - from;

        sum += value((size_t)ids[row] * H + (size_t)labels[k]);
        if (k > 0)
            sum += value((2 + (size_t)labels[k - 1]) * H + (size_t)labels[k]);
    }
    return sum;
}

/* The cost of labels is how unlikely they are among all that there could be. */
static double expect_crf(const int32_t *labels)
{
    double cost = 0;

    for (size_t s = 0; s < 2; s++) {
        const size_t from = starts[s], to = starts[s + 1];
        double all = 0;

        for (uint32_t way = 0; way < 1u << (to - from); way++) {
            int32_t other[ROWS];

            for (size_t k = 0; k < to - from; k++)
                other[k] = way >> k & 1;
            all += exp(score_of(other, from, to));
        }
        cost += log(all) - score_of(labels + from, from, to);
    }
    return cost;
}

TEST(test_crf)
{
    static const int32_t labels[ROWS] = { 1, 0, 0, 1 };
    struct network *network =
        network_of("{\"inputs\":[{\"name\":\"ids\",\"type\":\"integer_sequence\",\"size\":3},"
                   "{\"name\":\"c\",\"type\":\"integer_sequence\",\"size\":2}],\"layers\":["
                   "{\"kind\":\"table\",\"name\":\"o\",\"input\":\"ids\",\"size\":2}],\"cost\":{"
                   "\"kind\":\"crf\",\"label\":\"c\",\"coeff\":3}}");
    const struct plan_config config = { network, backend_cpu(), tensor_ops_f64(), 2, true };
    const struct batch batch = { .n = 2,
                                 .n_slots = 2,
                                 .slots = { { .ids = ids, .starts = starts },
                                            { .ids = labels, .starts = starts } } };
    double table[3 * H], weights[4 * H];
    void *const params[] = { table, weights };
    struct plan_result result;
    struct plan *plan = NULL;

    for (size_t i = 0; i < ELEMENTS(table); i++)
        table[i] = value(i);
    for (size_t i = 0; i < ELEMENTS(weights); i++)
        weights[i] = value(i);
    assert_int_equal(plan_new(&config, &plan, NULL), 0);
    assert_int_equal(plan_batch(plan, &batch, NULL), 0);
    plan_forward(plan, params, false, 0, &result);
    if (!(fabs(result.cost - 3 * expect_crf(labels)) < 1e-9))
        fail_msg("the cost is %.12g, not %.12g", result.cost, 3 * expect_crf(labels));
    plan = plan_free(plan);
    (void)network_free(network);
}

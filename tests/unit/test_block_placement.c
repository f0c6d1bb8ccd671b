/* SPDX-License-Identifier: Apache-2.0 */
/* test_block_placement.c - blocks and rows lie on the servers as PaddlePaddle puts them */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/test.h"
#include "trainer/exchange/ps_link.h"
#include "trainer/parameters/shard.h"

TEST(test_hash)
{
    assert_int_equal(block_placement_hash(""), UINT32_C(2166136261));
    assert_int_equal(block_placement_hash("param_a"), UINT32_C(0xc39eda42));
    assert_int_equal(block_placement_hash("param_a") % 3, 1);
    assert_int_equal(block_placement_hash("param_a") % 10, 2);
    assert_int_equal(block_placement_hash("_proj"), UINT32_C(0x1a70ba6d));
    assert_int_equal(block_placement_hash("_proj") % 3, 1);
    assert_int_equal(block_placement_hash("_proj") % 10, 3);
}

TEST(test_block_values)
{
    static const struct {
        uint64_t values;
        uint32_t services;
        uint64_t block;
    } cases[] = {
        { 100000, 1, 1024 },
        { 1000000, 4, 2048 },
        { 100000000, 4, 262144 },
        { 0, 3, 1024 },
        { 131071, 1, 1024 },
        { 131072, 1, 2048 },
        { 262143, 1, 2048 },
        { 262144, 1, 4096 },
        { UINT64_C(1) << 37, 1, UINT32_C(1) << 31 },
        { 4 * 131072, 4, 2048 },
        { 4 * 131072 - 1, 4, 1024 },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++)
        assert_int_equal(block_placement_values(cases[i].values, cases[i].services),
                         cases[i].block);
}

/* Two hosts with two dense ports and one for rows. */
TEST(test_roles)
{
    const struct block_placement placement = { .dense_ports = 2, .sparse_ports = 1 };
    static const uint32_t dense[] = { 0, 1, BLOCK_PLACEMENT_NONE, 2, 3, BLOCK_PLACEMENT_NONE };
    static const uint32_t sparse[] = { BLOCK_PLACEMENT_NONE, BLOCK_PLACEMENT_NONE, 0,
                                       BLOCK_PLACEMENT_NONE, BLOCK_PLACEMENT_NONE, 1 };

    for (uint32_t i = 0; i < ELEMENTS(dense); i++) {
        struct block_placement_role role = block_placement_role(&placement, i, ELEMENTS(dense));

        assert_int_equal(role.dense, dense[i]);
        assert_int_equal(role.n_dense, 4);
        assert_int_equal(role.sparse, sparse[i]);
        assert_int_equal(role.n_sparse, 2);
        role =
            block_placement_role(&(struct block_placement){ .dense_ports = 1 }, i, ELEMENTS(dense));
        assert_int_equal(role.dense, i);
        assert_int_equal(role.sparse, i); /* without ports of their own rows go to all */
        assert_int_equal(role.n_sparse, ELEMENTS(dense));
    }
}

TEST(test_whole_hosts)
{
    struct block_placement placement = { .dense_ports = 2, .sparse_ports = 1 };
    struct edl_error error = { 0 };

    assert_int_equal(block_placement_check(&placement, 6, &error), 0);
    assert_int_equal(block_placement_check(&placement, 4, &error), -EINVAL);
    assert_non_null(strstr(error.text, "4 servers are not whole hosts of --ports_num=2 and "
                                       "--ports_num_for_sparse=1"));
    placement = (struct block_placement){ .sparse_ports = 1 };
    assert_int_equal(block_placement_check(&placement, 1, &error), -EINVAL);
    placement = (struct block_placement){ .dense_ports = UINT32_MAX, .sparse_ports = 1 };
    assert_int_equal(block_placement_check(&placement, 1, &error), -EINVAL);
    placement = (struct block_placement){ 0 };
    assert_int_equal(block_placement_check(&placement, 5, &error), 0);
}

/* ---- what servers have of a network ---- */

static void param(struct declaration *d, const char *name, uint32_t rows, uint32_t columns,
                  uint32_t sparse)
{
    struct param_spec *spec = &d->params[d->n_params++];

    *spec = (struct param_spec){ .rows = rows, .columns = columns, .sparse = sparse };
    (void)snprintf(spec->name, sizeof spec->name, "%s", name);
}

/* A dense matrix of many blocks, one that is not whole blocks, a bias, a table. */
static struct declaration declared(uint32_t dense_ports, uint32_t sparse_ports)
{
    struct declaration d = { .placement = { dense_ports, sparse_ports } };

    param(&d, "_hidden.w0", 256, 256, 0);
    param(&d, "_odd.w0", 1117, 13, 0);
    param(&d, "_odd.wbias", 1, 13, 0);
    param(&d, "_words.w0", 3001, 8, 1);
    return d;
}

/* owners_of - of each float of a dense parameter: server + 1 */
static uint32_t *owners_of(const struct declaration *d, uint32_t p, uint32_t n)
{
    const size_t values = (size_t)d->params[p].rows * d->params[p].columns;
    uint32_t *owners = calloc(values, sizeof *owners);

    for (uint32_t s = 0; s < n; s++) {
        struct shard_shape shape;
        struct shard_piece piece;
        size_t held = 0;

        shard_shape_init(d, s, n, &shape);
        for (size_t i = 0; shard_piece(&shape.params[p], i, &piece); i++) {
            held += piece.values;
            for (size_t at = piece.at; at < piece.at + piece.values; at++) {
                assert_true(at < values);
                assert_int_equal(owners[at], 0); /* nobody else has it */
                owners[at] = s + 1;
            }
        }
        assert_int_equal(held, shape.params[p].values);
    }
    return owners;
}

/* Each float is on one server, and a block where the formula puts it. */
TEST(test_blocks)
{
    const struct declaration d = declared(2, 1);
    const uint32_t n = 6, services = 4;
    const uint64_t block = block_placement_values(256 * 256 + 1117 * 13 + 13, services);

    for (uint32_t p = 0; p < 3; p++) {
        const size_t values = (size_t)d.params[p].rows * d.params[p].columns;
        uint32_t *owners = owners_of(&d, p, n);

        for (size_t at = 0; at < values; at++) {
            const uint64_t service =
                (at / block + block_placement_hash(d.params[p].name)) % services;
            const uint64_t server = service / 2 * 3 + service % 2; /* host, port */

            assert_int_equal(owners[at], server + 1);
        }
        free(owners);
    }
}

/* Each row is on one server of its kind, and both directions agree. */
TEST(test_rows)
{
    const struct declaration d = declared(2, 1);
    const uint32_t n = 6, services = 2, rows = d.params[3].rows;

    for (uint32_t s = 0; s < n; s++) {
        const bool is_sparse = s % 3 == 2;
        struct shard_shape shape;
        uint32_t held = 0;

        shard_shape_init(&d, s, n, &shape);
        for (uint32_t row = 0; row < rows; row++) {
            const uint64_t service = (row + (uint64_t)block_placement_hash("_words.w0")) % services;
            const int64_t local = shard_local_row(&shape, 3, row);

            assert_int_equal(local >= 0, is_sparse && service == s / 3);
            if (local >= 0)
                assert_int_equal(shard_global_row(&shape, 3, (uint32_t)local), row);
            held += local >= 0;
        }
        assert_int_equal(shape.params[3].rows, held);
        assert_int_equal(shape.dense_values > 0, !is_sparse);
        assert_int_equal(shape.total_values, is_sparse ? held * 8 : shape.dense_values);
        assert_int_equal(shard_local_row(&shape, 3, rows), -1);
        assert_int_equal(shard_local_row(&shape, 3, rows + 1), -1);
    }
}

/* Twenty matrices of the word model over 1 to 8 servers: nobody has much more than a part of all,
 * nor more blocks than a request has room for. */
TEST(test_balance)
{
    struct declaration d = { .placement = { .dense_ports = 1 } };

    for (int i = 0; i < 20; i++) {
        char name[16];

        (void)snprintf(name, sizeof name, "_fc_%d.w0", i);
        param(&d, name, 300 + (uint32_t)i, 256, 0);
    }
    for (uint32_t n = 1; n <= 8; n++) {
        uint64_t total = 0, block, most = 0, least = UINT64_MAX;

        for (uint32_t p = 0; p < d.n_params; p++)
            total += (uint64_t)d.params[p].rows * d.params[p].columns;
        block = block_placement_values(total, n);
        for (uint32_t s = 0; s < n; s++) {
            struct shard_shape shape;
            struct shard_piece piece;
            size_t pieces = 0;

            shard_shape_init(&d, s, n, &shape);
            for (uint32_t p = 0; p < d.n_params; p++)
                for (size_t i = 0; shard_piece(&shape.params[p], i, &piece); i++)
                    pieces++;
            assert_true(pieces <= BLOCK_PLACEMENT_BLOCKS_MAX + d.n_params);
            most = MAX_OF(most, shape.total_values);
            least = MIN_OF(least, shape.total_values);
        }
        assert_true(most - least <= d.n_params * block);
        assert_true(most <= total / n * 5 / 4);
    }
}

/* The most parameters, none of whole blocks, still fit a request. */
TEST(test_most_pieces)
{
    struct declaration d = { .placement = { .dense_ports = 1 } };
    struct shard_shape shape;

    for (uint32_t p = 0; p < DECLARATION_PARAMS_MAX; p++) {
        char name[16];

        (void)snprintf(name, sizeof name, "p%u", p);
        param(&d, name, 1, 2047 + p, 0);
    }
    for (uint32_t n = 1; n <= 16; n *= 2)
        for (uint32_t s = 0; s < n; s++) {
            struct shard_piece piece;
            size_t pieces = 0;

            shard_shape_init(&d, s, n, &shape);
            for (uint32_t p = 0; p < d.n_params; p++)
                for (size_t i = 0; shard_piece(&shape.params[p], i, &piece); i++)
                    pieces++;
            assert_true(pieces + 3 <= PS_LINK_PARTS);
        }
}

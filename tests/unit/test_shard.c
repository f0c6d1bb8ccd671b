/* SPDX-License-Identifier: Apache-2.0 */
/* test_shard.c - every row is on exactly one server, and both sides agree where */
#include <stdint.h>
#include <string.h>

#include "tests/unit/test.h"
#include "trainer/parameters/shard.h"

TEST(test_dense_ranges_cover)
{
    static const uint32_t sizes[] = { 1, 2, 3, 7, 64, 2073, UINT32_MAX };

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (uint32_t n = 1; n <= 9; n++) {
            uint32_t next = 0, first, count;

            for (uint32_t s = 0; s < n; s++) {
                shard_dense_range(sizes[i], s, n, &first, &count);
                assert_int_equal(first, next);
                assert_true(count <= (uint64_t)sizes[i] / n + 1);
                next = first + count;
            }
            assert_int_equal(next, sizes[i]);
        }
}

TEST(test_sparse_rows_cover)
{
    struct declaration d = { .n_params = 1 };

    d.params[0] = (struct param_spec){ "rows", 23, 4, .sparse = 1, .learning_rate = 1.0f };
    for (uint32_t n = 1; n <= 30; n++) {
        uint32_t owners[23] = { 0 }, total = 0;

        for (uint32_t s = 0; s < n; s++) {
            struct shard_shape shape;

            shard_shape_init(&d, s, n, &shape);
            total += shape.params[0].rows;
            for (uint32_t local = 0; local < shape.params[0].rows; local++) {
                uint32_t row = shard_global_row(&shape, 0, local);

                assert_true(row < 23);
                owners[row]++;
                assert_int_equal(shard_local_row(&shape, 0, row), local);
            }
            assert_int_equal(shard_local_row(&shape, 0, 23 + (s + n - 23 % n) % n), -1);
            if (n > 1)
                assert_int_equal(shard_local_row(&shape, 0, (s + 1) % n), -1);
        }
        assert_int_equal(total, 23);
        for (int row = 0; row < 23; row++)
            assert_int_equal(owners[row], 1);
    }
}

TEST(test_layout)
{
    struct declaration d = { .n_params = 3 };
    struct shard_shape shape;
    struct shard_piece piece;

    d.params[0] = (struct param_spec){ "rows", 10, 4, .sparse = 1, .learning_rate = 1.0f };
    d.params[1] = (struct param_spec){ "weight", 6, 3, .learning_rate = 1.0f };
    d.params[2] = (struct param_spec){ "bias", 5, 1, .learning_rate = 1.0f };
    shard_shape_init(&d, 1, 2, &shape);
    assert_int_equal(shape.params[1].offset, 0); /* dense first, although declared later */
    assert_int_equal(shape.params[1].from, 3 * 3);
    assert_int_equal(shape.params[1].values, 3 * 3);
    assert_int_equal(shape.params[2].offset, 9);
    assert_int_equal(shape.params[2].values, 3);
    assert_int_equal(shape.dense_values, 12);
    assert_int_equal(shape.params[0].offset, 12);
    assert_int_equal(shape.total_values, 12 + 5 * 4);
    assert_true(shard_piece(&shape.params[1], 0, &piece));
    assert_int_equal(piece.at, 9);
    assert_int_equal(piece.values, 9);
    assert_false(shard_piece(&shape.params[1], 1, &piece));
    assert_false(shard_piece(&shape.params[2], 1, &piece));
}

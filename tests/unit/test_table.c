/* SPDX-License-Identifier: Apache-2.0 */
/* test_table.c - one shard: start values, AdaGrad on dense and sparse rows, what is refused,
 * checkpoints */
#include "trainer_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/kernels.h"
#include "shared/cleanup.h"
#include "trainer/checkpoint.h"
#include "trainer/table.h"

static struct declaration sample_declaration(void)
{
    struct declaration d = { .seed = 5, .learning_rate = 0.1f, .epsilon = 1e-6f, .n_params = 3 };

    d.params[0] = (struct param_spec){ "rows", 10, 4, 1, 0.1f, 1.0f, 0.0f };
    d.params[1] = (struct param_spec){ "weight", 6, 3, 0, 0.2f, 1.0f, 0.01f };
    d.params[2] = (struct param_spec){ "bias", 5, 1, 0, 0.0f, 2.0f, 0.0f };
    return d;
}

static struct table *make(uint32_t shard, uint32_t n_shards)
{
    struct declaration d = sample_declaration();
    struct table *table = NULL;

    assert_int_equal(table_new(&d, shard, n_shards, backend_cpu(), &table, NULL), 0);
    return table;
}

static void test_start_values(void **state)
{
    struct declaration d = sample_declaration();
    struct table *table = make(1, 2);
    const struct shard_shape *shape = table_shape(table);

    (void)state;
    for (uint32_t p = 0; p < 3; p++)
        for (uint32_t i = 0; i < shape->params[p].rows; i++)
            for (uint32_t c = 0; c < shape->params[p].columns; c++)
                assert_true(
                    table_values(
                        table)[shape->params[p].offset + i * shape->params[p].columns + c] ==
                    param_init_value(&d.params[p], 5, shard_global_row(shape, p, i), c));
    (void)table_free(table);
}

/* Two pushes against the formula, worked out in double. */
static void test_push(void **state)
{
    struct table *table = make(0, 1);
    const struct shard_shape *shape = table_shape(table);
    float dense[23], rows[8];
    uint32_t ids[2] = { 7, 2 };
    struct wire_push_pull request = { .flags = WIRE_PUSH | WIRE_PUSH_DENSE,
                                      .n_sections = 1,
                                      .dense = dense };
    double w = table_values(table)[4], a = 0, r = table_values(table)[shape->params[0].offset + 29];
    double b = 0, bias_a = 0, untouched = table_values(table)[shape->params[0].offset];

    (void)state;
    request.sections[0] = (struct wire_section){ .n_push = 2, .push_ids = ids, .push_rows = rows };
    for (int i = 0; i < 23; i++)
        dense[i] = 0.5f - 0.1f * (float)i;
    for (int i = 0; i < 8; i++)
        rows[i] = (float)i;
    assert_int_equal(table_check(table, &request, NULL), 0);
    for (int push = 0; push < 2; push++) {
        a += (double)dense[4] * dense[4];
        w -= 0.1 * (dense[4] + 0.01 * w) / sqrt(a + 1e-6);
        bias_a += (double)dense[18] * dense[18];
        b -= 0.2 * dense[18] / sqrt(bias_a + 1e-6);
        r -= 0.1 * 1.0 / sqrt(push + 1.0 + 1e-6); /* rows[1]: row 7, column 1 */
        table_push(table, &request);
    }
    assert_true(fabs(table_values(table)[4] - w) < 1e-6);
    assert_true(fabs(table_values(table)[18] - b) < 1e-6);
    assert_true(fabs(table_values(table)[shape->params[0].offset + 29] - r) < 1e-6);
    assert_true(table_values(table)[shape->params[0].offset] == (float)untouched);
    assert_int_equal(table_updates(table), 2);
    (void)table_free(table);
}

static void test_refuses(void **state)
{
    struct table *table = make(1, 2);
    float dense[32] = { 0 }, rows[4] = { 0 };
    uint32_t mine = 3, other = 2, beyond = 11;
    struct wire_push_pull request = { .n_sections = 1, .dense = dense };
    struct wire_section *section = &request.sections[0];

    (void)state;
    *section = (struct wire_section){ .n_push = 1, .push_ids = &mine, .push_rows = rows };
    assert_int_equal(table_check(table, &request, NULL), 0);
    section->push_ids = &other;
    assert_int_equal(table_check(table, &request, NULL), -EINVAL);
    section->push_ids = &beyond;
    assert_int_equal(table_check(table, &request, NULL), -EINVAL);
    section->push_ids = &mine;
    rows[3] = NAN;
    assert_int_equal(table_check(table, &request, NULL), -EINVAL);
    rows[3] = -INFINITY;
    assert_int_equal(table_check(table, &request, NULL), -EINVAL);
    rows[3] = -3e38f;
    assert_int_equal(table_check(table, &request, NULL), 0);
    dense[5] = INFINITY;
    assert_int_equal(table_check(table, &request, NULL), -EINVAL);
    dense[5] = 0;
    *section = (struct wire_section){ .n_pull = 1, .pull_ids = &other };
    assert_int_equal(table_check(table, &request, NULL), -EINVAL);
    (void)table_free(table);
}

static void test_checkpoint(void **state)
{
    char folder[64], path[128];
    struct table *table = make(1, 2), *back = NULL;
    size_t bytes = table_shape(table)->total_values * sizeof(float);

    (void)state;
    folder_make(folder, sizeof folder);
    (void)snprintf(path, sizeof path, "%s/checkpoint/pserver-1.ckpt", folder);
    assert_int_equal(checkpoint_read(path, 7, 1, backend_cpu(), &back, NULL), -ENOENT);
    table_values(table)[3] = 42.0f;
    table_accumulators(table)[4] = 43.0f;
    table_set_updates(table, 17);
    assert_int_equal(checkpoint_write(path, 7, table, NULL), 0);
    assert_int_equal(checkpoint_write(path, 7, table, NULL), 0); /* replaces */
    assert_int_equal(checkpoint_read(path, 7, 1, backend_cpu(), &back, NULL), 0);
    assert_memory_equal(table_values(back), table_values(table), bytes);
    assert_memory_equal(table_accumulators(back), table_accumulators(table), bytes);
    assert_int_equal(table_updates(back), 17);
    assert_true(declaration_equal(table_declaration(back), table_declaration(table)));
    (void)table_free(back);
    assert_int_equal(checkpoint_read(path, 8, 1, backend_cpu(), &back, NULL), EDL_ECORRUPT);
    assert_int_equal(checkpoint_read(path, 7, 0, backend_cpu(), &back, NULL), EDL_ECORRUPT);
    (void)table_free(table);
    folder_remove(folder);
}

/* Every byte matters: whichever is changed, the file is refused, and so is every shorter one. */
static void test_checkpoint_damage(void **state)
{
    char folder[64], path[128];
    struct table *table = make(1, 2), *back = NULL;
    struct edl_error error;
    uint8_t byte;
    off_t size;
    int fd;

    (void)state;
    folder_make(folder, sizeof folder);
    (void)snprintf(path, sizeof path, "%s/c/1.ckpt", folder);
    assert_int_equal(checkpoint_write(path, 7, table, NULL), 0);
    fd = open(path, O_RDWR | O_CLOEXEC);
    size = lseek(fd, 0, SEEK_END);
    for (off_t at = 0; at < size; at++) {
        assert_int_equal(pread(fd, &byte, 1, at), 1);
        byte ^= 0x10;
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
        assert_int_equal(checkpoint_read(path, 7, 1, backend_cpu(), &back, &error), EDL_ECORRUPT);
        assert_non_null(strstr(error.text, path));
        byte ^= 0x10;
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    }
    assert_int_equal(checkpoint_read(path, 7, 1, backend_cpu(), &back, &error), 0);
    (void)table_free(back);
    while (size-- > 0) {
        assert_int_equal(ftruncate(fd, size), 0);
        assert_int_equal(checkpoint_read(path, 7, 1, backend_cpu(), &back, &error), EDL_ECORRUPT);
    }
    (void)safe_close(fd);
    (void)table_free(table);
    folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_start_values),      cmocka_unit_test(test_push),
        cmocka_unit_test(test_refuses),           cmocka_unit_test(test_checkpoint),
        cmocka_unit_test(test_checkpoint_damage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

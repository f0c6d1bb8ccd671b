/* SPDX-License-Identifier: Apache-2.0 */
/* test_table.c - one shard: start values, the optimizers on dense and sparse rows, refusals,
 * checkpoints */
#include "trainer_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/optimizer.h"
#include "shared/cleanup.h"
#include "tests/unit/test.h"
#include "trainer/server/checkpoint.h"
#include "trainer/files/one_writer.h"
#include "trainer/exchange/table.h"

static struct declaration sample_declaration(void)
{
    struct declaration d = {
        .seed = 5,
        .optimizer = { .method = OPTIMIZER_ADAGRAD, .learning_rate = 0.1f, .epsilon = 1e-6f },
        .n_params = 3
    };

    d.params[0] = (struct param_spec){
        "rows", 10, 4, .sparse = 1, .initial_std = 0.1f, .learning_rate = 1.0f
    };
    d.params[1] =
        (struct param_spec){ "weight",        6, 3, .initial_std = 0.2f, .learning_rate = 1.0f,
                             .l2_rate = 0.01f };
    d.params[2] = (struct param_spec){ "bias", 5, 1, .learning_rate = 2.0f };
    return d;
}

static struct table *make(uint32_t shard, uint32_t n_shards)
{
    struct declaration d = sample_declaration();
    struct table *table = NULL;

    assert_int_equal(table_new(&d, shard, n_shards, &table, NULL), 0);
    return table;
}

TEST(test_start_values)
{
    struct declaration d = sample_declaration();
    struct table *table = make(1, 2);
    const struct shard_shape *shape = table_shape(table);

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
TEST(test_push)
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

TEST(test_refuses)
{
    struct table *table = make(1, 2);
    float dense[32] = { 0 }, rows[4] = { 0 };
    uint32_t mine = 3, other = 2, beyond = 11;
    struct wire_push_pull request = { .n_sections = 1, .dense = dense };
    struct wire_section *section = &request.sections[0];

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

TEST(test_checkpoint)
{
    char folder[64], path[128];
    struct table *table = make(1, 2), *back = NULL;
    size_t bytes = table_shape(table)->total_values * sizeof(float), n;

    folder_make(folder, sizeof folder);
    (void)snprintf(path, sizeof path, "%s/checkpoint/pserver-1.ckpt", folder);
    assert_int_equal(checkpoint_read(path, 7, 1, &back, NULL, NULL), -ENOENT);
    table_values(table)[3] = 42.0f;
    table_slot(table, 0)[4] = 43.0f;
    table_touched(table, &n)[2] = 44;
    table_set_updates(table, 17);
    table_set_samples(table, 18);
    assert_int_equal(checkpoint_write(path, 7, table, NULL, NULL, NULL), 0);
    assert_int_equal(checkpoint_write(path, 7, table, NULL, NULL, NULL), 0); /* replaces */
    assert_int_equal(checkpoint_read(path, 7, 1, &back, NULL, NULL), 0);
    assert_memory_equal(table_values(back), table_values(table), bytes);
    assert_memory_equal(table_slot(back, 0), table_slot(table, 0), bytes);
    assert_memory_equal(table_touched(back, &n), table_touched(table, &n), n * sizeof(uint64_t));
    assert_int_equal(table_updates(back), 17);
    assert_int_equal(table_samples(back), 18);
    assert_true(declaration_equal(table_declaration(back), table_declaration(table)));
    (void)table_free(back);
    assert_int_equal(checkpoint_read(path, 8, 1, &back, NULL, NULL), EDL_ECORRUPT);
    assert_int_equal(checkpoint_read(path, 7, 0, &back, NULL, NULL), EDL_ECORRUPT);
    (void)table_free(table);
    folder_remove(folder);
}

static void make_file(const char *path, const char *end)
{
    char name[160];
    int fd;

    (void)snprintf(name, sizeof name, "%s%s", path, end);
    fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    (void)safe_close(fd);
}

static bool is_there(const char *path, const char *end)
{
    char name[160];

    (void)snprintf(name, sizeof name, "%s%s", path, end);
    return access(name, F_OK) == 0;
}

/* A server that stood still is followed by a newer incarnation. When it goes on, it writes neither
 * into the file of that one nor over what that one has saved. */
TEST(test_a_server_that_thaws_writes_over_nothing)
{
    static const char half[] = ".tmp-0123456789abcdef";
    char folder[64], path[128];
    struct pserver_config config = { .job_id = 7, .incarnation = 1, .checkpoint_path = path };
    struct one_writer old = { 0 }, new = { 0 };
    struct table *table = make(1, 2), *back = NULL;
    struct edl_error error;

    folder_make(folder, sizeof folder);
    (void)snprintf(path, sizeof path, "%s/pserver-1.ckpt", folder);
    assert_int_equal(checkpoint_claim(&old, &config, NULL), 0);
    make_file(path, half); /* it stands still while it writes */
    make_file(path, ".tmp");
    make_file(path, ".tmp-mine"); /* no file of ours */
    config.incarnation = 2;
    assert_int_equal(checkpoint_claim(&new, &config, NULL), 0);
    assert_false(is_there(path, half));
    assert_false(is_there(path, ".tmp"));
    assert_true(is_there(path, ".tmp-mine"));
    table_set_updates(table, 20);
    assert_int_equal(checkpoint_write(path, 7, table, NULL, &new, NULL), 0);
    make_file(path, half); /* the newer one's */
    table_set_updates(table, 10);
    assert_int_equal(checkpoint_write(path, 7, table, NULL, &old, &error), -EBUSY);
    assert_true(is_there(path, half));
    assert_int_equal(checkpoint_read(path, 7, 1, &back, NULL, NULL), 0);
    assert_int_equal(table_updates(back), 20);
    (void)table_free(back);
    (void)table_free(table);
    (void)safe_close(old.fd);
    one_writer_release(&new);
    folder_remove(folder);
}

/* Every byte matters: whichever is changed, the file is refused, and so is every shorter one. */
static void damage(const struct checkpoint_more *more)
{
    char folder[64], path[128];
    struct table *table = make(1, 2), *back = NULL;
    struct edl_error error;
    uint8_t byte;
    off_t size;
    int fd;

    folder_make(folder, sizeof folder);
    (void)snprintf(path, sizeof path, "%s/c/1.ckpt", folder);
    assert_int_equal(checkpoint_write(path, 7, table, more, NULL, NULL), 0);
    fd = open(path, O_RDWR | O_CLOEXEC);
    size = lseek(fd, 0, SEEK_END);
    for (off_t at = 0; at < size; at++) {
        assert_int_equal(pread(fd, &byte, 1, at), 1);
        byte ^= 0x10;
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
        assert_int_equal(checkpoint_read(path, 7, 1, &back, NULL, &error), EDL_ECORRUPT);
        assert_non_null(strstr(error.text, path));
        byte ^= 0x10;
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    }
    assert_int_equal(checkpoint_read(path, 7, 1, &back, NULL, &error), 0);
    (void)table_free(back);
    while (size-- > 0) {
        assert_int_equal(ftruncate(fd, size), 0);
        assert_int_equal(checkpoint_read(path, 7, 1, &back, NULL, &error), EDL_ECORRUPT);
    }
    (void)safe_close(fd);
    (void)table_free(table);
    folder_remove(folder);
}

TEST(test_checkpoint_damage)
{
    float averages[] = { 1, 2, 3 };
    char choices[] = "of the batch";
    struct checkpoint_more more = { 1, 2, 3, 4, ELEMENTS(averages), averages, 0, NULL };

    damage(NULL);
    damage(&more);
    more.n_choices = sizeof choices;
    more.choices = choices;
    damage(&more);
}

/* The place of a training whose members keep whole values, and its averages of batches. */
TEST(test_checkpoint_says_more)
{
    char folder[64], path[128];
    float averages[] = { 0.5f, -1.5f, 2.5f, 1e-30f, 7 };
    char choices[] = "of the batch";
    struct checkpoint_more more = { .epoch = 3,
                                    .place = UINT64_C(1) << 40,
                                    .identity = 17,
                                    .micro_batches = 12,
                                    .n_averages = ELEMENTS(averages),
                                    .averages = averages };
    struct table *table = make(1, 2), *back = NULL;
    size_t bytes = table_shape(table)->total_values * sizeof(float);
    struct checkpoint_more got;

    folder_make(folder, sizeof folder);
    (void)snprintf(path, sizeof path, "%s/checkpoint/collective.ckpt", folder);
    table_values(table)[3] = 42.0f;
    table_set_updates(table, 17);
    assert_int_equal(checkpoint_write(path, 7, table, &more, NULL, NULL), 0);
    assert_int_equal(checkpoint_read(path, 7, 1, &back, &got, NULL), 0);
    assert_memory_equal(table_values(back), table_values(table), bytes);
    assert_int_equal(table_updates(back), 17);
    assert_int_equal(got.epoch, more.epoch);
    assert_int_equal(got.place, more.place);
    assert_int_equal(got.identity, more.identity);
    assert_int_equal(got.micro_batches, more.micro_batches);
    assert_int_equal(got.n_averages, more.n_averages);
    assert_memory_equal(got.averages, averages, sizeof averages);
    assert_int_equal(got.n_choices, 0);
    assert_null(got.choices);
    free(got.averages);
    (void)table_free(back);

    /* with what it knows of batches */
    more.n_choices = sizeof choices;
    more.choices = choices;
    assert_int_equal(checkpoint_write(path, 7, table, &more, NULL, NULL), 0);
    assert_int_equal(checkpoint_read(path, 7, 1, &back, &got, NULL), 0);
    assert_int_equal(got.n_choices, sizeof choices);
    assert_memory_equal(got.choices, choices, sizeof choices);
    assert_memory_equal(got.averages, averages, sizeof averages);
    free(got.averages);
    free(got.choices);
    (void)table_free(back);

    /* a server that is given it takes the table alone */
    assert_int_equal(checkpoint_read(path, 7, 1, &back, NULL, NULL), 0);
    (void)table_free(back);

    /* and one without is read as such, as the releases before wrote it */
    assert_int_equal(checkpoint_write(path, 7, table, NULL, NULL, NULL), 0);
    memset(&got, 0xff, sizeof got);
    assert_int_equal(checkpoint_read(path, 7, 1, &back, &got, NULL), 0);
    assert_int_equal(got.place, 0);
    assert_int_equal(got.n_averages, 0);
    assert_null(got.averages);
    (void)table_free(back);
    (void)table_free(table);
    folder_remove(folder);
}

/* The release before this one wrote other checkpoints. */
TEST(test_checkpoint_of_before)
{
    char folder[64], path[128];
    struct table *table = make(0, 1), *back = NULL;
    struct edl_error error;
    int fd;

    folder_make(folder, sizeof folder);
    (void)snprintf(path, sizeof path, "%s/old.ckpt", folder);
    assert_int_equal(checkpoint_write(path, 7, table, NULL, NULL, NULL), 0);
    fd = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "EDLCKPT1", 8, 0), 8);
    (void)safe_close(fd);
    assert_int_equal(checkpoint_read(path, 7, 0, &back, NULL, &error), EDL_ECORRUPT);
    assert_non_null(strstr(error.text, path));
    assert_non_null(strstr(error.text, "older release"));
    assert_non_null(strstr(error.text, "anew without the file"));
    (void)table_free(table);
    folder_remove(folder);
}

/* ---- every optimizer ---- */

/* Two dense parameters and a sparse one of the same 3 x 2 values. */
#define ROWS 3u
#define COLUMNS 2u
#define VALUES (ROWS * COLUMNS)

static struct declaration declare_method(uint32_t method, float l2_rate, bool with_rows)
{
    struct declaration d = { .optimizer = optimizer_default(method),
                             .n_params = with_rows ? 2 : 1 };
    const struct param_spec spec = { "dense",
                                     ROWS,
                                     COLUMNS,
                                     .initial = PARAM_CONSTANT,
                                     .initial_mean = 1.0f,
                                     .learning_rate = 1.0f };

    d.optimizer.learning_rate = 0.1f;
    d.optimizer.l2_rate = l2_rate;
    d.params[0] = d.params[1] = spec;
    (void)snprintf(d.params[1].name, sizeof d.params[1].name, "rows");
    d.params[1].sparse = 1;
    return d;
}

/* With an L2 rate, where there may be one. */
static struct declaration declare_decaying(uint32_t method, bool with_rows)
{
    const bool decays = optimizer_kind(method)->abilities & OPTIMIZER_DECAY;

    return declare_method(method, decays ? 0.01f : 0, with_rows);
}

static struct table *table_of(const struct declaration *d)
{
    struct table *table = NULL;
    struct edl_error error = { 0 };

    if (table_new(d, 0, 1, &table, &error) < 0)
        fail_msg("%s", error.text);
    return table;
}

/* Pushes the same gradient for every element; of the sparse parameter only these rows. */
static void push_equal(struct table *table, float gradient, const uint32_t *ids, uint32_t n_ids,
                       uint32_t samples, uint32_t pass)
{
    float values[VALUES];
    struct wire_push_pull request = { .flags = WIRE_PUSH, .samples = samples, .pass = pass };

    for (size_t i = 0; i < VALUES; i++)
        values[i] = gradient;
    request.dense = values;
    request.n_sections = n_ids > 0;
    request.sections[0] =
        (struct wire_section){ .param = 1, .n_push = n_ids, .push_ids = ids, .push_rows = values };
    assert_int_equal(table_check(table, &request, NULL), 0);
    table_push(table, &request);
}

static const uint32_t all_rows[ROWS] = { 0, 1, 2 };

static void pull_all(const struct table *table, float out[VALUES])
{
    struct wire_push_pull request = { .n_sections = 1 };

    request.sections[0] = (struct wire_section){ .param = 1, .n_pull = ROWS, .pull_ids = all_rows };
    table_pull_rows(table, &request, out);
}

/* After gradients 0.5, -0.25 and 1 with an L2 rate of 0.01, where there may be one: the values of
 * test_optimizers.c. */
static const struct {
    uint32_t method;
    double want[3];
} methods[] = {
    { OPTIMIZER_MOMENTUM, { 0.949, 0.973051, 0.872077949 } },
    { OPTIMIZER_ADAGRAD, { 0.898000204, 0.941115103, 0.853006508 } },
    { OPTIMIZER_DECAYED_ADAGRAD, { 0.898000204, 0.947134168, 0.755881488 } },
    { OPTIMIZER_ADADELTA, { 0.999543860, 0.999820979, 0.999208010 } },
    { OPTIMIZER_RMSPROP, { 0.897872465, 0.947019616, 0.754490318 } },
    { OPTIMIZER_ADAM, { 0.900000063, 0.873366374, 0.807555232 } },
    { OPTIMIZER_ADAMAX, { 0.9, 0.878926295, 0.835383859 } },
};
static const float pushed[3] = { 0.5f, -0.25f, 1.0f };

/* Rows that come with every push move exactly as a dense parameter does, which goes by the book. */
TEST(test_every_method)
{
    for (size_t m = 0; m < sizeof methods / sizeof methods[0]; m++) {
        const bool rows = optimizer_kind(methods[m].method)->abilities & OPTIMIZER_SPARSE;
        struct declaration d = declare_decaying(methods[m].method, rows);
        struct table *table = table_of(&d);

        for (int t = 0; t < 3; t++) {
            const float *values = table_values(table);
            float pulled[VALUES];

            push_equal(table, pushed[t], all_rows, rows ? ROWS : 0, 1, 0);
            for (size_t i = 0; i < VALUES; i++)
                if (!(fabs((double)values[i] - methods[m].want[t]) <= 6e-7))
                    fail_msg("%s, step %d: %.9f, not %.9f", optimizer_kind(methods[m].method)->name,
                             t, (double)values[i], methods[m].want[t]);
            if (rows) {
                assert_memory_equal(values + VALUES, values, VALUES * sizeof *values);
                pull_all(table, pulled);
                assert_memory_equal(pulled, values, sizeof pulled);
            }
        }
        (void)table_free(table);
    }
}

/* Row 1 misses what the dense parameter gets as gradients of 0: alike to first order in the rate,
 * whether it is pulled before it comes again or not. */
static void missed(uint32_t method, float rate, double *ret_pulled, double *ret_pushed)
{
    struct declaration d = declare_method(method, 0.02f, true);
    struct table *table;
    float pulled[VALUES];

    d.optimizer.learning_rate = rate;
    table = table_of(&d);
    push_equal(table, 0.5f, all_rows, ROWS, 1, 0);
    for (int i = 0; i < 5; i++)
        push_equal(table, 0.0f, (const uint32_t[]){ 0, 2 }, 2, 1, 0);
    pull_all(table, pulled);
    assert_true(pulled[0] == table_values(table)[0]);
    assert_true(pulled[2] != table_values(table)[VALUES + 2]); /* the row itself has not paid */
    *ret_pulled = fabs((double)pulled[2] - (double)table_values(table)[0]);
    push_equal(table, -0.25f, all_rows, ROWS, 1, 0);
    *ret_pushed = fabs((double)table_values(table)[VALUES + 2] - (double)table_values(table)[0]);
    pull_all(table, pulled);
    assert_true(pulled[2] == table_values(table)[VALUES + 2]);
    (void)table_free(table);
}

TEST(test_missed_batches)
{
    static const uint32_t exact_scale[] = { OPTIMIZER_MOMENTUM, OPTIMIZER_ADAGRAD };

    for (size_t m = 0; m < 2; m++) {
        double pulled[2], behind[2];

        missed(exact_scale[m], 0.5f, &pulled[0], &behind[0]);
        missed(exact_scale[m], 0.05f, &pulled[1], &behind[1]);
        assert_true(pulled[0] > 0 && pulled[0] < 6e-3 && behind[0] < 6e-3);
        /* a tenth of the rate, about a hundredth of the difference; f32 rounds to 1e-7 */
        assert_true(pulled[1] < pulled[0] / 30 + 2e-7);
        assert_true(behind[1] < behind[0] / 30 + 2e-7);
    }
}

/* Momentum 0.9, by the book, for a parameter that has it of its own; another one has none. */
TEST(test_own_numbers)
{
    static const double want[3] = { 0.949, 0.927151, 0.806559749 };
    struct declaration d = declare_method(OPTIMIZER_MOMENTUM, 0.01f, true);
    struct table *table;

    d.params[1].sparse = 0;
    d.params[0].momentum = 0.9f;
    d.params[1].l2_rate = -1.0f; /* none, though the optimizer has one */
    d.params[1].clipping = 0.5f;
    d.params[1].learning_rate = 2.0f;
    table = table_of(&d);
    assert_int_equal(table_n_slots(table), 1);
    for (int t = 0; t < 3; t++) {
        float gradients[2 * VALUES];
        struct wire_push_pull request = { .flags = WIRE_PUSH, .dense = gradients };

        for (size_t i = 0; i < 2 * VALUES; i++)
            gradients[i] = pushed[t];
        table_push(table, &request);
        assert_true(fabs((double)table_values(table)[3] - want[t]) < 3e-7);
    }
    assert_true(fabs((double)table_values(table)[VALUES] - (1 - 0.2 * (0.5 - 0.25 + 0.5))) < 3e-7);
    (void)table_free(table);
}

/* The schedule counts samples, or is of the pass. */
TEST(test_schedule)
{
    struct declaration d = declare_method(OPTIMIZER_MOMENTUM, 0, false);
    struct table *table;
    double w = 1.0;

    d.optimizer.schedule = RATE_POLY;
    d.optimizer.schedule_a = 0.1f;
    d.optimizer.schedule_b = 0.5f;
    table = table_of(&d);
    for (int t = 1; t <= 3; t++) {
        push_equal(table, 1.0f, NULL, 0, 10, 0);
        w -= 0.1 / sqrt(1 + 0.1 * 10 * t);
        assert_true(fabs((double)table_values(table)[0] - w) < 3e-7);
    }
    assert_int_equal(table_samples(table), 30);
    (void)table_free(table);
    d.optimizer.schedule = RATE_PASS_MANUAL;
    (void)snprintf(d.optimizer.schedule_args, sizeof d.optimizer.schedule_args, "0:1,1:.5");
    table = table_of(&d);
    push_equal(table, 1.0f, NULL, 0, 10, 0);
    push_equal(table, 1.0f, NULL, 0, 10, 1);
    assert_true(fabs((double)table_values(table)[0] - 0.85) < 3e-7);
    (void)table_free(table);
}

TEST(test_methods_refused)
{
    struct edl_error error = { 0 };
    struct table *table = NULL;
    struct declaration d;

    for (uint32_t m = 0; m < OPTIMIZER_METHODS; m++) {
        if (optimizer_kind(m)->abilities & OPTIMIZER_SPARSE)
            continue;
        d = declare_method(m, 0, true);
        assert_int_equal(table_new(&d, 0, 1, &table, &error), -EINVAL);
        assert_non_null(strstr(error.text, "parameter rows is sparse"));
        assert_non_null(strstr(error.text, optimizer_kind(m)->name));
    }
    d = declare_method(OPTIMIZER_MOMENTUM, 0, true);
    d.optimizer.momentum = 0.9f;
    assert_int_equal(table_new(&d, 0, 1, &table, &error), -EINVAL);
    assert_non_null(strstr(error.text, "parameter rows is sparse and has momentum 0.9"));
    d.params[1].momentum = -1.0f;
    assert_int_equal(table_new(&d, 0, 1, &table, &error), 0);
    (void)table_free(table);
    d.optimizer.l1_rate = 0.1f;
    assert_int_equal(table_new(&d, 0, 1, &table, &error), -EINVAL);
    assert_non_null(strstr(error.text, "L1 rate and momentum"));
    d = declare_method(OPTIMIZER_ADAM, 0, false);
    d.params[0].l1_rate = 0.1f;
    assert_int_equal(table_new(&d, 0, 1, &table, &error), -EINVAL);
    assert_non_null(strstr(error.text, "adam knows no decay"));
    d = declare_method(OPTIMIZER_ADAM, 0, false);
    d.optimizer.epsilon = 0.0f;
    assert_int_equal(table_new(&d, 0, 1, &table, &error), -EINVAL);
    assert_non_null(strstr(error.text, "epsilon is 0"));
    d.optimizer.epsilon = 1e-8f;
    d.optimizer.nesterov = 1;
    assert_int_equal(table_new(&d, 0, 1, &table, &error), -EINVAL);
    assert_non_null(strstr(error.text, "nesterov"));
    d.optimizer.nesterov = 0;
    d.optimizer.beta2 = 1.0f;
    assert_int_equal(table_new(&d, 0, 1, &table, &error), -EINVAL);
    assert_non_null(strstr(error.text, "beta2 is 1"));
    d.optimizer.method = OPTIMIZER_METHODS;
    assert_int_equal(table_new(&d, 0, 1, &table, &error), -EINVAL);
    assert_non_null(strstr(error.text, "no optimizer of number 7"));
}

/* Three pushes; false: it is refused, and the error has the method's name. */
static bool moved(const struct declaration *d, double *ret)
{
    struct edl_error error = { 0 };
    struct table *table;

    if (table_new(d, 0, 1, &table, &error) < 0) {
        assert_non_null(strstr(error.text, optimizer_kind(d->optimizer.method)->name));
        return false;
    }
    for (int t = 0; t < 3; t++)
        push_equal(table, pushed[t], NULL, 0, 10, 1);
    *ret = (double)table_values(table)[0];
    (void)table_free(table);
    return true;
}

/* What is said of an optimizer or a parameter acts, whatever the method, or it is refused. */
TEST(test_each_number_acts)
{
    static const struct {
        size_t offset; /* in the declaration */
        float value;
    } numbers[] = {
        { offsetof(struct declaration, optimizer.learning_rate), 0.2f },
        { offsetof(struct declaration, optimizer.momentum), 0.5f },
        { offsetof(struct declaration, optimizer.l1_rate), 0.1f },
        { offsetof(struct declaration, optimizer.l2_rate), 0.1f },
        { offsetof(struct declaration, optimizer.clipping), 0.1f },
        { offsetof(struct declaration, params[0].learning_rate), 2.0f },
        { offsetof(struct declaration, params[0].momentum), 0.5f },
        { offsetof(struct declaration, params[0].l1_rate), 0.1f },
        { offsetof(struct declaration, params[0].l2_rate), 0.1f },
        { offsetof(struct declaration, params[0].clipping), 0.1f },
    };

    for (uint32_t m = 0; m < OPTIMIZER_METHODS; m++) {
        struct declaration d = declare_method(m, 0, false);
        double plain, other;

        assert_true(moved(&d, &plain));
        for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
            d = declare_method(m, 0, false);
            memcpy((char *)&d + numbers[i].offset, &numbers[i].value, sizeof numbers[i].value);
            if (moved(&d, &other) && other == plain)
                fail_msg("%s: number %zu changes nothing", optimizer_kind(m)->name, i);
        }
        d = declare_method(m, 0, false);
        d.optimizer.schedule = RATE_POLY;
        d.optimizer.schedule_a = 0.1f;
        d.optimizer.schedule_b = 0.5f;
        if (moved(&d, &other) && other == plain)
            fail_msg("%s: a schedule changes nothing", optimizer_kind(m)->name);
    }
}

/* A table read back goes on as if nothing had happened: slots, counts and samples are all there. */
TEST(test_checkpoint_of_every_method)
{
    char folder[64], path[128];

    folder_make(folder, sizeof folder);
    (void)snprintf(path, sizeof path, "%s/m.ckpt", folder);
    for (size_t m = 0; m < sizeof methods / sizeof methods[0]; m++) {
        const uint32_t abilities = optimizer_kind(methods[m].method)->abilities;
        const bool rows = abilities & OPTIMIZER_SPARSE;
        struct declaration d = declare_decaying(methods[m].method, rows);
        struct table *table, *back = NULL;
        const uint32_t one = 1;

        if (abilities & OPTIMIZER_VELOCITY)
            d.params[0].momentum = 0.9f;
        if (abilities & OPTIMIZER_SCHEDULE) {
            d.optimizer.schedule = RATE_POLY;
            d.optimizer.schedule_a = d.optimizer.schedule_b = 0.1f;
        }
        table = table_of(&d);
        push_equal(table, 0.5f, all_rows, rows ? ROWS : 0, 3, 0);
        push_equal(table, 0.25f, &one, rows, 3, 0);
        assert_int_equal(checkpoint_write(path, 7, table, NULL, NULL, NULL), 0);
        assert_int_equal(checkpoint_read(path, 7, 0, &back, NULL, NULL), 0);
        if (rows) { /* two of them owe a decay at the rate of the last push */
            float pulled[2][VALUES];

            pull_all(table, pulled[0]);
            pull_all(back, pulled[1]);
            assert_memory_equal(pulled[1], pulled[0], sizeof pulled[0]);
        }
        for (int t = 0; t < 2; t++) {
            push_equal(table, -0.75f, all_rows, rows ? ROWS : 0, 3, 0);
            push_equal(back, -0.75f, all_rows, rows ? ROWS : 0, 3, 0);
        }
        assert_memory_equal(table_values(back), table_values(table),
                            table_shape(table)->total_values * sizeof(float));
        (void)table_free(back);
        (void)table_free(table);
    }
    folder_remove(folder);
}

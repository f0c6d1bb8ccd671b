/* SPDX-License-Identifier: Apache-2.0 */
/* test_group_signature.c - what trainers of a group must have in common, line by line */
#include "tests/unit/test.h"

#include <string.h>

#include "kernels/cpu_kind.h"
#include "shared/batch_history.h"
#include "shared/macro.h"
#include "trainer/parameters/declaration.h"
#include "trainer/run/group_signature.h"

enum { LINES_MAX = 16, BYTES = EDL_GROUP_SIGNATURE_BYTES_MAX + 1 };

static struct declaration declaration;

static struct group_settings usual(void)
{
    declaration = (struct declaration){ .seed = 7,
                                        .optimizer = optimizer_default(OPTIMIZER_ADAGRAD),
                                        .n_params = 1,
                                        .params = { { .name = "w", .rows = 3, .columns = 4 } } };
    return (struct group_settings){ .network = "ngram_lm",
                                    .text = "{}",
                                    .text_bytes = 2,
                                    .declaration = &declaration,
                                    .samples = 600,
                                    .passes = 3,
                                    .micro_batch = 16,
                                    .micro_batches = 8,
                                    .batch_rule = "constant",
                                    .device = "cpu",
                                    .kernels = "avx2",
                                    .blas = "OpenBLAS 0.3.21 Haswell, threads 1" };
}

/* The first word of the only line in which the text differs from the usual one. */
static const char *differs(const struct group_settings *settings)
{
    static char word[BYTES];
    const struct group_settings other = *settings;
    const struct declaration changed = declaration;
    char a[BYTES], b[BYTES], *rest_a, *rest_b, *line_a, *line_b;
    struct group_settings plain;

    group_signature(&other, b);
    plain = usual();
    group_signature(&plain, a);
    declaration = changed;
    word[0] = '\0';
    line_a = strtok_r(a, "\n", &rest_a);
    line_b = strtok_r(b, "\n", &rest_b);
    for (; line_a != NULL && line_b != NULL;
         line_a = strtok_r(NULL, "\n", &rest_a), line_b = strtok_r(NULL, "\n", &rest_b))
        if (!streq(line_a, line_b)) {
            assert_string_equal(word, "");
            (void)sscanf(line_b, "%s", word);
        }
    assert_null(line_a);
    assert_null(line_b);
    return word;
}

TEST(test_each_setting_has_a_line)
{
    static const struct batch_history given = { .n = 1, .changes = { { 1, 4 } } };
    struct group_settings s = usual();

    assert_string_equal(differs(&s), "");
    s.network = "resnet";
    assert_string_equal(differs(&s), "network");
    s = usual();
    s.text = "[]";
    assert_string_equal(differs(&s), "network");
    s = usual();
    declaration.params[0].columns = 5;
    assert_string_equal(differs(&s), "network");
    s = usual();
    declaration.params[0].l2_rate = 1e-3F;
    assert_string_equal(differs(&s), "network");
    s = usual();
    s.samples++;
    assert_string_equal(differs(&s), "samples");
    s = usual();
    s.passes++;
    assert_string_equal(differs(&s), "samples");
    s = usual();
    s.shuffles = true;
    assert_string_equal(differs(&s), "samples");
    s = usual();
    s.micro_batch = 8;
    s.micro_batches = 16; /* the same batch */
    assert_string_equal(differs(&s), "batch");
    s = usual();
    s.batch_rule = "linear";
    assert_string_equal(differs(&s), "batch");
    s = usual();
    s.most = 512;
    assert_string_equal(differs(&s), "batch");
    s = usual();
    s.warm_up = 10;
    assert_string_equal(differs(&s), "batch");
    s = usual();
    s.given = &given;
    assert_string_equal(differs(&s), "batch");
    s = usual();
    declaration.seed = 8;
    assert_string_equal(differs(&s), "seed");
}

TEST(test_rates_have_lines)
{
    struct group_settings s = usual();
    struct optimizer_spec *o = &declaration.optimizer;
    float *const rates[] = { &o->learning_rate, &o->momentum, &o->l1_rate, &o->l2_rate,
                             &o->clipping };
    float *const others[] = { &o->rho, &o->epsilon, &o->beta1, &o->beta2 };

    for (size_t i = 0; i < ELEMENTS(rates); i++) {
        s = usual();
        *rates[i] += 1e-6F;
        assert_string_equal(differs(&s), "optimizer");
    }
    for (size_t i = 0; i < ELEMENTS(others); i++) {
        s = usual();
        *others[i] += 1e-6F;
        assert_string_equal(differs(&s), "rho");
    }
    s = usual();
    o->schedule_a = 2;
    assert_string_equal(differs(&s), "schedule");
}

TEST(test_machines_count_where_sums_are_exact)
{
    struct group_settings s = usual();
    char text[BYTES];

    s.kernels = "avx512f";
    assert_string_equal(differs(&s), "kernels");
    s = usual();
    s.blas = "OpenBLAS 0.3.21 SkylakeX, threads 1";
    assert_string_equal(differs(&s), "BLAS");
    s = usual();
    s.device = "cuda";
    assert_string_equal(differs(&s), "device");
    s.kernels = NULL;
    group_signature(&s, text);
    assert_null(strstr(text, "BLAS"));
    assert_null(strstr(text, "cuda"));
}

/* However long names are, all lines are there. */
TEST(test_long_names_leave_room)
{
    struct group_settings s = usual();
    char text[BYTES], name[3000];

    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    s.network = s.device = s.blas = name;
    memset(declaration.optimizer.schedule_args, 'y', sizeof declaration.optimizer.schedule_args);
    declaration.optimizer.learning_rate = 1.17549435e-38F;
    group_signature(&s, text);
    assert_in_range(strlen(text), 300, BYTES - 1);
    assert_non_null(strstr(text, "BLAS x"));
    assert_int_equal(text[strlen(text) - 1], '\n');
}

TEST(test_this_machine_has_a_kind)
{
    char blas[100];

    cpu_kind_blas(blas, sizeof blas);
    assert_int_equal(strncmp(blas, "OpenBLAS ", 9), 0);
    assert_non_null(strstr(blas, ", threads "));
    assert_true(*cpu_kind_kernels() == 'a' || streq(cpu_kind_kernels(), "default"));
}

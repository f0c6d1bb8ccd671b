/* SPDX-License-Identifier: Apache-2.0 */
/* test_device.c - which back-end a trainer computes with, and that it keeps the memories apart
 *
 * In place of the CUDA back-end stands tests/lib/fake_device.c, whose memory can be touched only
 * while an op runs and which computes as the CPU does: so every bit must come out the same. */
#include "trainer/learn/device.h"

#include <cblas.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/kernels.h"
#include "shared/log.h"
#include "tests/lib/chain_set.h"
#include "tests/lib/kernels_cases.h"
#include "tests/lib/kernels_host.h"
#include "tests/lib/learner_run.h"
#include "tests/unit/network_case.h"
#include "trainer/data/sample_set.h"
#include "trainer_fixture.h"

static unsigned n_logged;
static struct log_record logged;
static char logged_text[1024];

static int on_log(const struct log_record *record)
{
    n_logged++;
    logged = *record;
    (void)snprintf(logged_text, sizeof logged_text, "%s", record->text);
    return 0;
}

/* The fake device in a state (NULL: whole), and what the scheduler granted (NULL: no variable). */
static void machine_is(const char *state, const char *visible)
{
    char folder[PATH_MAX];

    (void)snprintf(folder, sizeof folder, "%s/tests/lib", getenv("EDL_BUILD_DIR"));
    assert_int_equal(setenv("EDL_KERNELS_DIR", folder, 1), 0);
    assert_int_equal(setenv("EDL_TEST_DEVICE", state != NULL ? state : "", 1), 0);
    if (visible != NULL)
        assert_int_equal(setenv("CUDA_VISIBLE_DEVICES", visible, 1), 0);
    else
        assert_int_equal(unsetenv("CUDA_VISIBLE_DEVICES"), 0);
    n_logged = 0;
}

static void assert_refused(const char *wanted, int code, const char *text, const char *remedy)
{
    struct edl_error error = { 0 };
    struct device device = { 0 };

    assert_int_equal(device_open(wanted, &device, &error), code);
    assert_null(device.backend);
    if (strstr(error.text, text) == NULL)
        fail_msg("\"%s\" is not in: %s", text, error.text);
    if (strstr(error.remedy, remedy) == NULL)
        fail_msg("\"%s\" is not in: %s", remedy, error.remedy);
}

static void assert_opens(const char *wanted, const char *name)
{
    struct edl_error error = { 0 };
    struct device device;

    if (device_open(wanted, &device, &error) < 0)
        fail_msg("%s", error.text);
    assert_string_equal(device.backend->name, name);
    device_close(&device);
    assert_null(device.backend);
}

/* The first test: what is loaded once stays loaded, but for this. */
static void test_other_version(void **unused)
{
    char text[64];

    (void)unused;
    (void)snprintf(text, sizeof text, "version %d of the kernels' interface, this program %d",
                   EDL_KERNELS_ABI + 1, EDL_KERNELS_ABI);
    machine_is("abi", NULL);
    assert_refused("cuda", -ELIBBAD, text, "same version");
    machine_is("abi", "0");
    assert_opens("auto", "cpu");
    assert_int_equal(n_logged, 1);
}

static void test_not_installed(void **unused)
{
    (void)unused;
    machine_is(NULL, NULL);
    assert_int_equal(setenv("EDL_KERNELS_DIR", "/nonexistent", 1), 0);
    assert_refused("cuda", -ENOENT, "not installed (/nonexistent/libedl-kernels-cuda.so)",
                   "apt-get install edl-trainer-cuda");
    assert_opens("cpu", "cpu");
}

/* What is no library, and one that is another. */
static void test_not_loadable(void **unused)
{
    char folder[64], path[128], other[PATH_MAX];
    FILE *f;

    (void)unused;
    machine_is(NULL, NULL);
    folder_make(folder, sizeof folder);
    assert_int_equal(setenv("EDL_KERNELS_DIR", folder, 1), 0);
    (void)snprintf(path, sizeof path, "%s/libedl-kernels-cuda.so", folder);
    f = fopen(path, "we");
    assert_non_null(f);
    assert_true(fputs("text", f) >= 0);
    assert_int_equal(fclose(f), 0);
    assert_refused("cuda", -ELIBACC, "cannot be loaded: ", "cuBLAS");
    assert_int_equal(unlink(path), 0);
    (void)snprintf(other, sizeof other, "%s/tests/lib/libnvidia-ml.so.1", getenv("EDL_BUILD_DIR"));
    assert_int_equal(symlink(other, path), 0);
    assert_refused("cuda", -ELIBBAD, "has no edl_kernels_backend", "same version");
    folder_remove(folder);
}

static void test_no_device(void **unused)
{
    (void)unused;
    machine_is("absent", NULL);
    assert_refused("cuda", -ENODEV,
                   "no GPU can be used: fakeInit: there is no device (FAKE_ERROR_NO_DEVICE, 100)",
                   "--device cpu");
}

static void test_auto(void **unused)
{
    static const char *const not_granted[] = { NULL, "", "-1" };

    (void)unused;
    for (size_t i = 0; i < ELEMENTS(not_granted); i++) {
        machine_is(NULL, not_granted[i]);
        assert_opens("auto", "cpu");
        assert_int_equal(n_logged, 0);
    }
    machine_is(NULL, "GPU-1234");
    assert_opens("auto", "cuda");
    assert_int_equal(n_logged, 0);
    machine_is("absent", "0");
    assert_opens("auto", "cpu");
    assert_int_equal(n_logged, 1);
    assert_int_equal(logged.level, LOG_LEVEL_WARNING);
    assert_non_null(strstr(logged_text, "the CPU is used: no GPU can be used: fakeInit"));
    assert_opens("cpu", "cpu"); /* no GPU was asked for: nothing to say */
    assert_int_equal(n_logged, 1);
}

/* trained_by - the back-end that trains a network on that device, or the failure */
static int trained_by(const char *wanted, const char *name, const char *expected,
                      struct edl_error *ret)
{
    struct network *network = network_shipped(name, NULL);
    const struct edl_backend *backend = NULL;
    struct device device;
    int r;

    *ret = (struct edl_error){ 0 };
    if (device_open(wanted, &device, ret) < 0)
        fail_msg("%s", ret->text);
    r = device_backend_for(&device, network, &backend, ret);
    if (r >= 0)
        assert_string_equal(backend->name, expected);
    device_close(&device);
    (void)network_free(network);
    return r;
}

/* The network of words has all its ops on a device, which is said once. */
static void test_network(void **unused)
{
    struct edl_error error;

    (void)unused;
    machine_is(NULL, "GPU-1234");
    assert_int_equal(trained_by("auto", "ngram_lm", "cuda", &error), 0);
    assert_int_equal(n_logged, 1);
    assert_string_equal(logged_text, "computing on cuda: fake device");
    assert_int_equal(trained_by("cuda", "ngram_lm", "cuda", &error), 0);
    machine_is(NULL, NULL);
    assert_int_equal(trained_by("auto", "ngram_lm", "cpu", &error), 0);
    assert_int_equal(n_logged, 0);
}

/* Other layers have none: a granted GPU is left alone, and that is said once. */
static void test_network_without_ops(void **unused)
{
    static const struct {
        const char *network, *lacks;
    } cases[] = {
        { "resnet_cifar", "layers of the kind conv" },
        { "recommendation", "sequences, as the input title" },
        { "digits_mlp", "the activation of the layer" },
        { "fit_a_line", "layers of the kind square_error" },
    };
    struct edl_error error;

    (void)unused;
    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        machine_is(NULL, "GPU-1234");
        assert_int_equal(trained_by("auto", cases[i].network, "cpu", &error), 0);
        assert_int_equal(n_logged, 1);
        assert_int_equal(logged.level, LOG_LEVEL_WARNING);
        assert_non_null(strstr(logged_text, "a GPU was granted, but the CPU is used: the device "
                                            "(cuda) has no ops for"));
        if (strstr(logged_text, cases[i].lacks) == NULL)
            fail_msg("\"%s\" is not in: %s", cases[i].lacks, logged_text);
        assert_int_equal(trained_by("cuda", cases[i].network, "", &error), -EOPNOTSUPP);
        assert_non_null(strstr(error.text, cases[i].lacks));
        assert_string_equal(error.remedy, "train on the CPU: --device cpu");
    }
}

static void test_unknown_word(void **unused)
{
    (void)unused;
    machine_is(NULL, NULL);
    assert_refused("gpu", -EINVAL, "--device is \"gpu\", not cpu, cuda or auto", "");
}

static struct device open_fake(const char *state)
{
    struct edl_error error = { 0 };
    struct device device;

    machine_is(state, NULL);
    if (device_open("cuda", &device, &error) < 0)
        fail_msg("%s", error.text);
    return device;
}

static int open_for_cases(void **unused)
{
    static struct device device;

    (void)unused;
    device = open_fake(NULL);
    kernels_cases_use(kernels_on_host(device.backend));
    return 0;
}

/* The device counts what was not released, and ends the program at its close. */
static void same_bits(uint32_t push_every)
{
    struct device device = open_fake(NULL);
    struct learner_run cpu, fake;

    learner_run(backend_cpu(), push_every, &cpu);
    learner_run(device.backend, push_every, &fake);
    assert_int_equal(cpu.result, 0);
    if (fake.result != 0)
        fail_msg("%s", fake.text);
    assert_true(cpu.before.cost > 1.3 * learner_run_bound());
    if (!(cpu.after.cost < 1.15 * learner_run_bound()))
        fail_msg("cost %f, at best %f", cpu.after.cost, learner_run_bound());
    assert_int_equal(cpu.n_costs, 2 * (4000 / 24 + 1));
    assert_int_equal(fake.n_costs, cpu.n_costs);
    assert_memory_equal(fake.costs, cpu.costs, cpu.n_costs * sizeof *cpu.costs);
    assert_true(fake.before.cost == cpu.before.cost && fake.after.cost == cpu.after.cost);
    assert_true(fake.after.error_rate == cpu.after.error_rate);
    assert_int_equal(fake.updates, cpu.updates);
    for (int p = 0; p < LEARNER_RUN_PARAMS; p++)
        assert_memory_equal(fake.params[p], cpu.params[p], cpu.param_bytes[p]);
    learner_run_free(&cpu);
    learner_run_free(&fake);
    device_close(&device);
}

static void test_same_bits(void **unused)
{
    (void)unused;
    same_bits(1);
    same_bits(3);
}

static void refused_for_memory(const struct edl_backend *backend, const char *arguments,
                               const char *text)
{
    struct network *network = network_shipped("ngram_lm", arguments);
    struct network_learner_config config = {
        .network = network, .backend = backend, .batch = 32, .push_every = 1, .exchange = NULL
    };
    struct network_learner *learner = NULL;
    struct edl_error error = { 0 };

    assert_int_equal(network_declaration(network, 1, &config.declaration, NULL), 0);
    assert_int_equal(network_learner_new(&config, &learner, &error), -ENOMEM);
    assert_null(learner);
    if (strstr(error.text, text) == NULL)
        fail_msg("\"%s\" is not in: %s", text, error.text);
    (void)network_free(network);
}

/* The values of a batch do not fit; they do, but the parameters do not. */
static void test_too_small(void **unused)
{
    struct device device = open_fake("small");

    (void)unused;
    refused_for_memory(device.backend, "vocabulary=20000", "no memory (cuda) for a batch of 32");
    refused_for_memory(device.backend, "vocabulary=1500", "no memory (cuda) for the parameters of");
    device_close(&device);
}

/* The outputs of samples come from the device as they are on the CPU. */
static void keep_outputs(const struct network_outputs *outputs, size_t rows, void *userdata)
{
    float **at = userdata;

    memcpy(*at, outputs->values[0], rows * outputs->columns[0] * sizeof **at);
    *at += rows * outputs->columns[0];
}

static void outputs_by(const struct edl_backend *backend, float *ret)
{
    struct network *network = chain_network("embedding=12 hidden=37");
    struct sample_set *samples = chain_set(network, 100, 5);
    struct network_learner_config config = {
        .network = network, .backend = backend, .batch = 32, .push_every = 1, .exchange = NULL
    };
    struct network_learner *learner = NULL;
    float *at = ret;

    assert_int_equal(network_declaration(network, 1, &config.declaration, NULL), 0);
    assert_int_equal(network_learner_new(&config, &learner, NULL), 0);
    network_learner_start_values(learner, false);
    assert_int_equal(network_learner_outputs(learner, samples, keep_outputs, &at, NULL), 0);
    assert_int_equal(at - ret, 100 * CHAIN_WORDS);
    (void)network_learner_free(learner);
    (void)sample_set_free(samples);
    (void)network_free(network);
}

static void test_outputs(void **unused)
{
    static float cpu[100 * CHAIN_WORDS], fake[100 * CHAIN_WORDS];
    struct device device = open_fake(NULL);

    (void)unused;
    outputs_by(backend_cpu(), cpu);
    outputs_by(device.backend, fake);
    assert_memory_equal(fake, cpu, sizeof cpu);
    assert_true(cpu[0] > 0 && cpu[0] < 1);
    device_close(&device);
}

/* The training ends with what happened, and nothing that came after it was pushed. */
static void test_fails_under_way(void **unused)
{
    struct device device;
    struct learner_run run;

    (void)unused;
    for (uint32_t push_every = 1; push_every <= 3; push_every += 2) {
        device = open_fake("fails");
        learner_run(device.backend, push_every, &run);
        assert_int_equal(run.result, -EIO);
        assert_string_equal(run.text, "the device (cuda) has failed: it was told to");
        assert_true(run.updates * push_every <= run.n_costs);
        for (uint32_t i = 0; i < run.n_costs; i++)
            assert_true(isfinite(run.costs[i]));
        device_close(&device);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_other_version),
        cmocka_unit_test(test_not_installed),
        cmocka_unit_test(test_not_loadable),
        cmocka_unit_test(test_no_device),
        cmocka_unit_test(test_auto),
        cmocka_unit_test(test_network),
        cmocka_unit_test(test_network_without_ops),
        cmocka_unit_test(test_outputs),
        cmocka_unit_test(test_unknown_word),
        cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_too_small),
        cmocka_unit_test(test_fails_under_way),
    };
    struct CMUnitTest cases[KERNELS_CASES_MAX];
    size_t n = kernels_cases(cases);
    int failed;

    openblas_set_num_threads(1);
    log_init("test_device");
    log_to(on_log);
    failed = cmocka_run_group_tests_name("trainer: device", tests, NULL, NULL);
    failed += _cmocka_run_group_tests("kernels: on a device", cases, n, open_for_cases, NULL);
    return failed;
}

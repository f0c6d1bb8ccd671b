/* SPDX-License-Identifier: Apache-2.0 */
/* train_step.c - samples per second of one training step beside the bound of its matrix products
 *
 * The bound is the shape limit: the time of the step's six sgemm calls alone, on the same sizes,
 * with nothing around them. Step, step with AdaGrad (local training) and the bare products run
 * alternately in short turns, so that another program's load hits all three. Each turn's ratio is
 * kept and the median of the turns is reported. One BLAS thread: a trainer owns one core.
 *
 * Usage: train_step [--json] [--turns N] [--vocabulary V] [--batch B]
 * Without --batch: 32 and 512. */
#include <cblas.h>
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/kernels.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "trainer/learn/network_learner.h"
#include "trainer/model/network_files.h"
#include "trainer/network/network.h"
#include "trainer/network/plan.h"

enum { NGRAM = 5, CONTEXT = NGRAM - 1, EMBEDDING = 32, HIDDEN = 256, TURNS_MAX = 100000 };

/* In the order of the network's parameters. */
enum { EMBEDDINGS, W1, B1, W2, B2, PARAMS };

struct bench {
    uint32_t vocabulary, batch;
    struct network_file file;
    struct network *network;
    struct declaration declaration;
    struct plan *plan;
    float *params[PARAMS], *sums[PARAMS], *grads[PARAMS];
    size_t sizes[PARAMS];
    int32_t *words[NGRAM]; /* [batch] of each place */
    float *x, *h, *p;      /* operands of the bare products */
    uint64_t seed;
    double cost;
};

struct result {
    uint32_t vocabulary, batch;
    double step, step_adagrad, limit;      /* samples/s, medians */
    double step_ratio, step_adagrad_ratio; /* of the limit, medians of each turn's */
};

static double now_s(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Words fall off roughly like Zipf's: the square of a uniform draw. */
static void fill_samples(struct bench *b)
{
    uint64_t state = 1;

    for (int k = 0; k < NGRAM; k++)
        b->words[k] = xcalloc(b->batch, sizeof *b->words[k]);
    for (size_t i = 0; i < (size_t)b->batch * NGRAM; i++) {
        double u = (double)(draw(&state) >> 11) * 0x1p-53;

        b->words[i % NGRAM][i / NGRAM] = (int32_t)(u * u * b->vocabulary);
    }
}

static float *new_values(size_t n, float value)
{
    float *p = xcalloc(n, sizeof *p);

    for (size_t i = 0; i < n; i++)
        p[i] = value;
    return p;
}

static int open_network(struct bench *b, struct edl_error *error)
{
    struct plan_config config = { .backend = backend_cpu(),
                                  .ops = tensor_ops_f32(),
                                  .batch_max = b->batch };
    char arguments[160];
    int r = network_file_open("ngram_lm", &b->file, error);

    (void)snprintf(arguments, sizeof arguments, "ngram=%d,embedding=%d,hidden=%d,vocabulary=%u",
                   NGRAM, EMBEDDING, HIDDEN, b->vocabulary);
    if (r >= 0)
        r = network_file_parse(&b->file, arguments, NULL, 0, &b->network, error);
    if (r >= 0)
        r = network_declaration(b->network, 1, &b->declaration, error);
    config.network = b->network;
    return r < 0 ? r : plan_new(&config, &b->plan, error);
}

/* The batch is checked and its words found in each step, as a training does. */
static int take_batch(struct bench *b, struct edl_error *error)
{
    struct batch batch = { .n = b->batch, .n_slots = NGRAM };

    for (int k = 0; k < NGRAM; k++)
        batch.slots[k].ids = b->words[k];
    return plan_batch(b->plan, &batch, error);
}

static int bench_open(struct bench *b, uint32_t vocabulary, uint32_t batch)
{
    const size_t B = batch;
    struct edl_error error = { 0 };
    uint32_t n_rows;

    *b = (struct bench){ .vocabulary = vocabulary, .batch = batch };
    b->x = new_values(B * CONTEXT * EMBEDDING, 0.01f);
    b->h = new_values(B * HIDDEN, 0.01f);
    b->p = new_values(B * vocabulary, 0.01f);
    fill_samples(b);
    if (open_network(b, &error) < 0 || take_batch(b, &error) < 0) {
        (void)fprintf(stderr, "train_step: %s\n", error.text);
        return -EINVAL;
    }
    (void)plan_rows(b->plan, EMBEDDINGS, &n_rows);
    for (int p = 0; p < PARAMS; p++) {
        const struct param_spec *s = &b->declaration.params[p];

        b->sizes[p] = (size_t)(p == EMBEDDINGS ? n_rows : s->rows) * s->columns;
        b->params[p] = new_values(b->sizes[p], 0.0f);
        b->sums[p] = new_values(b->sizes[p], 0.0f);
        b->grads[p] = new_values(b->sizes[p], 0.0f);
        for (size_t i = 0; i < b->sizes[p]; i++)
            b->params[p][i] =
                param_init_value(s, 1, (uint32_t)(i / s->columns), (uint32_t)(i % s->columns));
    }
    return 0;
}

static void bench_close(struct bench *b)
{
    for (int p = 0; p < PARAMS; p++) {
        free(b->params[p]);
        free(b->sums[p]);
        free(b->grads[p]);
    }
    for (int k = 0; k < NGRAM; k++)
        free(b->words[k]);
    free(b->x);
    free(b->h);
    free(b->p);
    b->plan = plan_free(b->plan);
    b->network = network_free(b->network);
    network_file_close(&b->file);
}

static void run_step(struct bench *b)
{
    struct edl_error error = { 0 };
    struct plan_result result;

    if (take_batch(b, &error) < 0)
        return;
    plan_step(b->plan, (void *const *)b->params, b->seed++, (void *const *)b->grads, &result);
    b->cost = result.cost;
}

static void run_step_adagrad(struct bench *b)
{
    const struct optimizer_kind *adagrad = optimizer_kind(OPTIMIZER_ADAGRAD);

    run_step(b);
    for (int p = 0; p < PARAMS; p++) {
        struct optimizer_step step =
            optimizer_param_step(&b->declaration.optimizer, &b->declaration.params[p]);

        step.rate = 3e-3 * (double)b->declaration.params[p].learning_rate;
        step.count = step.batches = 1;
        adagrad->update(b->params[p], (float *const[]){ b->sums[p], NULL }, b->grads[p],
                        b->sizes[p], &step);
    }
}

/* The step's six products on the step's own weights, and nothing else. */
static void run_products(struct bench *b)
{
    const int B = (int)b->batch, V = (int)b->vocabulary, H = HIDDEN;
    const int CD = CONTEXT * EMBEDDING;
    float *const w1 = b->params[W1], *const w2 = b->params[W2];

    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, B, H, CD, 1.0f, b->x, CD, w1, H, 0.0f,
                b->h, H);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, B, V, H, 1.0f, b->h, H, w2, H, 0.0f, b->p,
                V);
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, V, H, B, 1.0f, b->p, V, b->h, H, 0.0f,
                b->grads[W2], H);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, B, H, V, 1e-3f, b->p, V, w2, H, 0.0f,
                b->h, H);
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, CD, H, B, 1.0f, b->x, CD, b->h, H, 0.0f,
                b->grads[W1], H);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, B, CD, H, 1e-3f, b->h, H, w1, H, 0.0f,
                b->x, CD);
    /* The products feed each other; fresh values keep them from drifting into denormals. */
    for (size_t i = 0; i < (size_t)B * CD; i++)
        b->x[i] = 0.01f;
}

static double seconds_of(void (*run)(struct bench *), struct bench *b, unsigned n)
{
    const double start = now_s();

    for (unsigned i = 0; i < n; i++)
        run(b);
    return now_s() - start;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, compare_doubles);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

static int measure(uint32_t vocabulary, uint32_t batch, unsigned turns, struct result *ret)
{
    static double step[TURNS_MAX], adagrad[TURNS_MAX], limit[TURNS_MAX];
    static double step_ratio[TURNS_MAX], adagrad_ratio[TURNS_MAX];
    struct bench b;
    unsigned n;

    if (bench_open(&b, vocabulary, batch) < 0)
        return -EINVAL;
    n = 1 + (unsigned)(0.04 / seconds_of(run_step_adagrad, &b, 1)); /* a turn: some 40 ms each */
    (void)seconds_of(run_step_adagrad, &b, n);
    (void)seconds_of(run_products, &b, n);
    for (unsigned i = 0; i < turns; i++) {
        const double samples = (double)n * batch;

        limit[i] = samples / seconds_of(run_products, &b, n);
        step[i] = samples / seconds_of(run_step, &b, n);
        adagrad[i] = samples / seconds_of(run_step_adagrad, &b, n);
        step_ratio[i] = step[i] / limit[i];
        adagrad_ratio[i] = adagrad[i] / limit[i];
    }
    bench_close(&b);
    *ret = (struct result){ vocabulary,
                            batch,
                            median(step, turns),
                            median(adagrad, turns),
                            median(limit, turns),
                            median(step_ratio, turns),
                            median(adagrad_ratio, turns) };
    return 0;
}

static int print_json(const struct result *results, size_t n)
{
    json_t *root = json_pack("{s:s,s:[]}", "bench", "train_step", "results");

    for (size_t i = 0; i < n; i++)
        (void)json_array_append_new(
            json_object_get(root, "results"),
            json_pack("{s:i,s:i,s:f,s:f,s:f,s:f,s:f}", "vocabulary", (int)results[i].vocabulary,
                      "batch", (int)results[i].batch, "step_samples_per_s", results[i].step,
                      "step_adagrad_samples_per_s", results[i].step_adagrad,
                      "shape_limit_samples_per_s", results[i].limit, "step_over_shape_limit",
                      results[i].step_ratio, "step_adagrad_over_shape_limit",
                      results[i].step_adagrad_ratio));
    if (json_dumpf(root, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) < 0) {
        json_decref(root);
        return -EIO;
    }
    json_decref(root);
    return puts("") < 0 ? -EIO : 0;
}

static void print_table(const struct result *results, size_t n)
{
    (void)printf("%6s %6s %14s %14s %14s %10s %14s\n", "V", "B", "limit/s", "step/s",
                 "step+adagrad/s", "step", "step+adagrad");
    for (size_t i = 0; i < n; i++)
        (void)printf("%6u %6u %14.0f %14.0f %14.0f %9.1f%% %13.1f%%\n", results[i].vocabulary,
                     results[i].batch, results[i].limit, results[i].step, results[i].step_adagrad,
                     100.0 * results[i].step_ratio, 100.0 * results[i].step_adagrad_ratio);
}

static int parse_count(const char *text, unsigned long max, uint32_t *ret)
{
    char *end;
    unsigned long value;

    errno = 0;
    value = strtoul(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value == 0 || value > max)
        return -EINVAL;
    *ret = (uint32_t)value;
    return 0;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        { "json", no_argument, NULL, 'j' },
        { "turns", required_argument, NULL, 't' },
        { "vocabulary", required_argument, NULL, 'v' },
        { "batch", required_argument, NULL, 'b' },
        { NULL, 0, NULL, 0 },
    };
    uint32_t turns = 15, vocabulary = 2073, batches[2] = { 32, 512 };
    size_t n = ELEMENTS(batches);
    struct result results[ELEMENTS(batches)];
    int json = 0, option;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        int r = -EINVAL;

        if (option == 'j')
            r = json = 1;
        else if (option == 't')
            r = parse_count(optarg, TURNS_MAX, &turns);
        else if (option == 'v')
            r = parse_count(optarg, 1000000, &vocabulary);
        else if (option == 'b')
            r = parse_count(optarg, 4096, &batches[0]);
        if (option == 'b')
            n = 1;
        if (r < 0) {
            (void)fputs("usage: train_step [--json] [--turns N] [--vocabulary V] [--batch B]\n",
                        stderr);
            return 2;
        }
    }
    openblas_set_num_threads(1);
    for (size_t i = 0; i < n; i++)
        if (measure(vocabulary, batches[i], turns, &results[i]) < 0)
            return 1;
    if (json)
        return print_json(results, n) < 0;
    print_table(results, n);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* source_images.c - 3x32x32 pictures of ten gratings at any phase, with noise
 *
 * A picture is z = amplitude * colour * cos(2 pi (u x + v y) / 32 + phase) + normal noise. Its
 * class is the pair (u, v); the phase is any. The sample is 1 / (1 + exp(-z)): between 0 and 1, and
 * it tells a model exactly what z tells.
 *
 * The mean picture of every class is the same grey, so nothing linear can tell them apart. Over the
 * phase the density of z has a closed form: I0, the modified Bessel function, of how strong the
 * grating is in z. The gratings are orthogonal, so without wrong labels the error of the best
 * classifier is that of orthogonal signals of unknown phase, a finite sum. */
#include "trainer/data/source_images.h"

#include "shared/macro.h"
#include "trainer/data/label.h"
#include "trainer/data/random_stream.h"
#include "trainer/data/source.h"

#define SIDE 32
#define CHANNELS 3
#define PLANE (SIDE * SIDE)
#define PIXELS (CHANNELS * PLANE)
#define SAMPLES_DEFAULT 6000
#define SAMPLES_MIN 12
#define NOISE_DEFAULT 1.0f
#define LABEL_NOISE_DEFAULT 0.05f
#define AMPLITUDE 1.0
#define SERIES_MAX 30.0 /* up to here ln I0 is summed, beyond it is expanded */

enum { STREAM_TRAIN = 1, STREAM_TEST };

static const double colour[CHANNELS] = { 1.0, 0.6, -0.8 };

/* Waves across and down the picture. No two are each other's negative. */
static const struct {
    int u, v;
} gratings[SOURCE_CLASSES] = { { 2, 0 }, { 0, 2 }, { 2, 2 },  { 2, -2 }, { 4, 0 },
                               { 0, 4 }, { 4, 4 }, { 4, -4 }, { 4, 2 },  { 2, 4 } };

struct images {
    uint64_t seed, n_test;
    double noise, label_noise;
    double waves[SIDE]; /* cos(2 pi k / 32) */
    double z[PIXELS];
    float pixels[PIXELS];
    int32_t label;
};

/* Which of the 32 points of a period a pixel of a grating has. */
static unsigned point_of(uint32_t class, int p)
{
    return (unsigned)(gratings[class].u * (p % SIDE) + gratings[class].v * (p / SIDE)) % SIDE;
}

static void sample(void *state, bool test, uint64_t i, struct sample_value *ret_values)
{
    struct images *m = state;
    uint64_t s = random_stream(m->seed, test ? STREAM_TEST : STREAM_TRAIN, i);
    const uint32_t class = (uint32_t)random_below(&s, SOURCE_CLASSES);
    const double phase = 2 * M_PI * random_unit(&s);
    double period[SIDE];

    m->label = label_draw(class, m->label_noise, &s);
    for (int k = 0; k < SIDE; k++)
        period[k] = AMPLITUDE * cos(2 * M_PI * k / SIDE + phase);
    for (int p = 0; p < PIXELS; p++) {
        m->z[p] =
            colour[p / PLANE] * period[point_of(class, p % PLANE)] + m->noise * random_normal(&s);
        m->pixels[p] = (float)(1 / (1 + exp(-m->z[p])));
    }
    ret_values[0] = (struct sample_value){ .values = m->pixels };
    ret_values[1] = (struct sample_value){ .ids = &m->label };
}

double images_log_bessel(double x)
{
    double term = 1, sum = 1, y = x * x / 4;

    if (x > SERIES_MAX)
        return x - log(2 * M_PI * x) / 2 +
               log1p(1 / (8 * x) + 9 / (128 * x * x) + 225 / (3072 * x * x * x) +
                     11025 / (98304 * x * x * x * x));
    for (int k = 1; term > sum * 1e-17; k++)
        sum += term *= y / ((double)k * k);
    return log(sum);
}

/* How strong a grating is in z, whatever its phase. */
static double strength(const struct images *m, uint32_t class)
{
    double across = 0, down = 0;

    for (int p = 0; p < PLANE; p++) {
        double value = 0;
        unsigned k = point_of(class, p);

        for (int c = 0; c < CHANNELS; c++)
            value += colour[c] * m->z[c * PLANE + p];
        across += value * m->waves[k];
        down += value * m->waves[(k + 3 * SIDE / 4) % SIDE]; /* the sine */
    }
    return hypot(across, down);
}

static void posterior(void *state, uint64_t i, double *ret_posterior, int32_t *ret_label)
{
    struct images *m = state;
    struct sample_value values[2];

    sample(m, true, i, values);
    *ret_label = m->label;
    for (uint32_t c = 0; c < SOURCE_CLASSES; c++)
        ret_posterior[c] =
            images_log_bessel(AMPLITUDE * strength(m, c) / fmax(m->noise * m->noise, 1e-6));
    label_posterior(ret_posterior, m->label_noise);
}

double images_error_of_phase(double noise)
{
    double energy = 0, error = 0, choose = 1;
    const int n = SOURCE_CLASSES - 1;

    for (int c = 0; c < CHANNELS; c++)
        energy += AMPLITUDE * AMPLITUDE * colour[c] * colour[c] * PLANE / 2;
    for (int k = 1; k <= n; k++) {
        choose = choose * (n - k + 1) / k;
        error += (k % 2 == 1 ? 1 : -1) * choose / (k + 1) *
                 exp(-(double)k / (k + 1) * energy / (2 * noise * noise));
    }
    return error;
}

static json_t *floor_of(void *state)
{
    const struct images *m = state;

    return label_floor(m->n_test, state, posterior);
}

int source_open_images(const struct source_options *options, struct source *ret,
                       struct edl_error *error)
{
    const uint64_t n = options->samples != 0 ? options->samples : SAMPLES_DEFAULT;
    int r = source_check(options, SAMPLES_MIN, error);
    struct images *m;

    if (r < 0)
        return r;
    m = xcalloc(1, sizeof *m);
    m->seed = options->seed;
    m->noise = (double)(options->noise >= 0 ? options->noise : NOISE_DEFAULT);
    m->label_noise =
        (double)(options->label_noise >= 0 ? options->label_noise : LABEL_NOISE_DEFAULT);
    m->n_test = n / 6; /* as 10,000 beside 50,000 */
    for (int k = 0; k < SIDE; k++)
        m->waves[k] = cos(2 * M_PI * k / SIDE);
    *ret = (struct source){ .n_train = n - m->n_test,
                            .n_test = m->n_test,
                            .state = m,
                            .sample = sample,
                            .floor = floor_of,
                            .release = free };
    source_input(ret, "image", INPUT_DENSE, PIXELS);
    source_input(ret, "label", INPUT_INTEGER, SOURCE_CLASSES);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* source_digits.c - 28x28 pictures of ten digits, drawn with a pen, shifted, with noise
 *
 * A picture is z = the digit at one of 25 shifts + normal noise, and the sample is tanh(z): between
 * -1 and 1, and as tanh can be inverted it tells a model exactly what z tells. So P(digit | sample)
 * is a sum over 25 shifts of known densities. */
#include "shared/macro.h"
#include "trainer/data/label.h"
#include "trainer/data/random_stream.h"
#include "trainer/data/source.h"

#define SIDE 28
#define PIXELS (SIDE * SIDE)
#define SHIFT_MAX 2
#define SHIFTS ((2 * SHIFT_MAX + 1) * (2 * SHIFT_MAX + 1))
#define SAMPLES_DEFAULT 12000
#define SAMPLES_MIN 12
#define NOISE_DEFAULT 1.1f
#define LABEL_NOISE_DEFAULT 0.0f
#define PAPER (-0.9) /* of z, before noise */
#define INK 0.9
#define PEN 1.6 /* pixels from the middle of a line to the paper */
#define POINTS_MAX 8

/* Where a digit lies in the picture, in pixels. */
#define LEFT 8.5
#define TOP 6.0
#define WIDTH 11.0
#define HEIGHT 16.0

enum { STREAM_TRAIN = 1, STREAM_TEST };

/* A point of a digit: twentieths of its width and height. */
struct point {
    int8_t x, y;
};

/* Each digit is one line through some points; the pen is never lifted. */
static const struct {
    uint8_t n;
    struct point points[POINTS_MAX];
} digits[SOURCE_CLASSES] = {
    { 5, { { 0, 0 }, { 20, 0 }, { 20, 20 }, { 0, 20 }, { 0, 0 } } },
    { 3, { { 5, 4 }, { 11, 0 }, { 11, 20 } } },
    { 5, { { 0, 2 }, { 20, 0 }, { 20, 8 }, { 0, 20 }, { 20, 20 } } },
    { 6, { { 0, 0 }, { 20, 0 }, { 9, 9 }, { 20, 13 }, { 18, 20 }, { 0, 20 } } },
    { 4, { { 14, 20 }, { 14, 0 }, { 0, 13 }, { 20, 13 } } },
    { 6, { { 20, 0 }, { 1, 0 }, { 0, 9 }, { 20, 10 }, { 20, 20 }, { 0, 20 } } },
    { 6, { { 16, 0 }, { 0, 10 }, { 0, 20 }, { 20, 20 }, { 20, 11 }, { 0, 11 } } },
    { 3, { { 0, 0 }, { 20, 0 }, { 7, 20 } } },
    { 8,
      { { 0, 10 }, { 0, 0 }, { 20, 0 }, { 20, 20 }, { 0, 20 }, { 0, 10 }, { 20, 10 }, { 20, 9 } } },
    { 5, { { 20, 9 }, { 0, 9 }, { 0, 0 }, { 20, 0 }, { 16, 20 } } },
};

struct digits {
    uint64_t seed, n_test;
    double noise, label_noise;
    double templates[SOURCE_CLASSES][PIXELS];
    double z[PIXELS];
    float pixels[PIXELS];
    int32_t label;
};

/* The distance of a pixel to a piece of a line. */
static double distance(double x, double y, struct point from, struct point to)
{
    const double ax = LEFT + from.x * WIDTH / 20, ay = TOP + from.y * HEIGHT / 20;
    const double dx = (to.x - from.x) * WIDTH / 20, dy = (to.y - from.y) * HEIGHT / 20;
    double along = ((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy);

    along = fmin(fmax(along, 0), 1);
    return hypot(x - ax - along * dx, y - ay - along * dy);
}

static void draw(uint32_t class, double *ret)
{
    for (int i = 0; i < PIXELS; i++) {
        const int x = i % SIDE, y = i / SIDE;
        const struct point *points = digits[class].points;
        double nearest = PEN, ink;

        for (int p = 1; p < digits[class].n; p++)
            nearest = fmin(nearest, distance(x, y, points[p - 1], points[p]));
        ink = fmin(1, PEN - nearest); /* full up to PEN - 1, none from PEN on */
        ret[i] = PAPER + (INK - PAPER) * ink;
    }
}

/* A pixel of a digit that is shifted; paper comes in at the edges. */
static double shifted(const double *picture, int i, int dx, int dy)
{
    const int x = i % SIDE - dx, y = i / SIDE - dy;

    return x < 0 || x >= SIDE || y < 0 || y >= SIDE ? PAPER : picture[y * SIDE + x];
}

static void sample(void *state, bool test, uint64_t i, struct sample_value *ret_values)
{
    struct digits *d = state;
    uint64_t s = random_stream(d->seed, test ? STREAM_TEST : STREAM_TRAIN, i);
    const uint32_t class = (uint32_t)random_below(&s, SOURCE_CLASSES);
    const int dx = (int)random_below(&s, 2 * SHIFT_MAX + 1) - SHIFT_MAX;
    const int dy = (int)random_below(&s, 2 * SHIFT_MAX + 1) - SHIFT_MAX;

    d->label = label_draw(class, d->label_noise, &s);
    for (int p = 0; p < PIXELS; p++) {
        d->z[p] = shifted(d->templates[class], p, dx, dy) + d->noise * random_normal(&s);
        d->pixels[p] = (float)tanh(d->z[p]);
    }
    ret_values[0] = (struct sample_value){ .values = d->pixels };
    ret_values[1] = (struct sample_value){ .ids = &d->label };
}

static double log_density(const struct digits *d, uint32_t class, int shift)
{
    const int dx = shift % (2 * SHIFT_MAX + 1) - SHIFT_MAX;
    const int dy = shift / (2 * SHIFT_MAX + 1) - SHIFT_MAX;
    double squares = 0;

    for (int p = 0; p < PIXELS; p++) {
        double error = d->z[p] - shifted(d->templates[class], p, dx, dy);

        squares += error * error;
    }
    return -squares / (2 * fmax(d->noise * d->noise, 1e-6));
}

static void posterior(void *state, uint64_t i, double *ret_posterior, int32_t *ret_label)
{
    struct digits *d = state;
    struct sample_value values[2];

    sample(d, true, i, values);
    *ret_label = d->label;
    for (uint32_t c = 0; c < SOURCE_CLASSES; c++) {
        double logs[SHIFTS], max = -INFINITY, sum = 0;

        for (int s = 0; s < SHIFTS; s++)
            max = fmax(max, logs[s] = log_density(d, c, s));
        for (int s = 0; s < SHIFTS; s++)
            sum += exp(logs[s] - max);
        ret_posterior[c] = max + log(sum);
    }
    label_posterior(ret_posterior, d->label_noise);
}

static json_t *floor_of(void *state)
{
    const struct digits *d = state;

    return label_floor(d->n_test, state, posterior);
}

int source_open_digits(const struct source_options *options, struct source *ret,
                       struct edl_error *error)
{
    const uint64_t n = options->samples != 0 ? options->samples : SAMPLES_DEFAULT;
    int r = source_check(options, SAMPLES_MIN, error);
    struct digits *d;

    if (r < 0)
        return r;
    d = xcalloc(1, sizeof *d);
    d->seed = options->seed;
    d->noise = (double)(options->noise >= 0 ? options->noise : NOISE_DEFAULT);
    d->label_noise =
        (double)(options->label_noise >= 0 ? options->label_noise : LABEL_NOISE_DEFAULT);
    d->n_test = n / 6; /* as 10,000 beside 50,000 */
    for (uint32_t c = 0; c < SOURCE_CLASSES; c++)
        draw(c, d->templates[c]);
    *ret = (struct source){ .n_train = n - d->n_test,
                            .n_test = d->n_test,
                            .state = d,
                            .sample = sample,
                            .floor = floor_of,
                            .release = free };
    source_input(ret, "pixel", INPUT_DENSE, PIXELS);
    source_input(ret, "label", INPUT_INTEGER, SOURCE_CLASSES);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* distill.c - finds a line through what teachers say of its points. The same is in edl(3).
 *
 * cc distill.c $(pkg-config --cflags --libs edl) */
#include <edl/edl.h>
#include <stdio.h>

enum { BATCHES = 400, SAMPLES = 32 };

static float line[2];

static int feed(struct edl_distill *distill, int batch)
{
    float x[SAMPLES];
    const struct edl_tensor field = {
        .type = EDL_FLOAT32, .n_dimensions = 1, .dimensions = { SAMPLES }, .values = x
    };

    for (int i = 0; i < SAMPLES; i++)
        x[i] = (float)((batch * SAMPLES + i) % 97) / 97;
    return edl_distill_feed(distill, &field);
}

static void learn(const struct edl_distill_batch *batch)
{
    const float *x = batch->fields[0].values, *p = batch->predictions[0].values;

    for (uint64_t i = 0; i < batch->n_samples; i++) {
        float error = line[0] * x[i] + line[1] - p[i];

        line[0] -= 0.1f * error * x[i];
        line[1] -= 0.1f * error;
    }
}

int main(int argc, char **argv)
{
    static const char *const ins[] = { "x" }, *const predicts[] = { "p" };
    const struct edl_distill_options options = { .teachers = argc > 1 ? argv[1] : NULL,
                                                 .ins = ins,
                                                 .n_ins = 1,
                                                 .predicts = predicts,
                                                 .n_predicts = 1,
                                                 .teacher_batch = 16 };
    struct edl_client *client = NULL;
    struct edl_distill_batch *batch;
    struct edl_distill *distill;
    int r, fed = 0;

    edl_client_new(NULL, &client); /* there is none outside of a job: name the teachers */
    r = edl_distill_open(client, &options, &distill);
    while (r >= 0) {
        while (r >= 0 && fed < BATCHES && edl_distill_has_room(distill))
            r = feed(distill, fed++);
        if (r < 0 || (r = edl_distill_next(distill, EDL_FOREVER, &batch)) != 1)
            break;
        learn(batch);
        edl_distill_batch_free(batch);
    }
    if (r < 0)
        fprintf(stderr, "%s\n", edl_distill_error(distill));
    else
        printf("%.3f %.3f\n", (double)line[0], (double)line[1]);
    edl_distill_close(distill);
    edl_client_free(client);
    return r < 0;
}

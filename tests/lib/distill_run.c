/* SPDX-License-Identifier: Apache-2.0 */
/* distill_run.c - a student that counts: 49 tasks of 194 samples in 25 batches, again and again
 *
 * distill_run TEACHERS EPOCHS: each epoch is checked, and told in a line: "epoch 12". Teachers say
 * p = 2 x + 1. At last it tells how many answers there were. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libedl/edl/edl.h"
#include "shared/macro.h"

enum { BATCHES = 25, SAMPLES = 8, LAST_SAMPLES = 2, TASKS = 49 };

static struct edl_distill *distill;

static int die(const char *what)
{
    (void)fprintf(stderr, "distill_run: %s\n", what);
    exit(1);
}

static void feed(uint64_t batch)
{
    uint64_t n = batch % BATCHES < BATCHES - 1 ? SAMPLES : LAST_SAMPLES;
    float x[SAMPLES];
    int64_t label[SAMPLES];
    struct edl_tensor fields[] = {
        { .type = EDL_FLOAT32, .n_dimensions = 1, .dimensions = { n }, .values = x },
        { .type = EDL_INT64, .n_dimensions = 1, .dimensions = { n }, .values = label }
    };

    for (uint64_t i = 0; i < n; i++) {
        x[i] = (float)(batch % BATCHES * SAMPLES + i);
        label[i] = (int64_t)batch;
    }
    if (edl_distill_feed(distill, fields) < 0)
        die(edl_distill_error(distill));
}

static void check(const struct edl_distill_batch *batch, uint64_t number)
{
    uint64_t n = number % BATCHES < BATCHES - 1 ? SAMPLES : LAST_SAMPLES;
    const float *x = batch->fields[0].values, *p = batch->predictions[0].values;
    const int64_t *label = batch->fields[1].values;

    if (batch->number != number || batch->n_samples != n ||
        batch->predictions[0].dimensions[0] != n)
        die("a batch is out of order, or has other samples");
    for (uint64_t i = 0; i < n; i++)
        if (x[i] != (float)(number % BATCHES * SAMPLES + i) || label[i] != (int64_t)number ||
            p[i] != 2 * x[i] + 1)
            die("a sample has another prediction");
}

int main(int argc, char **argv)
{
    static const char *const ins[] = { "x", "label" }, *const predicts[] = { "p" };
    struct edl_distill_options options = { .ins = ins,
                                           .n_ins = ELEMENTS(ins),
                                           .predicts = predicts,
                                           .n_predicts = ELEMENTS(predicts),
                                           .teacher_batch = 4,
                                           .teachers = argc == 3 ? argv[1] : "" };
    uint64_t last = argc == 3 ? strtoull(argv[2], NULL, 10) * BATCHES : 0, fed = 0, got = 0;
    struct edl_distill_counts counts;
    struct edl_distill_batch *batch;

    if (edl_distill_open(NULL, &options, &distill) < 0)
        die(edl_distill_error(distill));
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    while (got < last) {
        while (fed < last && edl_distill_has_room(distill))
            feed(fed++);
        if (edl_distill_next(distill, EDL_FOREVER, &batch) != 1)
            die(edl_distill_error(distill));
        check(batch, got++);
        (void)edl_distill_batch_free(batch);
        if (got % BATCHES == 0)
            (void)printf("epoch %" PRIu64 "\n", got / BATCHES);
    }
    if (edl_distill_next(distill, 0, &batch) != 0)
        die("there are more batches than were fed");
    edl_distill_count(distill, &counts);
    if (counts.answers != last / BATCHES * TASKS)
        die("there are more answers than tasks, or fewer");
    (void)printf("answers %" PRIu64 " repeats %" PRIu64 "\n", counts.answers, counts.repeats);
    (void)edl_distill_close(distill);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* trainer_local.c - training alone, the parameters in this process: the reference for all the rest
 */
#include "trainer/run/trainer.h"

#include <errno.h>
#include <limits.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "trainer/data/sample_set.h"
#include "trainer/exchange/table.h"
#include "trainer/run/trainer_setup.h"

static int train_chunk(struct workshop *workshop, const struct dataset_chunk *chunk, uint64_t pass,
                       struct edl_error *error)
{
    uint64_t seed = workshop->config->seed + pass * UINT64_C(0x9e3779b97f4a7c15);
    struct sample_set *samples = NULL;
    size_t position = 0;
    int r = workshop_read(workshop, chunk, 1, seed ^ chunk->offset, &samples, error);

    if (r >= 0)
        r = workshop_train(workshop, samples, &position, (uint32_t)pass, chunk, error);
    (void)sample_set_free(samples);
    return r;
}

static int train(struct workshop *workshop, uint64_t passes, struct edl_error *error)
{
    struct dataset_chunk *chunks = NULL;
    size_t n = 0;
    int r = dataset_train_chunks(workshop->dataset, &chunks, &n, error);

    progress_ahead(&workshop->progress, passes, n);
    for (uint64_t pass = 0; r >= 0 && pass < passes; pass++) {
        progress_pass(&workshop->progress, (int64_t)pass);
        for (size_t i = 0; r >= 0 && i < n; i++) {
            r = train_chunk(workshop, &chunks[i], pass, error);
            progress_done(&workshop->progress, 1);
        }
        if (r >= 0)
            progress_end(&workshop->progress);
    }
    dataset_chunks_free(chunks, n);
    return r;
}

static int report(struct workshop *workshop, struct edl_error *error)
{
    struct evaluation after;
    char path[PATH_MAX];
    int r = workshop_result(workshop, &after, error);

    if (r < 0)
        return r;
    printf("Test after training, Cost %f, {'classification_error_evaluator': %.6g}\n", after.cost,
           after.error_rate);
    if (workshop->config->output_dir == NULL)
        return 0;
    r = workshop_save(workshop, path, sizeof path, error);
    if (r >= 0)
        printf("Model saved to %s\n", path);
    return r;
}

int trainer_run_local(const struct trainer_config *config, uint64_t passes, struct edl_error *error)
{
    struct workshop workshop;
    struct evaluation before;
    struct table *table = NULL;
    int r = workshop_open(&workshop, config, error);

    if (r >= 0)
        r = workshop_prepare_output(&workshop, error);
    if (r >= 0)
        r = declaration_check(&workshop.declaration, error);
    if (r >= 0)
        r = table_new(&workshop.declaration, 0, 1, &table, error);
    if (r >= 0)
        r = workshop_start(&workshop, table_exchange, table, false, error);
    if (r >= 0)
        r = workshop_baseline(&workshop, &before, error);
    if (r >= 0 && before.samples > 0)
        printf("Test before training, Cost %f\n", before.cost);
    if (r >= 0)
        r = train(&workshop, passes, error);
    if (r >= 0)
        r = report(&workshop, error);
    workshop_close(&workshop);
    (void)table_free(table);
    return r;
}

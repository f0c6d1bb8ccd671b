/* SPDX-License-Identifier: Apache-2.0 */
/* progress.c - the lines a user watches: cost and error of a batch now and then, and of each pass
 */
#include "trainer/progress.h"

#include <inttypes.h>

#include "shared/clock.h"
#include "shared/macro.h"

void progress_init(struct progress *progress, FILE *out, uint64_t period)
{
    *progress = (struct progress){ .out = out, .period = period, .pass = -1 };
}

void progress_end(struct progress *progress)
{
    double seconds;

    if (progress->pass < 0 || progress->batches == 0)
        return;
    seconds = (double)(clock_read_us(CLOCK_BOOTTIME) - progress->started_us) / USEC_PER_SEC;
    fprintf(progress->out,
            "Pass %" PRId64 " done here: %" PRIu64 " batches, mean Cost %f, "
            "{'classification_error_evaluator': %.6g}, %.0f samples/s\n",
            progress->pass, progress->batches, progress->cost_sum / (double)progress->samples,
            (double)progress->errors / (double)progress->samples,
            (double)progress->samples / MAX_OF(seconds, 1e-6));
    (void)fflush(progress->out);
    progress->batches = 0;
}

void progress_pass(struct progress *progress, int64_t pass)
{
    if (pass == progress->pass)
        return;
    progress_end(progress);
    progress_init(progress, progress->out, progress->period);
    progress->pass = pass;
    progress->started_us = clock_read_us(CLOCK_BOOTTIME);
}

void progress_batch(double cost, uint32_t errors, uint32_t samples, void *userdata)
{
    struct progress *progress = userdata;

    if (progress->period > 0 && progress->batches % progress->period == 0) {
        fprintf(progress->out,
                "Pass %" PRId64 ", Batch %" PRIu64 ", Cost %f, "
                "{'classification_error_evaluator': %.6g}\n",
                progress->pass, progress->batches, cost, (double)errors / samples);
        (void)fflush(progress->out);
    }
    progress->batches++;
    progress->samples += samples;
    progress->errors += errors;
    progress->cost_sum += cost * samples;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* simulate_watch.c - the samples of a scenario as plot data and as lines for people */
#include <inttypes.h>

#include "client/simulate.h"
#include "shared/macro.h"
#include "simulator/scenario_run.h"

static double share(const struct scenario_sample *sample)
{
    return (sample->ours_cores + sample->others_cores) / sample->total_cores;
}

static void plot_head(const struct simulate_watch *watch, const struct scenario_sample *sample)
{
    (void)fputs("seconds\tutilisation\tours\tothers\tmissing\tsubmitted\twaiting\trunning\tended\t"
                "trainers\tjain",
                watch->plot);
    for (size_t i = 0; i < sample->n_jobs; i++)
        (void)fprintf(watch->plot, "\t%s", watch->jobs[i]);
    (void)fputc('\n', watch->plot);
}

static void plot_line(const struct simulate_watch *watch, const struct scenario_sample *sample)
{
    (void)fprintf(watch->plot, "%.3f\t%.5f\t%.3f\t%.3f\t%.3f", (double)sample->at_us / USEC_PER_SEC,
                  share(sample), sample->ours_cores, sample->others_cores, sample->missing_cores);
    (void)fprintf(watch->plot,
                  "\t%" PRIu32 "\t%" PRIu32 "\t%" PRIu32 "\t%" PRIu32 "\t%" PRIu32 "\t%.4f",
                  sample->submitted, sample->waiting, sample->running, sample->ended,
                  sample->trainers, sample->jain);
    for (size_t i = 0; i < sample->n_jobs; i++)
        (void)fprintf(watch->plot, "\t%" PRIu32, sample->job_trainers[i]);
    (void)fputc('\n', watch->plot);
}

/* The columns of `edl top`, behind the time. */
static void print_line(struct simulate_watch *watch, const struct scenario_sample *sample)
{
    bool first = true;

    if (!watch->headed)
        (void)puts("SECONDS    SUBMITTED-JOBS    PENDING-JOBS    RUNNING-TRAINERS    CPU-UTILS");
    watch->headed = true;
    (void)printf("%7.1f    %" PRIu32 "    %" PRIu32 "    ", (double)sample->at_us / USEC_PER_SEC,
                 sample->submitted - sample->ended, sample->waiting);
    for (size_t i = 0; i < sample->n_jobs; i++) {
        if (sample->job_trainers[i] == 0)
            continue;
        (void)printf("%s%s:%" PRIu32, first ? "" : "|", watch->jobs[i], sample->job_trainers[i]);
        first = false;
    }
    (void)printf("%s    %.2f%%\n", first ? "-" : "", 100 * share(sample));
}

void simulate_watch_sample(const struct scenario_sample *sample, void *userdata)
{
    struct simulate_watch *watch = userdata;

    if (watch->plot != NULL) {
        if (sample->at_us == 0)
            plot_head(watch, sample);
        plot_line(watch, sample);
    }
    if (watch->every_us != 0 && sample->at_us >= watch->next_us) {
        watch->next_us = sample->at_us + watch->every_us;
        print_line(watch, sample);
    }
}

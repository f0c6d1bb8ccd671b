/* SPDX-License-Identifier: Apache-2.0 */
/* progress.c - the lines a user watches: cost and error of a batch now and then, and of each pass
 */
#include "trainer/run/progress.h"

#include <inttypes.h>
#include <stdarg.h>
#include <time.h>
#include <unistd.h>

#include "shared/clock.h"
#include "shared/log.h"
#include "shared/macro.h"

void progress_init(struct progress *progress, FILE *out, uint64_t period)
{
    *progress = (struct progress){ .out = out, .period = period, .pass = -1 };
}

void progress_glog(struct progress *progress, uint64_t dot_period)
{
    progress->glog = true;
    progress->dot_period = dot_period;
}

void progress_line(const struct progress *progress, const char *format, ...)
{
    struct timespec now;
    struct tm parts;
    va_list ap;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)localtime_r(&now.tv_sec, &parts);
    fprintf(progress->out, "I%02d%02d %02d:%02d:%02d.%06ld %5d edl-trainer] ", parts.tm_mon + 1,
            parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, now.tv_nsec / 1000,
            (int)getpid());
    va_start(ap, format);
    (void)vfprintf(progress->out, format, ap);
    va_end(ap);
    fputc('\n', progress->out);
    (void)fflush(progress->out);
}

/* The line with dots is ended before another comes. */
static void end_dots(struct progress *progress)
{
    if (progress->has_dots)
        fputc('\n', stderr);
    progress->has_dots = false;
}

const char *progress_evaluation(const struct progress *progress, double error_rate,
                                char buffer[PROGRESS_EVALUATION])
{
    buffer[0] = '\0';
    if (progress->classifies)
        (void)snprintf(buffer, PROGRESS_EVALUATION, "classification_error_evaluator=%.6g ",
                       error_rate);
    return buffer;
}

/* A batch is over: a line each period batches, else a dot now and then. */
static void tell_glog(struct progress *progress)
{
    char all[PROGRESS_EVALUATION], line[PROGRESS_EVALUATION];

    if (progress->period > 0 && progress->batches % progress->period == 0) {
        end_dots(progress);
        progress_line(
            progress,
            " Batch=%" PRIu64 " samples=%" PRIu64
            " AvgCost=%.6g CurrentCost=%.6g Eval: %s CurrentEval: %s",
            progress->batches, progress->samples, progress->cost_sum / (double)progress->samples,
            progress->line_cost_sum / (double)progress->line_samples,
            progress_evaluation(progress, (double)progress->errors / (double)progress->samples,
                                all),
            progress_evaluation(progress,
                                (double)progress->line_errors / (double)progress->line_samples,
                                line));
        progress->line_samples = 0;
        progress->line_errors = 0;
        progress->line_cost_sum = 0;
    } else if (progress->dot_period > 0 && progress->batches % progress->dot_period == 0) {
        fputc('.', stderr);
        progress->has_dots = true;
    }
}

void progress_end(struct progress *progress)
{
    char text[PROGRESS_EVALUATION];
    double seconds;

    if (progress->pass < 0 || progress->batches == 0)
        return;
    if (progress->glog) {
        end_dots(progress);
        progress_line(progress,
                      " Pass=%" PRId64 " Batch=%" PRIu64 " samples=%" PRIu64
                      " AvgCost=%.6g Eval: %s",
                      progress->pass, progress->batches, progress->samples,
                      progress->cost_sum / (double)progress->samples,
                      progress_evaluation(progress,
                                          (double)progress->errors / (double)progress->samples,
                                          text));
        progress->batches = 0;
        return;
    }
    seconds = (double)(clock_read_us(CLOCK_BOOTTIME) - progress->started_us) / USEC_PER_SEC;
    fprintf(progress->out,
            "Pass %" PRId64 " done here: %" PRIu64 " batch%s, mean Cost %f, "
            "{'classification_error_evaluator': %.6g}, %.0f samples/s\n",
            progress->pass, progress->batches, PLURAL_ES(progress->batches),
            progress->cost_sum / (double)progress->samples,
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
    *progress = (struct progress){ .out = progress->out,
                                   .period = progress->period,
                                   .glog = progress->glog,
                                   .dot_period = progress->dot_period,
                                   .classifies = progress->classifies,
                                   .left = progress->left };
    progress->pass = pass;
    progress->started_us = clock_read_us(CLOCK_BOOTTIME);
}

void progress_ahead(struct progress *progress, uint64_t passes, uint64_t parts)
{
    uint64_t of;

    if (__builtin_mul_overflow(passes, parts, &of))
        of = 0; /* a training without an end */
    time_left_begin(&progress->left, of, clock_read_us(CLOCK_BOOTTIME));
}

void progress_done(struct progress *progress, uint64_t parts)
{
    char text[TIME_LEFT_TEXT];

    if (!time_left_done(&progress->left, parts, clock_read_us(CLOCK_BOOTTIME), text))
        return;
    end_dots(progress);
    log_info("%s", text);
}

void progress_batch(double cost, uint32_t errors, uint32_t samples, void *userdata)
{
    struct progress *progress = userdata;

    if (!progress->glog && progress->period > 0 && progress->batches % progress->period == 0) {
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
    progress->line_samples += samples;
    progress->line_errors += errors;
    progress->line_cost_sum += cost * samples;
    if (progress->glog)
        tell_glog(progress);
}

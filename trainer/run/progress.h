/* SPDX-License-Identifier: Apache-2.0 */
/* progress.h - the lines a user watches: cost and error of a batch now and then, and of each pass
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "trainer/run/time_left.h"

struct progress {
    FILE *out;
    uint64_t period; /* batches between lines; 0: none */
    int64_t pass;    /* -1 before the first */
    uint64_t batches, samples, errors;
    double cost_sum; /* over samples */
    uint64_t started_us;
    bool glog; /* lines as PaddlePaddle's: means since the pass began and since the last line */
    uint64_t dot_period; /* batches between dots; 0: none */
    bool has_dots;       /* in a line that is not ended */
    uint64_t line_samples, line_errors;
    double line_cost_sum;
    bool classifies;       /* its errors mean something */
    struct time_left left; /* of the whole training */
};

void progress_init(struct progress *progress, FILE *out, uint64_t period);

/* progress_glog - from here on lines of glog, and a dot on standard error each dot_period batches
 */
void progress_glog(struct progress *progress, uint64_t dot_period);

/* progress_line - one of glog: severity, month and day, time, thread, then what format makes */
void progress_line(const struct progress *progress, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* progress_evaluation - what glog's lines say of errors behind "Eval: "; "" where the network
 * classifies nothing. Written to buffer, which is returned. */
#define PROGRESS_EVALUATION 64
const char *progress_evaluation(const struct progress *progress, double error_rate,
                                char buffer[PROGRESS_EVALUATION]);

/* progress_pass - a task of this pass begins; prints the summary of the one before when it is
 * another */
void progress_pass(struct progress *progress, int64_t pass);

/* progress_ahead - so many passes are to come, each of so many parts: samples, or pieces */
void progress_ahead(struct progress *progress, uint64_t passes, uint64_t parts);

/* progress_done - so many more are done; on standard error, now and then: how long the rest takes
 */
void progress_done(struct progress *progress, uint64_t parts);

/* progress_end - the summary of the pass under way, if any */
void progress_end(struct progress *progress);

/* progress_batch - a learner_batch_fn; userdata is the progress */
void progress_batch(double cost, uint32_t errors, uint32_t samples, void *progress);

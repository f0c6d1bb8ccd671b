/* SPDX-License-Identifier: Apache-2.0 */
/* network_predict.h - the outputs of samples as lines of text: on standard output, and in a folder
 * that PaddlePaddle's --predict_output_dir names */
#pragma once

#include <stddef.h>

struct edl_error;
struct network_learner;
struct sample_set;

/* network_predict_print - a line of each sample: values with commas; between two outputs a ; */
int network_predict_print(struct network_learner *learner, const struct sample_set *samples,
                          struct edl_error *error);

/* network_predict_write - FOLDER/rank-00000, the same with blanks between values; the folder is
 * made -errno of the file; else fails as network_learner_outputs. */
int network_predict_write(struct network_learner *learner, const struct sample_set *samples,
                          const char *folder, struct edl_error *error);

/* SPDX-License-Identifier: Apache-2.0 */
/* dataset.h - the training data on disk: RecordIO files, their index, the tasks' samples, the
 * held-out set
 *
 * EDL_DATASET is a glob of the train files. data.json or corpus.json, which say what a record
 * holds, and the test files (test-*.recordio) lie in the same folder, word_dict of a corpus as
 * well. Every record is checked when it is read (data/sample.h). */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "trainer/data/batch.h"

struct edl_error;
struct dataset;
struct sample_set;

struct dataset_chunk {
    char *path;
    uint64_t offset;
    uint32_t records;
};

/* dataset_open - reads the description only; -ENOMEDIUM: it cannot be read, so there is no data */
int dataset_open(const char *pattern, struct dataset **ret, struct edl_error *error);
struct dataset *dataset_free(struct dataset *dataset);

/* dataset_inputs - what a record holds, [*ret_n]; lives as long as the data set */
const struct input_spec *dataset_inputs(const struct dataset *dataset, uint32_t *ret_n);

/* dataset_ngram - words of a sample; 0: the samples are no n-grams */
uint32_t dataset_ngram(const struct dataset *dataset);
uint32_t dataset_vocabulary(const struct dataset *dataset);
const char *dataset_folder(const struct dataset *dataset);

/* dataset_tasks - indexes all train files and groups chunks into tasks of about task_records;
 * -ENOMEDIUM: there are none
 * *ret: new reference, {"digest", "tasks":[{"chunks":[{"path","offset","records"}]}]} */
int dataset_tasks(const struct dataset *dataset, uint32_t task_records, json_t **ret,
                  struct edl_error *error);

/* dataset_samples - the samples of some chunks, in order; *ret is the caller's (sample_set_free)
 * Errors: those of sample_set_read. */
int dataset_samples(const struct dataset *dataset, const struct dataset_chunk *chunks,
                    size_t n_chunks, struct sample_set **ret, struct edl_error *error);

/* dataset_held_out_samples - at most max samples of the test files, evenly spread over them */
int dataset_held_out_samples(const struct dataset *dataset, size_t max, struct sample_set **ret,
                             struct edl_error *error);

/* dataset_train_chunks - every chunk of the train files, for training without a scheduler */
int dataset_train_chunks(const struct dataset *dataset, struct dataset_chunk **ret, size_t *ret_n,
                         struct edl_error *error);
void dataset_chunks_free(struct dataset_chunk *chunks, size_t n);

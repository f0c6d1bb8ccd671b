/* SPDX-License-Identifier: Apache-2.0 */
/* dataset.h - the training data on disk: RecordIO files, their index, the tasks' samples, the
 * held-out set
 *
 * EDL_DATASET is a glob of the train files; corpus.json, word_dict and the test files lie in the
 * same folder. A record is ngram x int32 word ids; every id is checked against the vocabulary when
 * it is read. */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct edl_error;
struct dataset;

struct dataset_chunk {
    char *path;
    uint64_t offset;
    uint32_t records;
};

/* dataset_open - reads corpus.json only; -ENOMEDIUM: it cannot be read, so there is no data */
int dataset_open(const char *pattern, struct dataset **ret, struct edl_error *error);
struct dataset *dataset_free(struct dataset *dataset);

uint32_t dataset_ngram(const struct dataset *dataset);
uint32_t dataset_vocabulary(const struct dataset *dataset);
const char *dataset_folder(const struct dataset *dataset);

/* dataset_tasks - indexes all train files and groups chunks into tasks of about task_records;
 * -ENOMEDIUM: there are none
 * *ret: new reference, {"digest", "tasks":[{"chunks":[{"path","offset","records"}]}]} */
int dataset_tasks(const struct dataset *dataset, uint32_t task_records, json_t **ret,
                  struct edl_error *error);

/* dataset_read - the samples of some chunks, in order; *ret_samples i32[*ret_n, ngram], malloc'd */
int dataset_read(const struct dataset *dataset, const struct dataset_chunk *chunks, size_t n_chunks,
                 int32_t **ret_samples, size_t *ret_n, struct edl_error *error);

/* dataset_held_out - at most max samples of the test files, evenly spread over them; none: *ret_n
 * is 0 */
int dataset_held_out(const struct dataset *dataset, size_t max, int32_t **ret_samples,
                     size_t *ret_n, struct edl_error *error);

/* dataset_train_chunks - every chunk of the train files, for training without a scheduler */
int dataset_train_chunks(const struct dataset *dataset, struct dataset_chunk **ret, size_t *ret_n,
                         struct edl_error *error);
void dataset_chunks_free(struct dataset_chunk *chunks, size_t n);

/* dataset_shuffle - the same order for the same seed */
void dataset_shuffle(int32_t *samples, size_t n, uint32_t ngram, uint64_t seed);

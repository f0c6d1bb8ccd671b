/* SPDX-License-Identifier: Apache-2.0 */
/* description.h - the file of a data set that says what its records hold
 *
 * data.json: {"inputs": [{"name", "kind", "size"}, ...], ...}, in the order of the record. A corpus
 * of `edl corpus build` has corpus.json instead: ngram INTEGER inputs word_1, word_2, ... */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "trainer/data/batch.h"

struct edl_error;

#define DESCRIPTION_BYTES_MAX (1024 * 1024)

struct description {
    struct input_spec inputs[INPUTS_MAX];
    uint32_t n_inputs;
};

/* description_parse - data.json from memory; file is for the errors
 * Errors: EDL_ECORRUPT names the file, the line or the pointer, and the value. */
int description_parse(const char *text, size_t size, const char *file, struct description *ret,
                      struct edl_error *error);

/* description_parse_corpus - corpus.json from memory; errors as description_parse */
int description_parse_corpus(const char *text, size_t size, const char *file,
                             struct description *ret, struct edl_error *error);

/* description_read - data.json of a folder, else its corpus.json
 * Errors: -ENOMEDIUM when neither can be read, so there is no data; EDL_ECORRUPT. */
int description_read(const char *folder, struct description *ret, struct edl_error *error);

/* description_words - the words of a record when all inputs are INTEGER and of one size, else 0 */
uint32_t description_words(const struct description *description);

/* SPDX-License-Identifier: Apache-2.0 */
/* search_space_draft.h - what search_space_read.c and its parts share: keys before their checks */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "client/search_space.h"
#include "shared/document_reader.h"

/* NULL and 0: not given. Borrowed from the document. */
struct space_draft {
    const json_t *parameters, *method, *core_hours;
    const char *metric, *direction, *take, *resource;
    int64_t resource_min, resource_max, trials, failures, seed;
    uint64_t elapsed_us;
};

/* space_keep - a rule's call: the value as it stands, which is checked when all keys are there */
int space_keep(struct document_reader *reader, const char *key, const json_t *value, void *target);

/* space_refuse - EDL_EBADSPEC with remedy, at a key below the reader's place (NULL: at the place)
 */
int space_refuse(struct document_reader *reader, const char *key, const char *remedy,
                 const char *format, ...) __attribute__((format(printf, 4, 5)));

/* space_refuse_foreign - a key that other tools have for one of ours, with ours as its remedy
 *
 * known: of the object at the reader's place. 0: it has none of them, though it may be unknown. */
struct space_foreign {
    const char *key, *remedy;
};
int space_refuse_foreign(struct document_reader *reader, const json_t *object,
                         const struct space_foreign *known, size_t n_known);

/* space_number - the number of a key below the reader's place, in min..max; value may not be NULL
 */
int space_number(struct document_reader *reader, const json_t *value, const char *key, double min,
                 double max, double *ret);

/* space_read_parameters - the key `parameters`: a mapping by name, or a list; NULL: it is missing
 */
int space_read_parameters(struct document_reader *reader, const json_t *parameters,
                          struct search_space *space);

/* space_read_method - the key `method`, a word or a mapping; NULL: the default */
int space_read_method(struct document_reader *reader, const json_t *method,
                      struct search_space *space);

/* space_settle_method - settings that were not given get their defaults; the budget is known */
void space_settle_method(struct search_space *space);

/* SPDX-License-Identifier: Apache-2.0 */
/* history_json.h - the answers about the history, from a reader's rows
 *
 * Used by: reads.c, in its thread. Tests: tests/unit/test_history.c. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "scheduler/store/store_reader.h"
#include "shared/job_spec.h"

struct edl_error;

struct history_question {
    struct held_query query; /* of a job: its number, and what follows */
    uint32_t bins;
    char roles[JOB_ROLES_MAX][ROLE_NAME_MAX + 1];
    uint32_t n_roles;
    json_t *progress; /* owned; how it goes, as memory has it; NULL: the store may */
};
/* history_question_done - frees what it owns */
void history_question_done(struct history_question *question);

/* history_answer - NULL with error. Times are as stored */
json_t *history_answer(struct store_reader *reader, struct history_question *question,
                       struct edl_error *error);

/* history_show_times - its times to those that the wall clock showed; in the loop, whose clock
 * knows */
void history_show_times(json_t *answer);

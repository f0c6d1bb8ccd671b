/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_reader.h - what the readers of a scenario's parts share; private to scenario*.c */
#pragma once

#include "shared/document_reader.h"
#include "simulator/scenario.h"

#define SCENARIO_CPU_MAX INT64_C(1000000000) /* a million cores */
#define SCENARIO_MEMORY_MAX (INT64_C(1) << 60)
#define SCENARIO_TIME_MAX ((int64_t)SCENARIO_LONGEST_US)

/* The document reader, which is the first member, and what the calls need beside it. */
struct scenario_reader {
    struct document_reader reader;
    struct scenario *scenario;
    const char *folder; /* of the files that are named */
};

static inline struct scenario *scenario_of(struct document_reader *reader)
{
    return ((struct scenario_reader *)reader)->scenario;
}

/* Calls for document rules; the target is where the rule's offset points. */
int scenario_read_range(struct document_reader *reader, const char *key, const json_t *value,
                        void *target); /* struct sim_range: a time, or [MIN, MAX] */
int scenario_read_ppm(struct document_reader *reader, const char *key, const json_t *value,
                      void *target); /* uint32_t: a share from 0 to 1 */
int scenario_read_permille(struct document_reader *reader, const char *key, const json_t *value,
                           void *target); /* uint32_t: a share from 0.001 to 1 */

int scenario_read_speed(struct document_reader *reader, const char *key, const json_t *value,
                        void *target); /* uint32_t, permille: 0.05 to 20 times as fast */

/* scenario_copy_name - checked; ret has room for SCENARIO_NAME_MAX + 1 */
int scenario_copy_name(struct document_reader *reader, const char *name, char ret[]);

/* scenario_read_list - entry() for each of an array's at most max values */
int scenario_read_list(struct document_reader *reader, const json_t *array, size_t max,
                       int (*entry)(struct document_reader *reader, const json_t *value));

/* The parts, in the order in which they must be read; arrays may be NULL. */
int scenario_read_groups(struct document_reader *reader, const json_t *array);
int scenario_read_jobs(struct document_reader *reader, const json_t *array);
int scenario_read_foreign(struct document_reader *reader, const json_t *array);
int scenario_read_services(struct document_reader *reader, const json_t *array);

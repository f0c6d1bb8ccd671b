/* SPDX-License-Identifier: Apache-2.0 */
/* trace_draft.h - one job of a trace file as texts, on the way to a struct trace_job */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct edl_error;
struct profile;
struct trace;

enum trace_field {
    FIELD_JOB,
    FIELD_SUBMIT,
    FIELD_MODEL,
    FIELD_SPEED,
    FIELD_WORK,
    FIELD_DURATION,
    FIELD_INSTANCES,
    FIELD_MIN,
    FIELD_MAX,
    FIELD_BATCH,
    FIELD_FAMILY,
    FIELD_USER,
    FIELD_WEIGHT,
    FIELD_DEADLINE,
    _FIELDS,
};

extern const char *const trace_fields[_FIELDS]; /* names of columns and keys */

/* trace_field_find - _FIELDS: no such field */
enum trace_field trace_field_find(const char *name);

/* trace_field_unknown - -EINVAL with the nearest field as the remedy */
int trace_field_unknown(const char *place, const char *name, struct edl_error *error);

struct trace_draft {
    char place[300];           /* "FILE line 3": for errors */
    const char *text[_FIELDS]; /* NULL or "": absent */
};

/* What the jobs of one file share. */
struct trace_shelves;

struct trace_shelves *trace_shelves_new(bool adaptive);
struct trace_shelves *trace_shelves_free(struct trace_shelves *shelves);

/* trace_draft_add - the job behind the others */
int trace_draft_add(const struct trace_draft *draft, struct trace_shelves *shelves,
                    struct trace *trace, struct edl_error *error);

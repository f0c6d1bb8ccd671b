/* SPDX-License-Identifier: Apache-2.0 */
/* search_record.h - what a search is: its space, and the job that its trials are made from
 *
 * Each job of a search carries the whole record in its environment, and which trial it is
 * (docs/ARCHITECTURE.md, Search). So any of its jobs is enough to go on with it, and nothing else
 * is kept anywhere. Two of `edl search` make the same document of a trial, byte for byte.
 * Pure. Tests: tests/unit/test_search_jobs.c. */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/job_spec.h"

struct edl_error;
struct search_action;
struct search_space;

#define SEARCH_RECORD_VARIABLE "EDL_SEARCH"
#define SEARCH_TRIAL_VARIABLE "EDL_TRIAL"
#define SEARCH_NAME_OF_JOBS_MAX (JOB_NAME_MAX - 12) /* "-10000-r15" goes behind it */
#define SEARCH_RECORD_BYTES_MAX (96 * 1024)         /* the kernel takes no variable of 128 KiB */

struct search_record {
    char name[SEARCH_NAME_OF_JOBS_MAX + 1];
    struct search_space *space; /* owned */
    json_t *json;               /* owned; the others are borrowed from it: */
    const json_t *job;          /* the document, with parameters in braces in its command */
    uint64_t n_words;           /* the last words of the command may name parameters */
    const char *checkpoint;     /* a folder that all nodes see; NULL: none */
};

/* search_record_make - of a document as job_build makes it; the space is copied. EDL_EBADSPEC,
 * -E2BIG */
int search_record_make(const char *name, const struct search_space *space, const json_t *job,
                       size_t n_words, const char *checkpoint, struct search_record *ret,
                       struct edl_error *error);

/* search_record_parse - from a job's variable; EDL_EBADSPEC: it is of a newer version, or none */
int search_record_parse(const char *text, struct search_record *ret, struct edl_error *error);
void search_record_clear(struct search_record *record);

/* search_record_words - the words of the command that may name parameters, ended by NULL; the array
 * is the caller's, the words are borrowed */
char **search_record_words(const struct search_record *record);

/* search_job_name - "sweep-7", on a higher rung "sweep-7-r1"; new string */
char *search_job_name(const struct search_record *record, unsigned trial, unsigned rung);

/* search_job_key - the Idempotency-Key of one attempt; new string */
char *search_job_key(const struct search_record *record, unsigned trial, unsigned rung,
                     unsigned attempt);

/* search_job_document - of a trial's job on its rung; attempt: how often it was stopped with its
 * search on this rung. New text */
char *search_job_document(const struct search_record *record, const struct search_action *action,
                          unsigned attempt, const double *values);

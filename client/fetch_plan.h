/* SPDX-License-Identifier: Apache-2.0 */
/* fetch_plan.h - what `edl fetch` fetches from where, and where it puts it
 *
 * A source is a folder of files on a node: the working folder of a process, or the EDL_OUTPUT_DIR
 * that the processes of a job share on a node. Pure: lists come as text, names are made. Lists are
 * a node's word, and checked (file_listing.h).
 *
 * Used by: cmd_fetch.c. Tests: tests/unit/test_fetch_plan.c. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/file_listing.h"

struct edl_error;

#define FETCH_OUTPUT_NAME "EDL_OUTPUT_DIR"
#define FETCH_FILES_MAX 1000000              /* of a source */
#define FETCH_SUMS_BYTES (UINT64_C(1) << 20) /* larger files are listed without their checksums */

struct fetch_source {
    char *role; /* owned; whose folder it is, or through whom it is asked for */
    uint64_t index;
    char *node;                /* owned */
    bool output;               /* the node's EDL_OUTPUT_DIR */
    bool given;                /* a folder that the job names, which many processes may share */
    struct file_entry **files; /* owned array of owned */
    size_t n_files, n_allocated;
    struct file_sums sums;
    json_t *links; /* owned: [{"path", "target"}], as the node tells them; NULL: none */
    bool whole;    /* its last line came */
    char *folder;  /* owned: where its files go below the target, "" or ending with '/' */
};

struct fetch_plan {
    struct fetch_source *sources; /* owned array */
    size_t n_sources;
};

/* fetch_plan_make - the sources of a job's newest processes, without files
 * job: GET /jobs/{job}; processes: GET /jobs/{job}/processes. role NULL: all; index UINT64_MAX:
 * all. One of several processes that share a folder on a node stands for all of them. */
void fetch_plan_make(const json_t *job, const json_t *processes, const char *role, uint64_t index,
                     struct fetch_plan *ret);

/* fetch_plan_check - -ENOENT: the job has no such role (NULL: all), or has had no such process
 * (UINT64_MAX: all), so that the plan is empty */
int fetch_plan_check(const struct fetch_plan *plan, const json_t *job, const char *role,
                     uint64_t index, struct edl_error *error);
void fetch_plan_clear(struct fetch_plan *plan);

/* fetch_pattern - what a source is to be asked for: the pattern, or what is behind
 * "EDL_OUTPUT_DIR/"; NULL: nothing, as the pattern means the other kind. pattern "": "" */
const char *fetch_pattern(const char *pattern, bool output);

/* fetch_pattern_of - a pattern that means this very path; new string */
char *fetch_pattern_of(const char *path);

/* fetch_source_add - a line of its list, which may be empty; -EINVAL, -E2BIG with error */
int fetch_source_add(struct fetch_source *source, const char *line, size_t size,
                     struct edl_error *error);

/* fetch_plan_twins - calls what for files without checksum that look the same as one of another
 * source that may be the same folder: both, so that what can fill them in */
void fetch_plan_twins(struct fetch_plan *plan,
                      void (*what)(const struct fetch_source *source, struct file_entry *entry,
                                   void *userdata),
                      void *userdata);

/* fetch_plan_place - what several nodes list of a folder that they share is there once; then
 * chooses folders: "" when the plan asks one process, else "trainer-0/", or "n1/" for a folder that
 * the job names. The answers change nothing about that: a later fetch finds what this one left. */
void fetch_plan_place(struct fetch_plan *plan);

/* SPDX-License-Identifier: Apache-2.0 */
/* job_document.h - TrainingJob documents (JSON or YAML) to job_spec and back
 *
 * Accepts upstream's TrainingJob shape (apiVersion, kind, metadata, spec{trainer, pserver,
 * master}), the flat one of its older submissions (job_package, parallelism, ...), and the keys
 * added since. An unknown key is an error that names its path and the nearest known key. Keys that
 * make no sense without containers are collected in `ignored`. */
#pragma once

#include <jansson.h>
#include <stddef.h>

struct document_bounds;
struct edl_error;
struct job_spec;

/* What a job may be described by: all that its keys may hold fits several times. */
#define JOB_DOCUMENT_MAX_BYTES (256 * 1024)
#define JOB_DOCUMENT_MAX_VALUES 16384
#define JOB_DOCUMENT_MAX_TEXT_BYTES 65536
/* What to do about a document that is too large. */
#define JOB_DOCUMENT_REMEDY                                                                        \
    "keep programs, data and long lists in the workspace, and split what describes several jobs"
extern const struct document_bounds job_document_bounds;

/* job_document_parse - text (JSON when its first non-blank byte is '{', else YAML) to a JSON value
 * bounds: job_document_bounds, or others for what comes from no network. *ret_document: new
 * reference. Errors: -E2BIG beyond bounds, EDL_EBADSPEC with line and column. */
int job_document_parse(const char *text, size_t size, const struct document_bounds *bounds,
                       json_t **ret_document, struct edl_error *error);

/* job_spec_from_document - validates, applies the defaults
 * *ret_spec: new, free with job_spec_free. *ret_ignored (may be NULL): array of JSON pointers that
 * were ignored. Errors: EDL_EBADSPEC with pointer and remedy. */
int job_spec_from_document(const json_t *document, struct job_spec **ret_spec, json_t **ret_ignored,
                           struct edl_error *error);

/* job_spec_from_stored - a document of job_spec_to_document, of this version or an earlier one:
 * what was taken once is not refused because of a rule that came later */
int job_spec_from_stored(const json_t *document, struct job_spec **ret_spec,
                         struct edl_error *error);

/* job_spec_to_document - the normalised document ("roles" form) that job_spec_from_document reads
 * back unchanged */
json_t *job_spec_to_document(const struct job_spec *spec);

/* SPDX-License-Identifier: Apache-2.0 */
/* notice_json.h - a notice of a job, or of an array, as JSON: a webhook gets it, and a mail is
 * written from it; pure
 *
 * Used by: notices.c. Tests: tests/unit/test_notice_text.c. */
#pragma once

#include <jansson.h>

#include "shared/job_notify.h"

struct array_notice;
struct instant;
struct job;

/* notice_to_json - new reference; schema Notice of the API. mark: of this cluster, in each id.
 * array: the notice is of all of it; NULL: of the job alone */
json_t *notice_to_json(const struct job *job, enum notify_event event,
                       const struct array_notice *array, const char *mark, struct instant now);

/* notices_envelope - what a webhook gets: the version, the number of the message, and its notices.
 * lines: one line of JSON for each; n_more: that had no room. The caller's */
#define NOTICE_VERSION 1
char *notices_envelope(const char *lines, unsigned n_more, const char *id);

/* SPDX-License-Identifier: Apache-2.0 */
/* resize_text.h - a change of a job's size as its event tells it, and back
 *
 * The event log keeps text: "trainer: 2 -> 5 (grown: load 61.2% of 97.0%)". Its writer and its
 * reader stand side by side here. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "shared/job_spec.h"

struct resize {
    char role[ROLE_NAME_MAX + 1];
    uint32_t from, to; /* instances wanted before and after */
    char code[32];     /* why: as in edl_resizes_total; "" not told */
    char reason[200];  /* the same as a sentence, cut when it was too long for the event */
};

/* resize_describe - why: "code: sentence" as job_decided keeps it, or ""; returns buffer */
char *resize_describe(const char *role, uint32_t from, uint32_t to, const char *why, char *buffer,
                      size_t size);

/* resize_parse - what resize_describe wrote, also when its end was cut off; -EINVAL when it is not
 * that */
int resize_parse(const char *text, struct resize *ret);

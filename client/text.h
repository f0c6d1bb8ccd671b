/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - small pure functions on text that several verbs need */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "shared/text_format.h"

/* text_url_segment - percent-encodes everything but unreserved characters; new string */
char *text_url_segment(const char *text);

/* text_range - "2:6", "2-6" or "4" (both bounds); 0, -EINVAL (form), -ERANGE (min > max or >
 * 2^32-1) */
int text_range(const char *text, uint64_t *ret_min, uint64_t *ret_max);

/* Human forms, written to buffer (always terminated); each returns buffer. */
const char *text_cpu(uint64_t millicores, char *buffer, size_t size); /* "1.5", "0.1", "2" */
const char *text_bytes(uint64_t bytes, char *buffer, size_t size);    /* "64Mi", "1.5Gi", "100" */
const char *text_duration(uint64_t us, char *buffer,
                          size_t size); /* "12s", "3m05s", "2h07m", "4d03h" */
const char *text_time(uint64_t wall_us, char *buffer,
                      size_t size); /* local "2024-05-01 12:00:00", "-" for 0 */

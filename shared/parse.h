/* SPDX-License-Identifier: Apache-2.0 */
/* parse.h - text to numbers, with every way of being wrong refused
 *
 * All return 0, or -EINVAL (not of that form) or -ERANGE (does not fit); *ret is written on success
 * only. */
#pragma once

#include <stdint.h>

/* parse_u64 - decimal digits only, no sign, no blanks */
int parse_u64(const char *text, uint64_t *ret);

/* parse_i64 - decimal digits, a '-' before them or not */
int parse_i64(const char *text, int64_t *ret);

/* parse_cpu - "2", "0.5" or "200m" (also "1k") -> millicores, rounded up (Kubernetes quantity) */
int parse_cpu(const char *text, uint64_t *ret_millicores);

/* parse_bytes - "100", "200Mi", "1Gi", "500M", "2k" -> bytes (Kubernetes quantity) */
int parse_bytes(const char *text, uint64_t *ret_bytes);

/* parse_seconds - "30", "30s", "500ms", "2m", "1h" -> microseconds */
int parse_seconds(const char *text, uint64_t *ret_us);

/* SPDX-License-Identifier: Apache-2.0 */
/* hex.h - bytes as lower-case hexadecimal digits, and back
 *
 * Used by: scheduler, libedl, trainer. Tests: tests/unit/test_job_secret.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* hex_encode - ret holds 2 * n + 1 bytes */
void hex_encode(const void *bytes, size_t n, char *ret);

/* hex_decode - 0 with ret[n], or -EINVAL when text is not exactly 2 * n lower-case digits; ret is
 * untouched then */
int hex_decode(const char *text, size_t n, uint8_t *ret);

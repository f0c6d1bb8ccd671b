/* SPDX-License-Identifier: Apache-2.0 */
/* rfc3339.h - instants as people write them: 2026-12-01T18:00:00Z, also with a fraction or an
 * offset */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define RFC3339_MAX 32 /* bytes of what rfc3339_format writes, its end included */

/* rfc3339_parse - text to microseconds since 1970, UTC; years 1970 to 9999. Digits beyond the
 * microsecond are dropped. -EINVAL; *ret is written on success only */
int rfc3339_parse(const char *text, uint64_t *ret_wall_us);

/* rfc3339_format - in UTC, with microseconds when there are some; rfc3339_parse reads it back
 * unchanged. Returns buffer */
char *rfc3339_format(uint64_t wall_us, char buffer[RFC3339_MAX]);

/* SPDX-License-Identifier: Apache-2.0 */
/* digest.h - a number that stands for texts and numbers, to find equal ones
 *
 * Equal input gives equal digests, in any process; different input may, so compare what is found.
 *
 * Used by: queue.c, job_family.c, node_starts.c. */
#pragma once

#include <stdint.h>

/* digest_number, digest_text - the digest of the text so far and of this. Begin with 0 */
uint64_t digest_number(uint64_t digest, uint64_t number);
uint64_t digest_text(uint64_t digest, const char *text);

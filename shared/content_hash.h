/* SPDX-License-Identifier: Apache-2.0 */
/* content_hash.h - SHA-256 of bytes that come piece by piece
 *
 * Used by: edl-workspace, edl-scheduler, edl-agent. Tests: tests/unit/test_unpack.c. */
#pragma once

#include <stddef.h>

#include "shared/workspace_id.h"

struct content_hash;
struct edl_error;

int content_hash_new(struct content_hash **ret, struct edl_error *error);
void content_hash_add(struct content_hash *hash, const void *data, size_t size);
/* content_hash_end - of all that was added; what is added next is hashed anew */
void content_hash_end(struct content_hash *hash, char ret[WORKSPACE_HEX + 1]);
/* content_hash_free - accepts NULL, returns NULL */
struct content_hash *content_hash_free(struct content_hash *hash);

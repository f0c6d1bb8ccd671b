/* SPDX-License-Identifier: Apache-2.0 */
/* workspace_id.h - how a job names a workspace that the scheduler keeps: sha256: and 64 hex digits
 *
 * Any other workspace is a folder that is there on every node. Used by: everybody who reads job
 * documents or orders. Tests: tests/unit/test_unpack.c. */
#pragma once

#include <stdbool.h>
#include <string.h>

#define WORKSPACE_HEX 64
#define WORKSPACE_PREFIX "sha256:"
#define WORKSPACE_NAME_MAX (sizeof WORKSPACE_PREFIX - 1 + WORKSPACE_HEX)

/* workspace_hex_valid - small letters only: each archive has one name */
static inline bool workspace_hex_valid(const char *hex)
{
    return strlen(hex) == WORKSPACE_HEX && strspn(hex, "0123456789abcdef") == WORKSPACE_HEX;
}

/* workspace_is_kept - it begins as such a name does, be it valid or not; text may be NULL */
static inline bool workspace_is_kept(const char *text)
{
    return text != NULL && strncmp(text, WORKSPACE_PREFIX, sizeof WORKSPACE_PREFIX - 1) == 0;
}

/* workspace_hash - the hex digits in it; NULL unless it is the valid name of an archive */
static inline const char *workspace_hash(const char *text)
{
    const char *hex = workspace_is_kept(text) ? text + sizeof WORKSPACE_PREFIX - 1 : NULL;

    return hex != NULL && workspace_hex_valid(hex) ? hex : NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* workspace_unpack.h - an archive of a workspace into an empty folder, and nothing out of it
 *
 * The archive is a tar file, which may be compressed (gzip, xz, zstd); its maker is not believed.
 * Taken are folders, regular files, hard links to those, and symbolic links that stay inside or are
 * a virtual environment's bin/python. Anything else is refused by name: absolute paths, "..", links
 * that lead out, devices, FIFOs, more than the limits allow. Of the mode only rwx counts; owner,
 * times to come, ACLs, attributes and set-id bits do not. libarchive is named in
 * shared/workspace_*.c only.
 *
 * Used by: edl-workspace. Tests: tests/unit/test_unpack.c, tests/fuzz/fuzz_unpack.c. */
#pragma once

#include "shared/workspace_limits.h"

struct edl_error;

/* How a program of its own that unpacks tells what was wrong; 1: anything else. */
#define UNPACK_EXIT_DAMAGED 3 /* it is not the archive that was meant */
#define UNPACK_EXIT_BAD 4     /* it holds what is refused, wherever it is unpacked */
#define UNPACK_EXIT_FULL 5    /* there is no room on the disk */

/* workspace_unpack - archive_fd to its end, beneath dir_fd, which becomes the working directory
 * sha256: what the archive must hash to, 64 hex digits, or NULL.
 * Errors: EDL_ECORRUPT (it is not the archive that was meant), -EPERM (it holds what is refused),
 * -E2BIG (limits), -EINVAL (no archive), or what writing gives. What was written by then stays: the
 * folder is the caller's to remove, and to use only after a success. */
int workspace_unpack(int archive_fd, int dir_fd, const char *sha256,
                     const struct unpack_limits *limits, struct edl_error *error);

/* SPDX-License-Identifier: Apache-2.0 */
/* file_walk.h - lists the files below a folder, with the checksums of those that are not too large
 *
 * In the order of their names, in any order of the file system. No link is followed, no folder
 * left.
 *
 * Used by: file_reader.c. Tests: tests/unit/test_file_walk.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/file_listing.h"

struct edl_error;

/* Of a file, between two signs of life. */
#define FILE_WALK_BEAT_BYTES (UINT64_C(64) << 20)

struct file_walk {
    const char *pattern; /* fnmatch(3) on a path or on a folder above it, or the very name of one; a
                            "/" at its end means nothing. "": any */
    uint64_t since_us;   /* changed since then, wall clock; 0: any */
    uint64_t sums_bytes; /* a file of more has no checksum: reading it may take hours */
    bool by_mtime;       /* by the time of the contents alone: unpacking changed all others */
    void (*send)(const char *lines, size_t size, void *userdata); /* whole ones, < 64 KiB */
    void *userdata;
    struct file_sums sums; /* filled */
};

/* file_walk - lists, and ends with the line of sums; an empty line says that it is at a large file.
 * -errno with error when it cannot begin */
int file_walk(struct file_walk *walk, int root_fd, struct edl_error *error);

/* file_walk_matches - whether the pattern means this path */
bool file_walk_matches(const char *pattern, const char *path);

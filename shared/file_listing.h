/* SPDX-License-Identifier: Apache-2.0 */
/* file_listing.h - a list of files on its way from a node to the person who asked: a line of JSON a
 * file
 *
 *     {"path":"output/a","bytes":3,"mtime_us":1700000000000000,"mode":420,"sha256":"ba78…"}
 *     {"end":true,"files":1,"bytes":3,"links":0,"unnamed":0,"unreadable":0}
 *
 * A file that is larger than the caller asked sums of has no "sha256". The last line tells that the
 * list is whole, and the number of files passed over. Symbolic links stand in it, as far as there
 * is room, so that readers of the version before pass over them:
 * "link_list":[{"path":"ck/LATEST","target":"step-3"}]. An empty line says that the node is at a
 * large file; readers pass over it. Pure.
 *
 * Used by: edl-workspace writes it, the command `edl` reads it and believes nothing.
 * Tests: tests/unit/test_file_listing.c, tests/fuzz. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/workspace_id.h"

struct edl_error;

#define FILE_PATH_MAX 4000            /* bytes */
#define FILE_LISTING_LINE_BYTES 16384 /* of a line at most; a path may be escaped */

struct file_entry {
    char path[FILE_PATH_MAX + 1];
    uint64_t bytes, mtime_us;
    unsigned mode;                  /* permissions */
    char sha256[WORKSPACE_HEX + 1]; /* "": not asked */
};

struct file_sums { /* of the last line */
    uint64_t files, bytes;
    uint64_t links;      /* symbolic links, those of link_list among them; none is followed */
    uint64_t unnamed;    /* files whose names file_path_allowed refuses */
    uint64_t unreadable; /* files and folders that the account may not read; folders too deep */
};

/* file_path_allowed - a path below some folder that may be shown and made elsewhere: relative, no
 * empty part, "." or "..", UTF-8 without control characters, parts of at most 255 bytes */
bool file_path_allowed(const char *path);

/* file_entry_json, file_sums_json - a line's object; NULL: the path is not allowed */
json_t *file_entry_json(const struct file_entry *entry);
json_t *file_sums_json(const struct file_sums *sums);

/* file_listing_parse - one line without its end: 0 with *ret_entry, 1 with *ret_sums
 * -EINVAL with error: anything that file_entry_json would not have made */
int file_listing_parse(const char *line, size_t size, struct file_entry *ret_entry,
                       struct file_sums *ret_sums, struct edl_error *error);

#define FILE_LINKS_BYTES 8192 /* of link_list */
#define FILE_LINK_TARGET_MAX 1000

/* file_link_json - a link of link_list; NULL: its path or its target is not allowed (text as
 * file_path_allowed has it, at most FILE_LINK_TARGET_MAX bytes) */
json_t *file_link_json(const char *path, const char *target);

/* file_listing_links - the links of a last line, those that file_link_json would have made; new
 * reference, an empty array if there are none */
json_t *file_listing_links(const char *line, size_t size);

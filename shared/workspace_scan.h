/* SPDX-License-Identifier: Apache-2.0 */
/* workspace_scan.h - a look through a folder before it is packed: whether every node would take it
 *
 * Everything that a scheduler or a node would refuse later is refused here, by name and with the
 * line of .edlignore that helps.
 *
 * Used by: workspace_pack.c, edl-workspace. Tests: tests/unit/test_workspace_walk.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "shared/workspace_limits.h"
#include "shared/workspace_walk.h"

struct edl_error;

#define SCAN_NAME_BYTES 256

/* One entry of the folder itself, with all that is below it. */
struct scan_part {
    char name[SCAN_NAME_BYTES];
    bool folder;
    uint64_t entries, bytes;
};

struct workspace_scan {
    uint64_t entries, files, bytes; /* that belong to the workspace */
    uint64_t out_files, out_bytes;  /* that were left out, folders counted through */
    bool out_more;                  /* there are more of them: not all were counted */
    bool out_by[WALK_RULES];        /* which rules have left out something */
    uint64_t special;               /* sockets, FIFOs and devices, which no archive takes */
    char special_path[200];         /* the first of them */
    char venv[200];                 /* a virtual environment of Python in it; "" none */
    char interpreter[200];          /* what its bin/python leads to, outside; "" nothing */
    struct scan_part most_entries, most_bytes;
};

/* workspace_scan - looks at all of the folder at path; visitor may be NULL, and is called for each
 * entry after the scan has found nothing wrong with it
 * Errors: -E2BIG (more than the limits), -EPERM (a symbolic link leads out), -EACCES (it cannot be
 * read), and those of workspace_walk. */
int workspace_scan(const char *path, const struct unpack_limits *limits,
                   const struct walk_visitor *visitor, struct workspace_scan *ret,
                   struct edl_error *error);

/* workspace_read_link - target of a symbolic link in a workspace, which stays inside, or leads to
 * an interpreter; size: of target. Errors: -EPERM, or what reading gives. */
int workspace_read_link(const struct walk_entry *entry, char *target, uint64_t size,
                        struct edl_error *error);

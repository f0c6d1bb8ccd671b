/* SPDX-License-Identifier: Apache-2.0 */
/* workspace_walk.h - what of a folder belongs to its workspace, entry by entry
 *
 * Files named .edlignore and .gitignore, in the folder and below, leave entries out by the rules of
 * gitignore(5). The word of .edlignore on a path counts before that of .gitignore; of two files of
 * one name that of the deeper folder does. ".git" is out unless .edlignore brings it back.
 *
 * Entries come in the order of their names, a folder before its entries. No symbolic link is
 * followed.
 *
 * Used by: workspace_scan.c, workspace_pack.c. Tests: tests/unit/test_workspace_walk.c. */
#pragma once

#include <stddef.h>
#include <sys/stat.h>

struct edl_error;

enum walk_rule { WALK_EDLIGNORE, WALK_GITIGNORE, WALK_GIT, WALK_SPECIAL };
#define WALK_RULES (WALK_SPECIAL + 1)

struct walk_entry {
    int dir_fd;              /* the folder that has it, and by which name */
    const char *name, *path; /* path: from the folder that is walked on */
    const struct stat *st;
};

/* Why it is not in the workspace. */
struct walk_reason {
    enum walk_rule rule; /* WALK_SPECIAL: neither file nor folder nor link */
    const char *folder;  /* of the file whose rule it is, "" or with "/" behind */
    size_t line;         /* in that file; 0 without one */
};

struct walk_visitor {
    /* both may be NULL; a negative value ends the walk */
    int (*take)(void *userdata, const struct walk_entry *entry, struct edl_error *error);
    int (*leave)(void *userdata, const struct walk_entry *entry, const struct walk_reason *reason,
                 struct edl_error *error);
    void *userdata;
};

/* walk_rule_name - ".edlignore", ".gitignore", ".git", "neither file nor folder nor link" */
const char *walk_rule_name(enum walk_rule rule);

/* workspace_walk - gives each entry of the folder at path to one of the two
 * Errors: what the visitor returns; a folder or file of rules that cannot be read, -EINVAL (in such
 * a file), -ENAMETOOLONG, -ELOOP (no node would unpack it). All name the path, and what to type. */
int workspace_walk(const char *path, const struct walk_visitor *visitor, struct edl_error *error);

/* walk_remedy_leave_out - adds to an error the line of .edlignore that leaves path out; returns its
 * code */
int walk_remedy_leave_out(struct edl_error *error, const char *path, int folder);

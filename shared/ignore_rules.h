/* SPDX-License-Identifier: Apache-2.0 */
/* ignore_rules.h - a .gitignore file: which paths below its folder it leaves out
 *
 * The rules are those of gitignore(5): "#" begins a comment, "!" brings back, "/" at the end is for
 * folders only, "/" elsewhere ties the pattern to the file's folder, the last rule that matches
 * counts. That nothing is brought back below a folder that is out is the caller's to keep: it does
 * not enter the folder. Pure.
 *
 * Used by: workspace_walk.c. Tests: tests/unit/test_ignore_rules.c (also beside git itself),
 * tests/fuzz/fuzz_ignore_rules.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct edl_error;
struct ignore_rules;

#define IGNORE_FILE_BYTES_MAX ((size_t)1 << 20)

enum ignore_verdict {
    IGNORE_SILENT, /* no rule matches */
    IGNORE_OUT,
    IGNORE_IN, /* brought back */
};

/* ignore_rules_parse - the rules in a file's text; *ret is owned by the caller
 * Errors: -EINVAL, a line that is too long; the text names it. */
int ignore_rules_parse(const char *text, size_t size, struct ignore_rules **ret,
                       struct edl_error *error);

struct ignore_rules *ignore_rules_free(struct ignore_rules *rules); /* NULL, always */

/* ignore_rules_judge - path: from the folder of the file on, without "/" in front
 * ret_line: of the rule that counts, from 1 on; may be NULL. rules may be NULL. */
enum ignore_verdict ignore_rules_judge(const struct ignore_rules *rules, const char *path,
                                       bool folder, size_t *ret_line);

/* ignore_rules_line - the line of a file that leaves out this path and nothing else, for texts that
 * tell what to type; buffer is always terminated. Returns buffer. */
const char *ignore_rules_line(const char *path, bool folder, char *buffer, size_t size);

/* SPDX-License-Identifier: Apache-2.0 */
/* workspace_path.h - paths and links in a workspace: whether they stay inside
 *
 * Pure. Used by: workspace_scan.c, workspace_unpack.c. Tests: tests/unit/test_unpack.c. */
#pragma once

#include <stdbool.h>

/* workspace_path_stays - relative, and without ".." */
bool workspace_path_stays(const char *path);

/* workspace_link_stays - whether a symbolic link at path, which is such a path, leads to somewhere
 * inside. It may point up, as long as it does not leave on the way. */
bool workspace_link_stays(const char *path, const char *target);

/* workspace_link_is_interpreter - whether it is bin/python of a virtual environment, which leads to
 * the interpreter of the machine: the one link that may leave, as every node has one of its own */
bool workspace_link_is_interpreter(const char *path, const char *target);

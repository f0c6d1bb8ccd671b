/* SPDX-License-Identifier: Apache-2.0 */
/* fetch_link.h - a symbolic link that a job made, made anew where its files go
 *
 * Only one that stays within the folder, whoever follows it; any other one is left out, and named.
 * Used by: cmd_fetch.c. Tests: tests/unit/test_fetch_file.c. */
#pragma once

#include <stdbool.h>

struct edl_error;
struct fetch_target;

/* fetch_link_stays - whether a link at path, which is below a folder, leads to something below it:
 * first as many ".." as path has folders, at most, then names alone. A ".." behind a name could go
 * up from where another link leads. Pure. */
bool fetch_link_stays(const char *path, const char *target);

/* fetch_link_make - folder: as fetch_file_open has it. 0: it is made; 1: it was there. -EEXIST:
 * something else is there that edl fetch did not put there; -EPERM, -errno with error */
int fetch_link_make(const struct fetch_target *target, const char *folder, const char *path,
                    const char *leads_to, struct edl_error *error);

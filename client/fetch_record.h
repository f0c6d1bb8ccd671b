/* SPDX-License-Identifier: Apache-2.0 */
/* fetch_record.h - what edl fetch has put into a folder, so that it replaces nothing else there
 *
 * The file FETCH_MARK in it has a line for each: what it was when it was put there, and its path. A
 * file that its owner changed since is its owner's. Lines are added, each before the file gets its
 * name: whenever a call ends, nothing lies there that it does not know. Each line of a path counts,
 * as the file of before is there until then.
 *
 * Used by: cmd_fetch.c, fetch_file.c, fetch_link.c. Tests: tests/unit/test_fetch_file.c. */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#define FETCH_MARK ".edl-fetch"

struct edl_error;
struct fetch_record;

/* fetch_record_open - of the folder root_fd (borrowed); makes the file if it is missing */
int fetch_record_open(int root_fd, struct fetch_record **ret, struct edl_error *error);

/* fetch_record_close - accepts NULL; returns NULL */
struct fetch_record *fetch_record_close(struct fetch_record *record);

/* fetch_record_has_* - it is as it was put there once, by this process or another one
 * path: below the folder. A part is one that comes; a link is told by where it leads. */
bool fetch_record_has_file(struct fetch_record *record, const char *path, const struct stat *st);
bool fetch_record_has_part(struct fetch_record *record, const char *path);
bool fetch_record_has_link(struct fetch_record *record, const char *path, const char *target);

/* fetch_record_*: it is put there now; of a file it is on disk when this returns; -errno with error
 */
int fetch_record_file(struct fetch_record *record, const char *path, const struct stat *st,
                      struct edl_error *error);
int fetch_record_part(struct fetch_record *record, const char *path, struct edl_error *error);
int fetch_record_link(struct fetch_record *record, const char *path, const char *target,
                      struct edl_error *error);

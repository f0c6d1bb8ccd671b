/* SPDX-License-Identifier: Apache-2.0 */
/* archive.h - jobs that are over, wherever they are: in the core for a moment, then in the database
 * alone
 *
 * A job that is read back is a whole one in a cluster of its own. So a handler that shows jobs
 * need not know where one was. Nothing can change it: the core refuses that as for any job that
 * is over. */
#pragma once

#include <stdint.h>

#include "scheduler/core/core.h"

struct archive_query;
struct edl_error;
struct scheduler;

/* archive_find_job - what user means by text (job_names.h), in the core or in the archive. 1 with
 * *ret; 0 when there is none; -ENOTUNIQ when only others have one, and several; negative when that
 * cannot be read. One of the archive is valid until the next call of this or archive_job */
int archive_find_job(struct scheduler *scheduler, const char *user, const char *text,
                     struct job **ret, struct edl_error *error);

/* archive_job - the same by its number */
int archive_job(struct scheduler *scheduler, uint64_t id, struct job **ret,
                struct edl_error *error);

/* archive_page - archived jobs without their processes, in a cluster of the caller's */
int archive_page(struct scheduler *scheduler, const struct archive_query *query,
                 struct cluster **ret, struct edl_error *error);

/* archive_after - what is known of those jobs and arrays that spec is to run after and that are not
 * in the core; names are borrowed from spec, archive_after_done frees the rest */
int archive_after(struct scheduler *scheduler, const char *user, const struct job_spec *spec,
                  struct archived_jobs *ret, struct edl_error *error);
void archive_after_done(struct archived_jobs *jobs);

/* archive_done - frees what was read back */
void archive_done(struct scheduler *scheduler);

/* SPDX-License-Identifier: Apache-2.0 */
/* job_servers.h - the number of parameter servers of a job: open, chosen, kept */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cluster;
struct edl_error;
struct job;

/* job_chooses_servers - it has never run, and its document says from how many to how many */
bool job_chooses_servers(const struct job *job);

/* job_fix_servers - it is about to be started with so many: in no class of the queue any more */
void job_fix_servers(struct cluster *cluster, struct job *job, uint32_t pservers);

/* job_free_servers - it is queued again and has never run: as its document said */
void job_free_servers(struct cluster *cluster, struct job *job);

/* job_forget_servers - its owner says how many: its speed from now on is of no number */
void job_forget_servers(struct cluster *cluster, struct job *job);

/* job_servers_laid - on how many servers its parameters lie; 0: on none yet, or it has no servers.
 * Linear in its processes */
uint32_t job_servers_laid(const struct job *job);

/* job_check_servers - these bounds of the role are possible: of servers that hold parameters only
 * the number that there is. EDL_EBADTRANSITION with pointer and remedy */
int job_check_servers(const struct job *job, uint32_t role, uint32_t min, uint32_t max,
                      struct edl_error *error);

/* job_mend_servers - it has the right number again: what failed meanwhile is tried at once */
void job_mend_servers(struct cluster *cluster, struct job *job);

/* job_servers - how many it was given; 0: nobody chose */
uint32_t job_servers(const struct job *job);

/* job_servers_run - all of those, and none is on its way out */
bool job_servers_run(const struct job *job);

/* job_describe_servers - how many parameter servers were chosen for it, as a sentence; "": none
 * were (job_servers.c). Returns buffer */
char *job_describe_servers(const struct job *job, char *buffer, size_t size);

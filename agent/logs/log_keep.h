/* SPDX-License-Identifier: Apache-2.0 */
/* log_keep.h - the end of the output of running processes, sent now and then without being asked
 *
 * So that something is known of it when this machine dies. Bounded: every period at most
 * LOG_KEEP_CALLS processes that wrote since, in turn, the last LOG_KEEP_BYTES of each, one call at
 * a time. A machine takes with it the output of the last period, or of the last n / LOG_KEEP_CALLS
 * periods when n processes write all the time. */
#pragma once

#include <jansson.h>
#include <stdint.h>

struct layout;
struct link;
struct log_keep;
struct process_id;
struct process_table;

#define LOG_KEEP_BYTES 4096
#define LOG_KEEP_CALLS 8
#define LOG_KEEP_BEATS 6 /* a period, in heartbeats */

/* all borrowed */
struct log_keep *log_keep_new(struct link *link, const struct layout *layout,
                              const struct process_table *processes, uint64_t period_us);
struct log_keep *log_keep_free(struct log_keep *keep);

/* log_keep_look - a heartbeat: sends what is due */
void log_keep_look(struct log_keep *keep, uint64_t now_us);

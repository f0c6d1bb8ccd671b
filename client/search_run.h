/* SPDX-License-Identifier: Apache-2.0 */
/* search_run.h - a search that goes on: its trials are submitted as there is room, until it ends
 *
 * Waits at the scheduler's stream of events and asks only for jobs of its own that changed. It
 * keeps nothing: killed at any moment, it goes on from the jobs. Used by: cmd_search.c. Tests:
 * tests/integration/384-search.sh, 385-search-kills.sh. */
#pragma once

#include <stdint.h>

struct search_jobs;
struct server;

#define SEARCH_EAGER 3 /* trials that wait while others run */

/* search_run - to its end; eager: so many trials may wait for room. Prints what happens, on stderr.
 * Returns enum status: STATUS_OK when it ended with a best trial */
int search_run(struct server *server, struct search_jobs *jobs, uint64_t eager);

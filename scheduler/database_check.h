/* SPDX-License-Identifier: Apache-2.0 */
/* database_check.h - the pages of a large database that was left open, checked beside the loop
 *
 * A kill or a power cut leaves a write-ahead log, and then every page is read before anything is
 * built on it. With years of history that takes longer than nodes wait. So of a large file the
 * scheduler reads what it needs, serves, and has the rest looked at in a thread. If a page is
 * damaged it ends, and the next start says so again. Used by: scheduler.c. Tests:
 * tests/unit/test_store_open.c, tests/integration/152-archive.sh. */
#pragma once

struct edl_error;
struct scheduler;

/* database_check_init - begins, if the store left it to its caller (store_wants_check) */
int database_check_init(struct scheduler *scheduler, struct edl_error *error);
/* database_check_done - waits for nothing */
void database_check_done(struct scheduler *scheduler);

/* SPDX-License-Identifier: Apache-2.0 */
/* join_standby.h - makes a state directory that of a standby: the line of `edl admin standby add`
 *
 * Asks the scheduler that made the line, over TLS with its authority's pin, for what a scheduler
 * holds besides the database, and keeps that with mode 0600. What was there is kept aside. Blocks;
 * used by: main.c, no scheduler runs. Tests: tests/integration/402-standby-line.sh. */
#pragma once

struct edl_error;
struct scheduler_options;

/* join_standby - of options->join_standby; tells on standard output what it did and what is next */
int join_standby(const struct scheduler_options *options, struct edl_error *error);

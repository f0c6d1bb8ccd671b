/* SPDX-License-Identifier: Apache-2.0 */
/* join_standby.h - makes a state directory that of a standby: the line of `edl admin standby add`
 *
 * Over TLS with the pin of the authority it asks the scheduler that made the line. Of the answer it
 * keeps the files of a scheduler, mode 0600. Files that were there are kept aside. Blocks;
 * used by: main.c, no scheduler runs. Tests: tests/integration/402-standby.sh. */
#pragma once

struct edl_error;
struct scheduler_options;

/* join_standby - of options->join_standby; tells on standard output what it did and what is next */
int join_standby(const struct scheduler_options *options, struct edl_error *error);

/* SPDX-License-Identifier: Apache-2.0 */
/* migrate_command.h - what edl-scheduler --migrate tells people and scripts
 *
 * Used by: main.c. Tests: tests/integration/272-migrate.sh. */
#pragma once

struct scheduler_options;

/* migrate_command - does it and prints; returns the exit status */
int migrate_command(const struct scheduler_options *options);

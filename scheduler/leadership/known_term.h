/* SPDX-License-Identifier: Apache-2.0 */
/* known_term.h - the highest term that this machine has seen, in a file of the state directory
 *
 * A database whose newest term is lower has rows of an earlier time: those of a server that another
 * one has replaced. A scheduler that has just been started knows that from here. While the state is
 * in SQLite, which has no terms, the file keeps the last one for the next database.
 *
 * Used by: terms.c, leadership.c, join_standby.c, migrate.c, restore_shared.c. Tests:
 * tests/integration/402-former-primary.sh. */
#pragma once

#include <stdint.h>

struct edl_error;
struct scheduler_options;

#define KNOWN_TERM_FILE "term"
#define TERM_END (UINT64_C(1) << 53) /* JSON's numbers end there for many that read them */

/* known_term_read - 0: none was seen, or the file says nothing that can be read */
uint64_t known_term_read(const struct scheduler_options *options);

/* known_term_keep - on disk when this returns; a lower one than that of the file changes nothing.
 * Errors: those of whole_file_write */
int known_term_keep(const struct scheduler_options *options, uint64_t term,
                    struct edl_error *error);

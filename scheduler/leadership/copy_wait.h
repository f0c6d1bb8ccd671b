/* SPDX-License-Identifier: Apache-2.0 */
/* copy_wait.h - a database whose commits wait for its synchronous copy; pure
 *
 * A server with synchronous_standby_names lets no commit return before those copies have it. While
 * they are gone each commit stands still, and no error tells why.
 *
 * Used by: leadership, api/schedulers.c, metrics_text.c. Tests: tests/unit/test_copy_wait.c. */
#pragma once

#include <stdbool.h>

struct edl_error;
struct shared_facts;

/* copy_wait_is_on - a commit waits for so long that the copy is gone, or stands still */
bool copy_wait_is_on(const struct shared_facts *facts);

/* copy_wait_error - which copy of which server it waits for, and what to do: -EAGAIN. 0: it does
 * not wait, and error is left as it is */
int copy_wait_error(const struct shared_facts *facts, struct edl_error *error);

/* copy_wait_nameless - the same without names, for callers whose credential was not looked at */
int copy_wait_nameless(const struct shared_facts *facts, struct edl_error *error);

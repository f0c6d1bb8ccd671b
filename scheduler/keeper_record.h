/* SPDX-License-Identifier: Apache-2.0 */
/* keeper_record.h - where the edl-lease-keeper of the last run was called, in the state folder
 *
 * A keeper outlives its scheduler by KEEPER_ALONE_US at most. The next scheduler may give leases as
 * soon as it knows that there is none: it calls at the same socket. But a state folder may have
 * been moved, copied, restored, or mounted by another machine, and then that keeper is out of reach
 * and may still answer. So this file says at which socket, of which boot, whoever had this very
 * folder could be called. When it does not say what is seen now, the keeper's time is waited for.
 *
 * Tests: tests/unit/test_keeper_record.c. */
#pragma once

#include <stdbool.h>

struct edl_error;

/* keeper_record_holds - is it true of the socket that is at path now? */
bool keeper_record_holds(const char *record, const char *path);

/* keeper_record_write - before a keeper at path is given anything; not when it holds already. An
 * error of the system: then no keeper may be used */
int keeper_record_write(const char *record, const char *path, struct edl_error *error);

/* keeper_record_remove - another database is put in place: what its keeper was nobody knows */
int keeper_record_remove(const char *record, struct edl_error *error);

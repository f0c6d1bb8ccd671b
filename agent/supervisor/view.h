/* SPDX-License-Identifier: Apache-2.0 */
/* view.h - what a program sees of its machine: hidden folders, a /dev/shm of its job's own
 *
 * Used by: supervise.c. Tests: tests/unit/test_supervisor.c, tests/integration/157-job-reach.sh. */
#pragma once

#include <jansson.h>

#include "agent/machine/account.h"
#include "agent/processes/child.h"
#include "agent/processes/hidden.h"
#include "agent/processes/job_shm.h"

/* view_choose_hidden - which paths its program is not to see, by its order; spec borrows hidden */
void view_choose_hidden(const json_t *order, struct child_spec *spec,
                        const char *hidden[HIDDEN_MAX + 1]);

/* view_choose_shm - the /dev/shm of its job, by its order; key: the end of path, the name of its
 * folder. spec borrows ret. Without one its program has the machine's, and the log says so */
void view_choose_shm(const json_t *order, const char *path, const char *key,
                     struct child_spec *spec, const struct account *account, struct job_shm *ret);

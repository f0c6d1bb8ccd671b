/* SPDX-License-Identifier: Apache-2.0 */
/* old_cause_text.h - causes of versions before, which told them by sentences alone
 *
 * The only place of the core that reads a sentence. It is asked where no cause was told: by an
 * agent's report, or by a row of the store.
 *
 * Used by: scheduler, store, core/record. Tests: tests/unit/test_causes.c. */
#pragma once

#include "scheduler/core/model/cause.h"

/* cause_from_text - of a process' sentence or of a job's reason code; NULL as "". CAUSE_NONE when
 * neither version before decided by it */
enum cause cause_from_text(const char *text);

/* intent_from_text - of a job's reason code in that state */
enum intent intent_from_text(enum job_state state, const char *code);

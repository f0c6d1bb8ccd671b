/* SPDX-License-Identifier: Apache-2.0 */
/* cause.c - the words of causes and intents, as they stand in the API, the store and the log */
#include "scheduler/core/model/cause.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "shared/macro.h"

static const char *const causes[] = {
    [CAUSE_NONE] = "",
    [CAUSE_PROGRAM] = "program",
    [CAUSE_STOPPED] = "stopped",
    [CAUSE_LEASE_ENDED] = "lease-ended",
    [CAUSE_REBOOTED] = "node-rebooted",
    [CAUSE_UNSEEN] = "unseen",
    [CAUSE_STOOD_STILL] = "stood-still",
    [CAUSE_NOT_STARTED] = "not-started",
    [CAUSE_UNFIT] = "node-unfit",
    [CAUSE_NO_PROGRAM] = "no-program",
    [CAUSE_NODE_SILENT] = "node-silent",
    [CAUSE_NODE_GONE] = "node-gone",
    [CAUSE_UNRECORDED] = "unrecorded",
    [CAUSE_JOB_ENDS] = "job-ends",
    [CAUSE_SHRUNK] = "shrunk",
    [CAUSE_MAKES_ROOM] = "makes-room",
    [CAUSE_OWN_SERVICES] = "own-services",
    [CAUSE_DRAINED] = "drained",
    [CAUSE_OFFERS_LESS] = "node-offers-less",
    [CAUSE_MOVED] = "moved",
    [CAUSE_AGENT_STOPS] = "agent-stops",
    [CAUSE_DONE] = "done",
    [CAUSE_KILLED] = "killed",
    [CAUSE_DEADLINE] = "deadline",
    [CAUSE_TIME_LIMIT] = "time-limit",
    [CAUSE_PROCESS_FAILED] = "process-failed",
    [CAUSE_FAILED_AT_ONCE] = "failed-at-once",
    [CAUSE_ALL_TASKS_FAILED] = "all-tasks-failed",
    [CAUSE_NO_NODE_RUNS_IT] = "no-node-runs-it",
    [CAUSE_DEPENDENCY_FAILED] = "dependency-failed",
    [CAUSE_VALUES_LOST] = "values-lost",
    [CAUSE_MEMBER_LOST] = "member-lost",
    [CAUSE_HALF_GANG] = "half-gang",
    [CAUSE_SERVERS_NO_ROOM] = "servers-do-not-fit",
    [CAUSE_PARKED] = "parked",
    [CAUSE_TOO_FEW_NODES] = "too-few-nodes-run-it",
    [CAUSE_QUEUED] = "queued",
    [CAUSE_RESTORED] = "restored",
    [CAUSE_WAITS_FOR_JOB] = "waits-for-job",
    [CAUSE_WAITS_FOR_NODE] = "waits-for-node",
    [CAUSE_NODE_CANNOT_RUN_IT] = "node-cannot-run-it",
    [CAUSE_GANG_DOES_NOT_FIT] = "gang-does-not-fit",
    [CAUSE_GANG_NOT_PACKED] = "gang-not-packed",
    [CAUSE_OVER_LOAD_LIMIT] = "over-load-limit",
    [CAUSE_FOREIGN_LOAD] = "foreign-load",
    [CAUSE_GROUP_SHARE] = "group-share",
    [CAUSE_OWNER_LIMIT] = "owner-limit",
    [CAUSE_ARRAY_LIMIT] = "array-limit",
    [CAUSE_NO_NODES] = "no-nodes",
    [CAUSE_NEVER_FITS] = "never-fits",
    [CAUSE_STARTING] = "starting",
    [CAUSE_RUNNING] = "running",
    [CAUSE_RESIZING] = "resizing",
    [CAUSE_RESTARTING] = "restarting",
    [CAUSE_NO_ROOM] = "replacement-does-not-fit",
    [CAUSE_FINISHING] = "finishing",
};
_Static_assert(ELEMENTS(causes) == _CAUSES, "each has its word");

static const enum cause exits[] = {
    [EXIT_CAUSE_NONE] = CAUSE_NONE,
    [EXIT_CAUSE_PROGRAM] = CAUSE_PROGRAM,
    [EXIT_CAUSE_STOPPED] = CAUSE_STOPPED,
    [EXIT_CAUSE_LEASE] = CAUSE_LEASE_ENDED,
    [EXIT_CAUSE_REBOOTED] = CAUSE_REBOOTED,
    [EXIT_CAUSE_UNSEEN] = CAUSE_UNSEEN,
    [EXIT_CAUSE_STOOD_STILL] = CAUSE_STOOD_STILL,
};
_Static_assert(ELEMENTS(exits) == _EXIT_CAUSES, "each is a cause");

static const struct {
    const char *word;
    enum job_state end;
} intents[] = {
    [INTENT_NONE] = { "", JOB_FAILED },
    [INTENT_DONE] = { "done", JOB_SUCCEEDED },
    [INTENT_FAILED] = { "failed", JOB_FAILED },
    [INTENT_KILLED] = { "killed", JOB_KILLED },
    [INTENT_REQUEUED] = { "requeued", JOB_QUEUED },
};
_Static_assert(ELEMENTS(intents) == _INTENTS, "each has its row");

const char *cause_to_string(enum cause cause)
{
    return (unsigned)cause < _CAUSES ? causes[cause] : "?";
}

int cause_from_string(const char *word)
{
    for (int i = 0; word != NULL && i < _CAUSES; i++)
        if (streq(causes[i], word))
            return i;
    return -EINVAL;
}

enum cause cause_of_exit(enum exit_cause told)
{
    return (unsigned)told < _EXIT_CAUSES ? exits[told] : CAUSE_NONE;
}

bool cause_is_nodes(enum cause cause)
{
    return cause == CAUSE_STOPPED || cause == CAUSE_LEASE_ENDED || cause == CAUSE_NOT_STARTED;
}

const char *intent_to_string(enum intent intent)
{
    return (unsigned)intent < _INTENTS ? intents[intent].word : "?";
}

int intent_from_string(const char *word)
{
    for (int i = 0; word != NULL && i < _INTENTS; i++)
        if (streq(intents[i].word, word))
            return i;
    return -EINVAL;
}

enum job_state intent_end(enum intent intent)
{
    return (unsigned)intent < _INTENTS ? intents[intent].end : JOB_FAILED;
}

const char *cause_code(enum cause cause, enum intent intent)
{
    return intent == INTENT_REQUEUED ? intents[intent].word : cause_to_string(cause);
}

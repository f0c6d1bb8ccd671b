/* SPDX-License-Identifier: Apache-2.0 */
/* cause.h - causes and intents: words for decisions, beside the sentences for people
 *
 * Every sentence that people read (reason) has a cause beside it. Programs decide by the cause
 * alone. Its word stands in the API, the store and the log, and never changes.
 *
 * Used by: job.h, process.h. Tests: tests/unit/test_causes.c. */
#pragma once

#include <stdbool.h>

#include "scheduler/core/model/states.h"
#include "shared/exit_cause.h"

enum cause {
    CAUSE_NONE,
    /* a process ended */
    CAUSE_PROGRAM,     /* its program ended by itself, with success or not */
    CAUSE_STOPPED,     /* its node stopped it, unasked: the machine goes down */
    CAUSE_LEASE_ENDED, /* its node was cut off and killed it */
    CAUSE_REBOOTED,    /* its node was started again */
    CAUSE_UNSEEN,      /* nobody saw the end: its supervisor or its agent does not know it */
    CAUSE_STOOD_STILL, /* it broke its promise to say that it is alive, and its node killed it */
    CAUSE_NOT_STARTED, /* its node could not start it */
    CAUSE_UNFIT,       /* its node cannot run it */
    CAUSE_NO_PROGRAM,  /* likewise: it has not what is to be executed */
    CAUSE_NODE_SILENT, /* its node was silent for longer than its lease */
    CAUSE_NODE_GONE,   /* its node was removed as gone */
    CAUSE_UNRECORDED,  /* the records do not let it live */
    /* a process was asked to stop */
    CAUSE_JOB_ENDS,
    CAUSE_SHRUNK,       /* its job wants fewer, or others gain more */
    CAUSE_MAKES_ROOM,   /* a starting job needs its resources */
    CAUSE_OWN_SERVICES, /* its node needs its resources for own services */
    CAUSE_DRAINED,      /* its node is being drained */
    CAUSE_OFFERS_LESS,  /* its node offers less than before */
    CAUSE_MOVED,        /* it starts again elsewhere */
    CAUSE_AGENT_STOPS,  /* its agent stops it of its own accord */
    /* a job ended, or is about to */
    CAUSE_DONE,
    CAUSE_KILLED,
    CAUSE_DEADLINE,
    CAUSE_TIME_LIMIT,
    CAUSE_PROCESS_FAILED,
    CAUSE_FAILED_AT_ONCE,
    CAUSE_ALL_TASKS_FAILED,
    CAUSE_NO_NODE_RUNS_IT, /* each node that has room cannot run it */
    CAUSE_DEPENDENCY_FAILED,
    CAUSE_VALUES_LOST, /* nobody has a parameter server's values any more */
    /* a job goes back to the queue */
    CAUSE_MEMBER_LOST,     /* the others cannot go on with a new one among them */
    CAUSE_HALF_GANG,       /* neither it nor another job found room for its minimum */
    CAUSE_SERVERS_NO_ROOM, /* likewise, with more parameter servers than it asks for */
    CAUSE_PARKED,          /* it goes on later, so that another job starts */
    CAUSE_TOO_FEW_NODES,   /* too few can run it; a queued job waits for more */
    /* a job waits in the queue */
    CAUSE_QUEUED,
    CAUSE_RESTORED,
    CAUSE_WAITS_FOR_JOB,
    CAUSE_WAITS_FOR_NODE,
    CAUSE_NODE_CANNOT_RUN_IT, /* the one that an instance is to run on */
    CAUSE_GANG_DOES_NOT_FIT,
    CAUSE_GANG_NOT_PACKED,
    CAUSE_OVER_LOAD_LIMIT,
    CAUSE_FOREIGN_LOAD,
    CAUSE_GROUP_SHARE,
    CAUSE_OWNER_LIMIT, /* its user or group holds as much as they may */
    CAUSE_ARRAY_LIMIT, /* so many jobs of its array run as may at once */
    CAUSE_NO_NODES,
    CAUSE_NEVER_FITS,
    /* a job is at work */
    CAUSE_STARTING,
    CAUSE_RUNNING,
    CAUSE_RESIZING,
    CAUSE_RESTARTING, /* one of its processes is started again */
    CAUSE_NO_ROOM,    /* likewise, and waits for room on a node */
    CAUSE_FINISHING,
    _CAUSES
};

/* How a stopping job is to end, and how one that is over has ended. */
enum intent {
    INTENT_NONE, /* it is not stopping, or was never started */
    INTENT_DONE,
    INTENT_FAILED,
    INTENT_KILLED,
    INTENT_REQUEUED, /* it is queued again */
    _INTENTS
};

/* cause_to_string - "lease-ended"; "" for CAUSE_NONE, "?" for another number */
const char *cause_to_string(enum cause cause);
/* cause_from_string - the cause of a word; -EINVAL for another word */
int cause_from_string(const char *word);
/* cause_of_exit - the cause that an agent told */
enum cause cause_of_exit(enum exit_cause told);
/* cause_is_nodes - its node ended the process: neither its success nor its failure */
bool cause_is_nodes(enum cause cause);

/* intent_to_string - "requeued"; "" for INTENT_NONE, "?" for another number */
const char *intent_to_string(enum intent intent);
/* intent_from_string - the intent of a word; -EINVAL for another word */
int intent_from_string(const char *word);
/* intent_end - the state that a stopping job takes when its last process is gone */
enum job_state intent_end(enum intent intent);
/* cause_code - a job's reason_code, which follows from both */
const char *cause_code(enum cause cause, enum intent intent);

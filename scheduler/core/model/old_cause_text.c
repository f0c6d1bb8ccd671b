/* SPDX-License-Identifier: Apache-2.0 */
/* old_cause_text.c - see old_cause_text.h
 *
 * The sentences are those of versions before, and stay as they were. Nothing is added here when a
 * sentence changes: reports and rows of now have a cause. */
#include "scheduler/core/model/old_cause_text.h"

#include <stddef.h>
#include <string.h>

#include "scheduler/core/model/cause.h"
#include "shared/macro.h"

static const struct {
    const char *begins; /* the text begins so */
    bool whole;         /* and has no more than that */
    enum cause cause;
} sentences[] = {
    /* agents' */
    { "lease ended", false, CAUSE_LEASE_ENDED },
    { "GPU", false, CAUSE_NOT_STARTED }, /* others hold it */
    { "stopped", true, CAUSE_STOPPED },
    /* of processes in the store */
    { "its node was started again", true, CAUSE_REBOOTED },
    { "its agent does not know it", true, CAUSE_UNSEEN },
    { "its node was silent for longer than its lease", true, CAUSE_NODE_SILENT },
    { "its node was removed as gone", true, CAUSE_NODE_GONE },
    { "the records do not let it live", true, CAUSE_UNRECORDED },
    { "its job ends", true, CAUSE_JOB_ENDS },
    { "its node is being drained", true, CAUSE_DRAINED },
    { "its node offers less than before", true, CAUSE_OFFERS_LESS },
    { "its agent stops it", true, CAUSE_AGENT_STOPS },
    { "shrunk to make room for job ", false, CAUSE_MAKES_ROOM },
};

/* Reason codes that told how a stopping job ends; every other one: it fails. */
static const struct {
    const char *code;
    enum intent intent;
} codes[] = {
    { "done", INTENT_DONE },
    { "killed", INTENT_KILLED },
    { "deadline", INTENT_KILLED },
    { "requeued", INTENT_REQUEUED },
};

/* How jobs have ended that are over. */
static const enum intent ends[] = {
    [JOB_SUCCEEDED] = INTENT_DONE,
    [JOB_FAILED] = INTENT_FAILED,
    [JOB_KILLED] = INTENT_KILLED,
};

static bool begins_with(const char *text, const char *begin, bool whole)
{
    return whole ? streq(text, begin) : strncmp(text, begin, strlen(begin)) == 0;
}

enum cause cause_from_text(const char *text)
{
    int cause;

    if (text == NULL)
        return CAUSE_NONE;
    for (size_t i = 0; i < ELEMENTS(sentences); i++)
        if (begins_with(text, sentences[i].begins, sentences[i].whole))
            return sentences[i].cause;
    cause = cause_from_string(text);
    return cause >= 0 ? (enum cause)cause : CAUSE_NONE;
}

enum intent intent_from_text(enum job_state state, const char *code)
{
    if (state != JOB_STOPPING)
        return ends[state];
    for (size_t i = 0; i < ELEMENTS(codes); i++)
        if (streq(codes[i].code, code))
            return codes[i].intent;
    return INTENT_FAILED;
}

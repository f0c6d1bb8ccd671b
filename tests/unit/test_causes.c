/* SPDX-License-Identifier: Apache-2.0 */
/* test_causes.c - causes and intents: their words, sentences of versions before, reports of agents
 *
 * An agent of the version before tells why a process ended by a sentence alone, one of this version
 * by a word. A word that is told is believed, with any sentence beside it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "scheduler/core/core.h"
#include "scheduler/core/model/old_cause_text.h"
#include "shared/cleanup.h"
#include "shared/macro.h"
#include "tests/unit/live_scheduler.h"
#include "tests/unit/test.h"

#define OFFER                                                                                      \
    "\"address\":\"127.0.0.1\",\"cpu_millicores\":4000,\"memory_bytes\":68719476736,\"gpus\":0,"   \
    "\"port_first\":20000,\"port_last\":20099"

TEST(test_each_has_a_word_of_its_own)
{
    for (int i = 0; i < _CAUSES; i++)
        assert_int_equal(cause_from_string(cause_to_string((enum cause)i)), i);
    for (int i = 0; i < _INTENTS; i++)
        assert_int_equal(intent_from_string(intent_to_string((enum intent)i)), i);
    for (unsigned i = 0; i < _EXIT_CAUSES; i++) {
        const char *word = exit_cause_to_string((enum exit_cause)i);

        assert_int_equal(exit_cause_from_string(word), i);
        assert_string_equal(cause_to_string(cause_of_exit((enum exit_cause)i)), word);
    }
    assert_int_equal(cause_from_string("moonstruck"), -EINVAL);
    assert_int_equal(cause_from_string(NULL), -EINVAL);
    assert_int_equal(intent_from_string("moonstruck"), -EINVAL);
    assert_int_equal(exit_cause_from_string("moonstruck"), EXIT_CAUSE_NONE);
    assert_int_equal(exit_cause_from_string(NULL), EXIT_CAUSE_NONE);
}

TEST(test_sentences_of_before_have_causes)
{
    static const struct {
        const char *text;
        enum cause cause;
    } rows[] = {
        { NULL, CAUSE_NONE },
        { "", CAUSE_NONE },
        { "lease ended: the node was cut off", CAUSE_LEASE_ENDED },
        { "lease ended: the node was cut off while its workspace was unpacked", CAUSE_LEASE_ENDED },
        { "GPU 1 is held by pid 4711 of alice", CAUSE_NOT_STARTED },
        { "stopped", CAUSE_STOPPED },
        { "stopped by its user", CAUSE_NONE },
        { "its last words: lease ended", CAUSE_NONE },
        { "its node was started again", CAUSE_REBOOTED },
        { "its agent stops it", CAUSE_AGENT_STOPS },
        { "shrunk to make room for job a: its gang of 2 needs 1 cores", CAUSE_MAKES_ROOM },
        { "replacement-does-not-fit", CAUSE_NO_ROOM },
        { "group-share", CAUSE_GROUP_SHARE },
        { "requeued", CAUSE_NONE },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++)
        assert_string_equal(cause_to_string(cause_from_text(rows[i].text)),
                            cause_to_string(rows[i].cause));
    assert_int_equal(intent_from_text(JOB_QUEUED, "requeued"), INTENT_NONE);
    assert_int_equal(intent_from_text(JOB_STOPPING, "requeued"), INTENT_REQUEUED);
    assert_int_equal(intent_from_text(JOB_FAILED, "all-tasks-failed"), INTENT_FAILED);
    assert_int_equal(intent_from_text(JOB_SUCCEEDED, ""), INTENT_DONE);
}

TEST(test_a_code_follows_from_cause_and_intent)
{
    assert_string_equal(cause_code(CAUSE_MEMBER_LOST, INTENT_REQUEUED), "requeued");
    assert_string_equal(cause_code(CAUSE_DEADLINE, INTENT_KILLED), "deadline");
    assert_string_equal(cause_code(CAUSE_GROUP_SHARE, INTENT_NONE), "group-share");
    assert_int_equal(intent_end(INTENT_REQUEUED), JOB_QUEUED);
    assert_int_equal(intent_end(INTENT_DONE), JOB_SUCCEEDED);
}

/* --- reports --- */

static void post(struct live *live, unsigned status, const char *path, const char *body)
{
    struct reply reply = { 0 };

    if (live_ask(live, "POST", path, NULL, body, &reply) != status)
        fail_msg("POST %s: %u, %s", path, reply.status, reply.body);
    reply_clear(&reply);
}

static void submit(struct live *live, const char *name)
{
    char body[300];

    (void)snprintf(body, sizeof body,
                   "{\"name\":\"%s\",\"roles\":[{\"role\":\"trainer\",\"command\":[\"true\"],"
                   "\"min\":1,\"max\":1,\"cpu\":\"100m\"}]}",
                   name);
    post(live, 201, "/jobs", body);
}

/* The node tells this of the first process of the job. */
static void tell(struct live *live, uint64_t job_id, const char *says)
{
    static unsigned sent_us;
    char body[600];

    (void)snprintf(body, sizeof body,
                   "{\"boot_id\":\"b\",\"sent_us\":%u," OFFER ",\"processes\":[{\"job_id\":%llu,"
                   "\"role\":\"trainer\",\"index\":0,\"incarnation\":1,%s}]}",
                   ++sent_us, (unsigned long long)job_id, says);
    post(live, 200, "/nodes/n1/report", body);
}

TEST_EACH(live_setup, live_teardown);

TEST(test_reports_of_both_versions_are_understood)
{
    static const struct {
        const char *says;
        enum process_state state;
        const char *cause;
    } rows[] = {
        /* of the version before */
        { "\"reason\":\"lease ended: the node was cut off\"", PROCESS_LOST, "lease-ended" },
        { "\"reason\":\"GPU 0 is held by pid 4711 of alice\"", PROCESS_LOST, "not-started" },
        { "\"reason\":\"stopped\"", PROCESS_LOST, "stopped" },
        { "\"reason\":\"its last words: lease ended\"", PROCESS_EXITED, "program" },
        { "\"reason\":\"\"", PROCESS_EXITED, "program" },
        /* of this one, and of a later one */
        { "\"reason\":\"in other words\",\"cause\":\"lease-ended\"", PROCESS_LOST, "lease-ended" },
        { "\"cause\":\"stopped\"", PROCESS_LOST, "stopped" },
        { "\"reason\":\"lease ended\",\"cause\":\"program\"", PROCESS_EXITED, "program" },
        { "\"reason\":\"lease ended\",\"cause\":\"moonstruck\"", PROCESS_EXITED, "program" },
        { "\"reason\":\"no\",\"cause\":\"unseen\"", PROCESS_EXITED, "unseen" },
        { "\"reason\":\"GPU\",\"start_fault\":\"place\"", PROCESS_LOST, "not-started" },
    };
    struct live *live = *state;

    post(live, 201, "/nodes/join", "{\"node\":\"n1\"," OFFER "}");
    post(live, 200, "/nodes/n1/report",
         "{\"boot_id\":\"b\",\"sent_us\":1,\"processes\":[]," OFFER "}");
    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        char name[16], says[200];
        const struct process *process;
        const struct job *job;

        (void)snprintf(name, sizeof name, "job-%zu", i);
        submit(live, name);
        job = cluster_job(live->scheduler->cluster, i + 1);
        assert_non_null(job);
        tell(live, job->id, "\"state\":\"running\"");
        (void)snprintf(says, sizeof says, "\"state\":\"exited\",\"exit_code\":1,%s", rows[i].says);
        tell(live, job->id, says);
        process = job->processes;
        assert_non_null(process);
        if (process->state != rows[i].state ||
            strcmp(cause_to_string(process->cause), rows[i].cause) != 0)
            fail_msg("%s: it is %s by %s", rows[i].says, process_state_to_string(process->state),
                     cause_to_string(process->cause));
    }
}

TEST(test_people_see_causes)
{
    struct live *live = *state;
    struct reply reply = { 0 };

    post(live, 201, "/nodes/join", "{\"node\":\"n1\"," OFFER "}");
    submit(live, "seen");
    assert_int_equal(live_ask(live, "GET", "/jobs/seen", NULL, NULL, &reply), 200);
    assert_non_null(strstr(reply.body, "\"cause\":\"no-nodes\""));
    assert_non_null(strstr(reply.body, "\"intent\":\"\""));
    assert_int_equal(live_ask(live, "DELETE", "/jobs/seen", NULL, NULL, &reply), 202);
    assert_int_equal(live_ask(live, "GET", "/jobs/seen", NULL, NULL, &reply), 200);
    assert_non_null(strstr(reply.body, "\"cause\":\"killed\""));
    assert_non_null(strstr(reply.body, "\"intent\":\"killed\""));
    reply_clear(&reply);
}

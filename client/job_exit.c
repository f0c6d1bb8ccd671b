/* SPDX-License-Identifier: Apache-2.0 */
/* job_exit.c - see job_exit.h */
#include "client/job_exit.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>

#include "client/json_read.h"
#include "client/server.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/macro.h"

#define SIGNALLED 128 /* as sh(1) adds it to a signal */
#define EXIT_MOST 255

static bool is_one_of(const json_t *object, const char *key, const char *const words[2])
{
    const char *word = json_text(object, key);

    return streq(word, words[0]) || streq(word, words[1]);
}

/* by_program - an end of a process was what it failed of */
static bool by_program(const json_t *job)
{
    static const char *const causes[] = { "process-failed", "failed-at-once" };

    return streq(json_text(job, "state"), "failed") && is_one_of(job, "cause", causes);
}

/* failed_with - how its program ended by itself; 0: it did not, or well */
static int failed_with(const json_t *process)
{
    static const char *const causes[] = { "program", "no-program" };
    uint64_t killed_by = json_u64(process, "exit_signal"), code = json_u64(process, "exit_code");

    if (!streq(json_text(process, "state"), "exited") || !is_one_of(process, "cause", causes))
        return 0;
    return (int)MIN_OF(killed_by > 0 ? SIGNALLED + killed_by : code, (uint64_t)EXIT_MOST);
}

int job_exit_of(const json_t *job, const json_t *processes)
{
    bool last = json_is_true(json_object_get(json_object_get(job, "spec"), "fault_tolerant"));
    int status = STATUS_FAILED;
    uint64_t chosen_us = 0;
    bool found = false;
    size_t i;
    json_t *process;

    if (streq(json_text(job, "state"), "succeeded"))
        return STATUS_OK;
    if (!by_program(job))
        return STATUS_FAILED;
    json_array_foreach(processes, i, process)
    {
        uint64_t ended_us = json_u64(process, "ended_us");
        int with = failed_with(process);

        if (with == 0 || (found && (last ? ended_us < chosen_us : ended_us >= chosen_us)))
            continue;
        status = with;
        chosen_us = ended_us;
        found = true;
    }
    return status;
}

int job_exit_status(struct server *server, const json_t *job)
{
    _cleanup_json_ json_t *answer = NULL;

    if (by_program(job) && server_get(server, &answer, "/jobs/%" PRIu64 "/processes?state=all",
                                      json_u64(job, "id")) != STATUS_OK)
        return STATUS_FAILED;
    return job_exit_of(job, json_object_get(answer, "processes"));
}

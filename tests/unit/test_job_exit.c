/* SPDX-License-Identifier: Apache-2.0 */
/* test_job_exit.c - a command that follows a job ends as the job's program did */
#include <jansson.h>

#include "client/job_exit.h"
#include "client/json_read.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define FAILED                                                                                     \
    "{\"state\":\"failed\",\"cause\":\"process-failed\",\"spec\":{\"fault_tolerant\":false}}"
#define TOLERANT                                                                                   \
    "{\"state\":\"failed\",\"cause\":\"failed-at-once\",\"spec\":{\"fault_tolerant\":true}}"
#define END(cause, code, signal, at)                                                               \
    "{\"state\":\"exited\",\"cause\":\"" cause "\",\"exit_code\":" #code                           \
    ",\"exit_signal\":" #signal ",\"ended_us\":" #at "}"

static const struct {
    const char *job, *processes;
    int status;
} rows[] = {
    { "{\"state\":\"succeeded\"}", "[]", 0 },
    { FAILED, "[" END("program", 7, 0, 5) "]", 7 },
    { FAILED, "[" END("program", 0, 9, 5) "]", 137 },
    { FAILED, "[" END("program", 300, 0, 5) "]", 255 },
    { FAILED, "[" END("no-program", 127, 0, 5) "]", 127 },
    /* the first end is the reason, and the others were stopped for it */
    { FAILED, "[" END("program", 3, 0, 9) "," END("program", 4, 0, 5) "]", 4 },
    { FAILED, "[" END("job-ends", 0, 15, 4) "," END("program", 4, 0, 5) "]", 4 },
    { FAILED, "[" END("program", 0, 0, 4) "," END("program", 4, 0, 5) "]", 4 },
    /* it was started again and again until the last end was one too many */
    { TOLERANT, "[" END("program", 3, 0, 9) "," END("program", 4, 0, 5) "]", 3 },
    /* a node was lost, somebody killed it, nothing is known of its processes */
    { FAILED, "[" END("node-silent", 0, 0, 5) "]", 1 },
    { FAILED, "[]", 1 },
    { "{\"state\":\"killed\",\"cause\":\"killed\"}", "[" END("program", 7, 0, 5) "]", 1 },
    { "{\"state\":\"failed\",\"cause\":\"deadline\"}", "[" END("program", 7, 0, 5) "]", 1 },
};

TEST(test_status_is_that_of_the_program)
{
    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        _cleanup_json_ json_t *job = json_loads(rows[i].job, 0, NULL);
        _cleanup_json_ json_t *processes = json_loads(rows[i].processes, 0, NULL);

        assert_non_null(job);
        assert_non_null(processes);
        if (job_exit_of(job, processes) != rows[i].status)
            fail_msg("%s %s: %d", rows[i].job, rows[i].processes, job_exit_of(job, processes));
    }
}

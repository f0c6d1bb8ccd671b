/* SPDX-License-Identifier: Apache-2.0 */
/* test_libedl_stopped.c - time in which a program is stopped is none of its waits' */

#include <sys/prctl.h>
#include <sys/wait.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "libedl/edl/edl.h"
#include "shared/macro.h"
#include "tests/unit/edl_agent.h"
#include "tests/unit/test.h"

/* Shorter than the stop, and long enough for a busy machine beside what a stop may cost. */
#define LIMIT_US (5 * USEC_PER_SEC)

typedef int (*call_fn)(struct edl_client *client);

/* A program that makes a call, and its agent. */
struct program {
    struct agent agent;
    pid_t pid;
};

static void program_begin(struct program *program, const char *const *answers, call_fn call)
{
    edl_agent_begin(&program->agent, answers);
    program->pid = fork();
    assert_int_not_equal(program->pid, -1);
    if (program->pid == 0) {
        int r;

        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        r = call(program->agent.client);
        if (r < 0)
            (void)fprintf(stderr, "%d: %s\n", r, edl_last_error(program->agent.client));
        _exit(r == 1 ? 0 : 1);
    }
}

static void program_end(struct program *program)
{
    int status = 1;

    assert_int_equal(waitpid(program->pid, &status, 0), program->pid);
    assert_int_equal(status, 0);
    edl_agent_end(&program->agent);
}

/* The limit is the user's: over by the clock as the program goes on. */
static int wait_for_news(struct edl_client *client)
{
    edl_client_set_patience(client, EDL_FOREVER);
    return edl_world_over(client, 7, LIMIT_US);
}

/* The limit is that of one call, within which the program is stopped. */
static int ask(struct edl_client *client)
{
    edl_client_set_patience(client, LIMIT_US);
    return edl_checkpoint_done(client);
}

TEST(test_time_that_a_program_is_stopped_is_not_waited)
{
    static const char *const no_news[] = { MEANWHILE_SAYS(SAYS("{\"over\":false}")),
                                           SAYS("{\"over\":true}"), NULL };
    static const char *const late[] = { THEN_SAYS(SAYS("{\"stopping\":true}")), NULL };
    struct program waiting, asking;

    program_begin(&waiting, no_news, wait_for_news);
    program_begin(&asking, late, ask);
    program_end(&waiting);
    program_end(&asking);
}

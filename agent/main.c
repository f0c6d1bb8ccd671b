/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - program edl-agent: runs the processes that the scheduler orders on this node */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "agent/agent.h"
#include "agent/beside.h"
#include "agent/machine/open_files.h"
#include "agent/options.h"
#include "shared/error.h"
#include "shared/journal.h"
#include "shared/log.h"

/* What is wrong in options and files is not right a second later: edl-agent.service has
 * RestartPreventExitStatus= for it. */
#define STATUS_CONFIG 2

#define AGENT_NICE (-10)

static int exit_status(int r)
{
    if (r == EDL_ECONFIG)
        return STATUS_CONFIG;
    return r < 0 ? 1 : 0;
}

/* be_prompt - supervisors that start and end fill the cores in a storm of starts: reports and calls
 * go before them. What this program starts is as everything else. */
static void be_prompt(void)
{
    const struct sched_param any = { 0 };

    errno = 0;
    if (getpriority(PRIO_PROCESS, 0) == 0 && errno == 0 &&
        sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &any) == 0)
        (void)setpriority(PRIO_PROCESS, 0, AGENT_NICE); /* root may */
}

int main(int argc, char **argv)
{
    struct agent_options options;
    struct agent *agent = NULL;
    struct edl_error error = { 0 };
    int r;

    log_init("edl-agent");
    journal_open();
    r = options_parse(argc, argv, &options, &error);
    if (r < 0) {
        (void)fprintf(stderr, "edl-agent: %s\ntry: %s\n", error.text,
                      error.remedy[0] != '\0' ? error.remedy : "edl-agent --help");
        return STATUS_CONFIG;
    }
    if (r > 0)
        return 0;
    (void)umask(0027);
    open_files_raise();
    be_prompt();
    r = agent_new(&options, &agent, &error);
    if (r == 0)
        r = agent_run(agent, &error);
    else if (r == -EBUSY && options.join_only)
        r = agent_join_beside(&options, &error);
    (void)agent_free(agent);
    options_done(&options);
    if (r < 0)
        (void)log_failure(&error, "cannot run");
    return exit_status(r);
}

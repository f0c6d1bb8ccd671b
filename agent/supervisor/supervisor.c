/* SPDX-License-Identifier: Apache-2.0 */
/* supervisor.c - program edl-supervisor: the spawn server of an agent, one supervisor by hand, or
 * the runner of the drop-ins of a job */
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/drop_ins/drop_ins_serve.h"
#include "agent/processes/spawn_server.h"
#include "agent/supervisor/supervise.h"
#include "shared/journal.h"
#include "shared/log.h"
#include "shared/macro.h"

/* reset_signals - ignored ones would stay ignored in every program that is executed below us */
static void reset_signals(void)
{
    for (int i = 1; i < NSIG; i++)
        (void)signal(i, SIG_DFL);
}

/* close_inherited - what whoever started the agent has left open (a lock, the end of a pipe) would
 * stay so for as long as a process runs */
static void close_inherited(bool serves)
{
    (void)close_range(serves ? SPAWN_SERVER_FD + 1 : STDERR_FILENO + 1, UINT_MAX, 0);
}

int main(int argc, char **argv)
{
    bool serves = argc == 2 && streq(argv[1], "--serve");

    close_inherited(serves);
    log_init("edl-supervisor");
    journal_open();
    reset_signals();
    if (argc == 2 && streq(argv[1], "--version")) {
        (void)printf("edl-supervisor %s\n", EDL_VERSION);
        return 0;
    }
    if (serves)
        return spawn_server_run(SPAWN_SERVER_FD) < 0 ? 1 : 0;
    if (argc == 2 && streq(argv[1], "--drop-ins"))
        return drop_ins_serve(STDIN_FILENO);
    if (argc != 2 || argv[1][0] == '-') {
        (void)fprintf(stderr, "Usage: edl-supervisor PROCESS_DIR\n"
                              "       edl-supervisor --serve | --drop-ins\n"
                              "Supervises one process, or for edl-agent as many as it orders.\n");
        return argc == 2 && streq(argv[1], "--help") ? 0 : 2;
    }
    (void)setsid();
    return supervise_folder(argv[1]) < 0 ? 1 : 0;
}

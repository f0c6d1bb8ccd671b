/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - the command `edl`
 *
 * Everything it does goes through the scheduler's HTTP API; the verbs are in cmd_*.c, their table
 * is in verb.c. Output is by the line, so that `edl top | grep` and `edl logs -f | head` work as
 * expected. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client/verb.h"
#include "shared/log.h"

/* Whoever closed a standard stream must not get a socket of ours in its place. What is opened there
 * ends at once for a reader and refuses a writer, as a closed one does. */
static void hold_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) == -1)
            (void)!open("/dev/null", O_RDONLY);
}

int main(int argc, char **argv)
{
    hold_streams();
    /* A reader that has seen enough ends us silently, also when our parent ignores SIGPIPE. */
    (void)signal(SIGPIPE, SIG_DFL);
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    log_init("edl");

    int status = verb_main(argc, argv);

    if (fflush(stdout) != 0 || ferror(stdout)) {
        (void)fprintf(stderr, "edl: the output could not be written: %s\n", strerror(errno));
        return status == STATUS_OK ? STATUS_FAILED : status;
    }
    return status;
}

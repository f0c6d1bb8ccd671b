/* SPDX-License-Identifier: Apache-2.0 */
/* stop_signals.c - a verb that makes files removes them when SIGINT, SIGTERM or SIGHUP ends it */
#include "client/stop_signals.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "shared/error.h"
#include "shared/macro.h"

static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };

static volatile sig_atomic_t caught; /* 0: none */
static volatile sig_atomic_t input_fd = -1;
static int null_fd = -1;

/* Calls are not restarted, but one that has not begun yet would wait all the same: it reads from
 * /dev/null then. */
static void on_signal(int number)
{
    int saved = errno;

    caught = number;
    if (input_fd >= 0 && null_fd >= 0)
        (void)dup2(null_fd, input_fd);
    errno = saved;
}

void stop_signals_catch(void)
{
    struct sigaction action = { .sa_handler = on_signal };

    null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    for (size_t i = 0; i < ELEMENTS(numbers); i++) {
        struct sigaction before;

        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            (void)sigaction(numbers[i], &action, NULL);
    }
}

void stop_signals_input(int fd)
{
    input_fd = fd;
    if (caught != 0) /* it came before it knew of fd */
        on_signal(caught);
}

int stop_signals_check(struct edl_error *error)
{
    if (caught == 0)
        return 0;
    (void)edl_error_set(error, -EINTR, "ended by a signal: %s", strsignal(caught));
    return edl_error_remedy(error, "call again: nothing is left of this call");
}

void stop_signals_end(void)
{
    if (caught == 0)
        return;
    (void)signal(caught, SIG_DFL);
    (void)raise(caught);
}

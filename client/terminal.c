/* SPDX-License-Identifier: Apache-2.0 */
/* terminal.c - see terminal.h */
#include "client/terminal.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "shared/session_frame.h"

enum { ROWS = 24, COLUMNS = 80 };

static struct termios before;
static volatile sig_atomic_t raw;

void terminal_leave(void)
{
    if (raw)
        (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
    raw = 0;
}

bool terminal_is_raw(void)
{
    return raw != 0;
}

/* A signal that nobody expects: tcsetattr may be called here. */
static void on_fatal(int number)
{
    if (raw)
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &before);
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

static void watch_fatal(void)
{
    static const int numbers[] = { SIGSEGV, SIGBUS,  SIGABRT, SIGFPE, SIGILL,
                                   SIGALRM, SIGUSR1, SIGUSR2, SIGXCPU };
    static bool watched;

    for (size_t i = 0; !watched && i < ELEMENTS(numbers); i++)
        (void)signal(numbers[i], on_fatal);
    if (!watched)
        (void)atexit(terminal_leave);
    watched = true;
}

int terminal_enter(struct edl_error *error)
{
    struct termios to;

    if (tcgetattr(STDIN_FILENO, &to) == -1)
        return edl_error_errno(error, -errno, "standard input cannot be used as a terminal");
    if (!raw)
        before = to;
    watch_fatal();
    to = before;
    cfmakeraw(&to);
    if (tcsetattr(STDIN_FILENO, TCSADRAIN, &to) == -1)
        return edl_error_errno(error, -errno, "the terminal cannot be made raw");
    raw = 1;
    return 0;
}

void terminal_size(struct session_size *ret)
{
    static const int fds[] = { STDOUT_FILENO, STDIN_FILENO, STDERR_FILENO };
    struct winsize size = { 0 };

    for (size_t i = 0; i < ELEMENTS(fds); i++)
        if (ioctl(fds[i], TIOCGWINSZ, &size) == 0)
            break;
    *ret = (struct session_size){ .rows = size.ws_row,
                                  .columns = size.ws_col,
                                  .x_pixels = size.ws_xpixel,
                                  .y_pixels = size.ws_ypixel };
    if (ret->rows == 0 || ret->columns == 0) {
        ret->rows = ROWS;
        ret->columns = COLUMNS;
    }
}

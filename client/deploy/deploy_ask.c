/* SPDX-License-Identifier: Apache-2.0 */
/* deploy_ask.c - see deploy_ask.h */
#include "client/deploy/deploy_ask.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define LINE_MAX_BYTES 1024 /* more is cut */

struct ask {
    int fd;
    sd_event_source *source;
    struct termios usual;
    bool silent; /* the echo is off */
    ask_fn fn;   /* NULL: nothing is asked */
    void *userdata;
    char line[LINE_MAX_BYTES];
    size_t n;
};

static void echo(struct ask *ask, bool on)
{
    struct termios wanted = ask->usual;

    if (ask->silent != on)
        return;
    if (!on)
        wanted.c_lflag &= ~(tcflag_t)ECHO;
    if (tcsetattr(ask->fd, TCSAFLUSH, &wanted) == 0)
        ask->silent = !on;
    if (on)
        (void)!write(ask->fd, "\n", 1); /* that of the answer was not shown */
}

static void answer(struct ask *ask, const char *text)
{
    ask_fn fn = ask->fn;

    ask->fn = NULL;
    echo(ask, true);
    fn(text, ask->userdata);
    explicit_bzero(ask->line, sizeof ask->line);
    ask->n = 0;
}

static int on_input(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct ask *ask = userdata;
    char bytes[256];
    ssize_t n = read(fd, bytes, sizeof bytes);

    (void)source;
    (void)revents;
    if (n == -1 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0) {
        (void)sd_event_source_set_enabled(ask->source, SD_EVENT_OFF);
        if (ask->fn != NULL)
            answer(ask, NULL);
        return 0;
    }
    for (ssize_t i = 0; i < n; i++)
        if (bytes[i] == '\n') {
            ask->line[ask->n] = '\0';
            if (ask->fn != NULL)
                answer(ask, ask->line);
            ask->n = 0; /* what nobody asked for is dropped */
        } else if (ask->n + 1 < sizeof ask->line) {
            ask->line[ask->n++] = bytes[i];
        }
    explicit_bzero(bytes, sizeof bytes);
    return 0;
}

int ask_new(sd_event *event, struct ask **ret, struct edl_error *error)
{
    struct ask *ask;
    _cleanup_close_ int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    int r;

    *ret = NULL;
    if (fd == -1)
        return 0;
    ask = xcalloc(1, sizeof *ask);
    ask->fd = TAKE_FD(fd);
    r = tcgetattr(ask->fd, &ask->usual) == -1 ? -errno : 0;
    if (r >= 0)
        r = sd_event_add_io(event, &ask->source, ask->fd, EPOLLIN, on_input, ask);
    if (r >= 0)
        r = sd_event_source_set_enabled(ask->source, SD_EVENT_OFF);
    if (r < 0) {
        (void)ask_free(ask);
        return edl_error_errno(error, r, "asking at the terminal");
    }
    *ret = ask;
    return 0;
}

struct ask *ask_free(struct ask *ask)
{
    if (ask == NULL)
        return NULL;
    echo(ask, true);
    (void)sd_event_source_disable_unref(ask->source);
    (void)safe_close(ask->fd);
    explicit_bzero(ask->line, sizeof ask->line);
    free(ask);
    return NULL;
}

void ask_line(struct ask *ask, const char *question, bool secret, ask_fn fn, void *userdata)
{
    ask->fn = fn;
    ask->userdata = userdata;
    if (secret)
        echo(ask, false); /* first: it throws away what was typed before */
    (void)!write(ask->fd, question, strlen(question));
    (void)sd_event_source_set_enabled(ask->source, SD_EVENT_ON);
}

bool ask_is_open(const struct ask *ask)
{
    return ask != NULL && ask->fn != NULL;
}

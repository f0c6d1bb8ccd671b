/* SPDX-License-Identifier: Apache-2.0 */
/* folder_remover.c - see folder_remover.h
 *
 * edl-workspace is sent one path a message, and answers each with one. Paths without an answer
 * at its end are sent to the next one. Where none can be started, the agent removes folders itself.
 * The next agent finds the folders that this one leaves: a folder of which its scheduler wants
 * nothing goes again. */
#include "agent/processes/folder_remover.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utlist.h>

#include "agent/layout.h"
#include "agent/processes/helper.h"
#include "agent/processes/process_dir.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"

#define UNDER_WAY_MOST 64
#define LAST_ONES_MS 5000 /* an agent that ends waits so long for them */

struct removal {
    char *path; /* owned */
    bool has_copy;
    bool sent;
    struct removal *prev, *next; /* utlist */
};

struct folder_remover {
    struct folder_remover_config config;
    char *program; /* owned */
    int fd, pidfd; /* -1: no helper */
    sd_event_source *answers, *gone;
    struct removal *list; /* owned; those that were sent come first */
    size_t n_sent;
};

static void drop_helper(struct folder_remover *r)
{
    struct removal *removal;

    r->answers = sd_event_source_disable_unref(r->answers);
    r->gone = sd_event_source_disable_unref(r->gone);
    r->fd = safe_close(r->fd);
    r->pidfd = safe_close(r->pidfd);
    r->n_sent = 0;
    DL_FOREACH(r->list, removal)
    removal->sent = false;
}

/* finish - the first of the list is removed */
static void finish(struct folder_remover *r)
{
    struct removal *removal = r->list;
    bool has_copy = removal->has_copy;

    r->n_sent -= removal->sent;
    DL_DELETE(r->list, removal);
    free(removal->path);
    free(removal);
    r->config.removed(has_copy, r->config.userdata);
}

static void remove_here(struct folder_remover *r)
{
    struct edl_error error = { 0 };

    if (process_dir_remove(r->list->path, &error) < 0)
        (void)log_failure(&error, "a process that is over");
    finish(r);
}

static void send_some(struct folder_remover *r)
{
    struct removal *removal;

    DL_FOREACH(r->list, removal)
    {
        if (removal->sent)
            continue;
        if (r->n_sent >= UNDER_WAY_MOST ||
            send(r->fd, removal->path, strlen(removal->path), MSG_DONTWAIT | MSG_NOSIGNAL) == -1)
            return; /* the next answer makes room */
        removal->sent = true;
        r->n_sent++;
    }
}

/* take_answers - false: it has closed its end */
static bool take_answers(struct folder_remover *r)
{
    char answer[8];
    ssize_t n;

    while ((n = recv(r->fd, answer, sizeof answer, MSG_DONTWAIT)) > 0)
        if (r->list != NULL && r->list->sent)
            finish(r);
    return n == -1 && (errno == EAGAIN || errno == EINTR);
}

static int on_answers(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct folder_remover *r = userdata;

    (void)fd;
    (void)revents;
    if (take_answers(r))
        send_some(r);
    else
        (void)sd_event_source_set_enabled(source, SD_EVENT_OFF); /* its pidfd says the rest */
    return 0;
}

static void work(struct folder_remover *r);

static int on_gone(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct folder_remover *r = userdata;
    siginfo_t info;

    (void)source;
    (void)revents;
    (void)take_answers(r); /* each of these was removed */
    (void)waitid(P_PIDFD, (id_t)fd, &info, WEXITED | WNOHANG);
    log_warning("edl-workspace remove-folders is gone; another one is started");
    drop_helper(r);
    if (r->list != NULL)
        remove_here(r); /* at which it ended, perhaps */
    work(r);
    return 0;
}

static int start(struct folder_remover *r, struct edl_error *error)
{
    static const int numbers[] = { STDIN_FILENO, STDOUT_FILENO };
    const char *const argv[] = { r->program, "remove-folders", r->config.layout->tmp_dir, NULL };
    struct helper helper;
    int e = helper_start(argv, numbers, ELEMENTS(numbers), &helper, error);

    if (e < 0)
        return e;
    r->fd = helper.fd;
    r->pidfd = helper.pidfd;
    e = sd_event_add_io(r->config.event, &r->answers, r->fd, EPOLLIN, on_answers, r);
    if (e >= 0)
        e = sd_event_add_io(r->config.event, &r->gone, r->pidfd, EPOLLIN, on_gone, r);
    if (e < 0) {
        drop_helper(r);
        return edl_error_errno(error, e, "cannot watch %s", r->program);
    }
    return 0;
}

static void work(struct folder_remover *r)
{
    struct edl_error error = { 0 };

    if (r->list == NULL)
        return;
    if (r->fd < 0 && start(r, &error) < 0) {
        (void)log_failure(&error, "process folders are removed by the agent itself");
        while (r->list != NULL)
            remove_here(r);
        return;
    }
    send_some(r);
}

void folder_remover_add(struct folder_remover *r, char *take_path, bool has_copy)
{
    struct removal *removal = xcalloc(1, sizeof *removal);

    removal->path = take_path;
    removal->has_copy = has_copy;
    DL_APPEND(r->list, removal);
    work(r);
}

struct folder_remover *folder_remover_new(const struct folder_remover_config *config)
{
    struct folder_remover *r = xcalloc(1, sizeof *r);

    r->config = *config;
    r->program = text_format("%s/edl-workspace", config->layout->program_dir);
    r->fd = r->pidfd = -1;
    return r;
}

static void ignore(bool has_copy, void *userdata)
{
    (void)has_copy;
    (void)userdata;
}

struct folder_remover *folder_remover_free(struct folder_remover *r)
{
    struct pollfd end;

    if (r == NULL)
        return NULL;
    r->config.removed = ignore;
    if (r->fd >= 0) { /* it removes what it was sent, and ends */
        end = (struct pollfd){ .fd = r->pidfd, .events = POLLIN };
        (void)shutdown(r->fd, SHUT_WR);
        (void)poll(&end, 1, LAST_ONES_MS);
        (void)take_answers(r);
    }
    while (r->list != NULL)
        finish(r); /* its helper goes on with it, or the next agent finds it */
    drop_helper(r);
    free(r->program);
    free(r);
    return NULL;
}

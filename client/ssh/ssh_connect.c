/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_connect.c - a TCP connection to a name: looked up, its addresses tried in turn, on a loop */
#include "client/ssh/ssh_connect.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "client/ssh/ssh_collect.h"
#include "shared/cleanup.h"
#include "shared/macro.h"

#define ADDRESSES_MAX 8
#define NEXT_AFTER_US (2 * USEC_PER_SEC)

/* One address and the attempt to reach it. */
struct attempt {
    struct ssh_connect *connect;
    struct sockaddr_storage address;
    socklen_t length;
    int fd; /* -1: not begun, or over */
    sd_event_source *io;
};

struct ssh_connect {
    sd_event *event; /* ref */
    struct ssh_connect_handlers handlers;
    void *userdata;
    uint16_t port;
    double patience;
    struct ssh_collect *lookup;
    sd_event_source *begin, *timer;
    struct attempt attempts[ADDRESSES_MAX];
    unsigned int n, begun, over;
    int last_error;
};

static void begin_next(struct ssh_connect *this);

static void stop(struct attempt *attempt)
{
    attempt->io = sd_event_source_disable_unref(attempt->io);
    attempt->fd = safe_close(attempt->fd);
}

/* finish - the last thing that is done here: the callee may have freed it */
static void finish(struct ssh_connect *this, int fd, int error_code)
{
    this->timer = sd_event_source_disable_unref(this->timer);
    for (unsigned int i = 0; i < this->begun; i++)
        stop(&this->attempts[i]);
    this->handlers.done(this->userdata, fd, error_code);
}

/* failed - the next address is tried at once */
static void failed(struct attempt *attempt, int error_code)
{
    struct ssh_connect *this = attempt->connect;

    stop(attempt);
    this->over++;
    this->last_error = error_code;
    if (this->begun < this->n)
        begin_next(this);
    else if (this->over == this->n)
        finish(this, -1, this->last_error);
}

static int on_socket(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct attempt *attempt = userdata;
    int socket_error = 0;
    socklen_t length = sizeof socket_error;

    (void)source;
    (void)revents;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &socket_error, &length) == -1)
        socket_error = errno;
    if (socket_error != 0) {
        failed(attempt, -socket_error);
        return 0;
    }
    attempt->io = sd_event_source_disable_unref(attempt->io);
    finish(attempt->connect, TAKE_FD(attempt->fd), 0);
    return 0;
}

/* set_options - a peer that is gone is noticed by the kernel too; small packets go at once */
static void set_options(int fd)
{
    static const struct {
        int level, option, value;
    } options[] = { { IPPROTO_TCP, TCP_NODELAY, 1 },   { SOL_SOCKET, SO_KEEPALIVE, 1 },
                    { IPPROTO_TCP, TCP_KEEPIDLE, 15 }, { IPPROTO_TCP, TCP_KEEPINTVL, 5 },
                    { IPPROTO_TCP, TCP_KEEPCNT, 3 },   { IPPROTO_TCP, TCP_USER_TIMEOUT, 20000 } };

    for (size_t i = 0; i < ELEMENTS(options); i++)
        (void)setsockopt(fd, options[i].level, options[i].option, &options[i].value,
                         sizeof options[i].value);
}

static int on_next(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct ssh_connect *this = userdata;

    (void)source;
    (void)usec;
    if (this->begun < this->n)
        begin_next(this);
    return 0;
}

static void begin_next(struct ssh_connect *this)
{
    struct attempt *attempt = &this->attempts[this->begun++];
    int r;

    this->timer = sd_event_source_disable_unref(this->timer);
    attempt->connect = this;
    attempt->fd = socket(attempt->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (attempt->fd == -1) {
        failed(attempt, -errno);
        return;
    }
    set_options(attempt->fd);
    r = connect(attempt->fd, (const struct sockaddr *)&attempt->address, attempt->length);
    if (r == -1 && errno != EINPROGRESS) {
        failed(attempt, -errno);
        return;
    }
    if (sd_event_add_io(this->event, &attempt->io, attempt->fd, EPOLLOUT, on_socket, attempt) < 0 ||
        (this->begun < this->n &&
         sd_event_add_time_relative(this->event, &this->timer, CLOCK_BOOTTIME,
                                    (uint64_t)((double)NEXT_AFTER_US * this->patience), 0, on_next,
                                    this) < 0))
        abort(); /* of memory only */
}

/* add_address - numeric; texts that are none are left out */
static void add_address(struct ssh_connect *this, const char *text)
{
    const struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
                                    .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;
    char service[8];

    (void)snprintf(service, sizeof service, "%u", this->port);
    if (this->n < ADDRESSES_MAX && getaddrinfo(text, service, &hints, &found) == 0) {
        struct attempt *attempt = &this->attempts[this->n++];

        memcpy(&attempt->address, found->ai_addr, found->ai_addrlen);
        attempt->length = found->ai_addrlen;
        freeaddrinfo(found);
    }
}

/* on_looked_up - lines of getent: "ADDRESS STREAM NAME"; other socket types repeat them */
static void on_looked_up(void *userdata, int status, const char *out, const char *err)
{
    struct ssh_connect *this = userdata;
    _cleanup_free_ char *copy = xstrdup(out);
    char *rest = copy;

    (void)err;
    this->lookup = ssh_collect_free(this->lookup);
    for (char *line = strsep(&rest, "\n"); status == 0 && line != NULL;
         line = strsep(&rest, "\n")) {
        char address[64], type[16];

        if (sscanf(line, "%63s %15s", address, type) == 2 && streq(type, "STREAM"))
            add_address(this, address);
    }
    if (this->n == 0) {
        finish(this, -1, -ENOENT);
        return;
    }
    this->handlers.resolved(this->userdata);
    begin_next(this);
}

static int on_begin(sd_event_source *source, void *userdata)
{
    struct ssh_connect *this = userdata;

    (void)source;
    this->begin = sd_event_source_disable_unref(this->begin);
    begin_next(this);
    return 0;
}

int ssh_connect_start(sd_event *event, const char *host, uint16_t port, double patience,
                      const struct ssh_connect_handlers *handlers, void *userdata,
                      struct ssh_connect **ret, struct edl_error *error)
{
    const char *const argv[] = { "getent", "ahosts", "--", host, NULL };
    struct ssh_connect *this = xcalloc(1, sizeof *this);
    int r;

    *this = (struct ssh_connect){ .event = sd_event_ref(event),
                                  .handlers = *handlers,
                                  .userdata = userdata,
                                  .port = port,
                                  .patience = patience };
    add_address(this, host);
    r = this->n > 0 ? sd_event_add_defer(event, &this->begin, on_begin, this)
                    : ssh_collect_start(event, argv, on_looked_up, this, &this->lookup, error);
    if (r < 0) {
        (void)ssh_connect_free(this);
        return r;
    }
    *ret = this;
    return 0;
}

struct ssh_connect *ssh_connect_free(struct ssh_connect *this)
{
    if (this == NULL)
        return NULL;
    for (unsigned int i = 0; i < this->begun; i++)
        stop(&this->attempts[i]);
    (void)ssh_collect_free(this->lookup);
    (void)sd_event_source_disable_unref(this->begin);
    (void)sd_event_source_disable_unref(this->timer);
    sd_event_unref(this->event);
    free(this);
    return NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* step.c - steps of training: added up here, told once a second
 *
 * A step costs two reads of the clock and some additions. Once a second, at the end of a step, the
 * sums go out as one small request, which a fresh connection takes without a wait. Its answer is
 * looked for before the next one. Until it came nothing more is sent: steps that are done meanwhile
 * add up. A connection that ends without an answer was that of an agent which is gone, and its sums
 * with it. So the sums on their way are told again. */
#include "libedl/client.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/macro.h"

#define TELL_EACH_US USEC_PER_SEC
#define REFUSED_US (60 * USEC_PER_SEC) /* an agent of before does not know the call */
#define END_MS 250
#define STATUS_AT 9 /* in "HTTP/1.1 204" */
#define STATUS_LEAST (STATUS_AT + 1)

/* ---- the wire ---- */

static int write_request(const struct step_sums *sums, char *buffer, size_t size)
{
    char body[256];
    int n = snprintf(body, sizeof body,
                     "{\"step\":%" PRIu64 ",\"steps\":%" PRIu64 ",\"samples\":%" PRIu64
                     ",\"compute_us\":%" PRIu64 ",\"wait_us\":%" PRIu64 "}",
                     sums->step, sums->steps, sums->samples, sums->compute_us, sums->wait_us);

    return snprintf(buffer, size,
                    "POST /processes/self/steps HTTP/1.1\r\nHost: localhost\r\nConnection: "
                    "close\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
                    n, body);
}

/* send_sums - the connection on which the answer will come, or -1: nobody takes it now */
static int send_sums(const struct edl_client *client, const struct step_sums *sums)
{
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    char request[512];
    int size = write_request(sums, request, sizeof request);

    (void)memcpy(to.sun_path, client->base.socket_path, strlen(client->base.socket_path) + 1);
    if (fd == -1 || connect(fd, (const struct sockaddr *)&to, sizeof to) == -1 ||
        send(fd, request, (size_t)size, MSG_NOSIGNAL) != size)
        return -1;
    return TAKE_FD(fd);
}

/* ---- what the agent knows ---- */

static void close_call(struct client_steps *steps)
{
    steps->fd = safe_close(steps->fd);
    steps->on_way = (struct step_sums){ 0 };
}

/* look - what became of the call under way: a status, 0 when nobody took it, -EAGAIN when it was
 * not answered yet */
static int look(struct client_steps *steps)
{
    struct step_sums lost = steps->on_way;
    char answer[STATUS_LEAST];
    ssize_t n = recv(steps->fd, answer, sizeof answer, MSG_DONTWAIT);
    int status = n == STATUS_LEAST ? 100 * (answer[STATUS_AT] - '0') : 0;

    if (n == -1 && (errno == EAGAIN || errno == EINTR))
        return -EAGAIN;
    close_call(steps);
    if (status == 200 || status == 400)
        return status;
    if (steps->untold.steps > 0)
        step_sums_add(&lost, &steps->untold);
    steps->untold = lost;
    return 0;
}

static void tell(struct edl_client *client, uint64_t now_us)
{
    struct client_steps *steps = &client->steps;
    int status = steps->fd != -1 ? look(steps) : 0;

    steps->next_us = now_us + (status == 400 ? REFUSED_US : TELL_EACH_US);
    if (status == -EAGAIN || status == 400 || steps->untold.steps == 0)
        return;
    steps->fd = send_sums(client, &steps->untold);
    if (steps->fd == -1)
        return;
    steps->on_way = steps->untold;
    steps->untold = (struct step_sums){ 0 };
}

void client_end_steps(struct edl_client *client)
{
    struct client_steps *steps = &client->steps;

    for (int tries = 0; tries < 2 && (steps->fd != -1 || steps->untold.steps > 0); tries++) {
        struct pollfd answered = { .events = POLLIN };

        tell(client, clock_read_us(CLOCK_MONOTONIC));
        answered.fd = steps->fd;
        if (steps->fd != -1)
            (void)poll(&answered, 1, END_MS);
    }
    if (steps->fd != -1)
        close_call(steps);
}

/* ---- a step ---- */

int edl_step(struct edl_client *client, uint64_t step, uint64_t samples, uint64_t compute_us,
             uint64_t wait_us)
{
    uint64_t now_us, since_us;
    struct client_steps *steps;

    if (client == NULL)
        return 0;
    steps = &client->steps;
    if ((step > STEP_SUM_MAX && step != EDL_AUTO) || samples > STEP_SUM_MAX ||
        (compute_us > STEP_SUM_MAX && compute_us != EDL_AUTO) || wait_us > STEP_SUM_MAX)
        return client_refuse(client, -EINVAL, "a number of a step is 2^53 - 1 at most");
    now_us = clock_read_us(CLOCK_MONOTONIC);
    since_us = steps->ended_us != 0 ? now_us - steps->ended_us : 0;
    steps->ended_us = now_us;
    steps->last = step != EDL_AUTO ? step : MIN_OF(steps->last + 1, STEP_SUM_MAX);
    step_sums_add(&steps->untold,
                  &(struct step_sums){ .step = steps->last,
                                       .steps = 1,
                                       .samples = samples,
                                       .compute_us = compute_us != EDL_AUTO
                                                         ? compute_us
                                                         : since_us - MIN_OF(wait_us, since_us),
                                       .wait_us = wait_us });
    if (now_us >= steps->next_us)
        tell(client, now_us);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* keep.c - asks the scheduler's keeper several times in a lease (see keep.h) */
#include "agent/keep.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/hex.h"
#include "shared/http_client.h"
#include "shared/keep_wire.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/socket_address.h"

#define ASK_PART_OF_LEASE 8 /* datagrams get lost: three in a row before the lease is in danger */
#define TIMER_ACCURACY_US (10 * USEC_PER_MSEC)
#define SILENT_ASKS 24 /* three leases */

struct keep {
    sd_event *event;
    keep_fn on_kept;
    void *userdata;
    sd_event_source *timer, *io; /* owned */
    int fd;                      /* owned; -1: nobody is asked */
    char peer[HTTP_ADDRESS_MAX];
    uint16_t port;
    uint32_t slot, generation;
    uint8_t key[KEEP_KEY_BYTES];
    uint64_t lease_us;
    uint64_t kept_us;    /* sent_us of the newest question that was answered */
    uint64_t told_us;    /* when the newest report was answered */
    unsigned unanswered; /* in a row, of this key */
    bool complained;
};

static uint64_t now(void)
{
    return clock_read_us(CLOCK_BOOTTIME);
}

static void hang_up(struct keep *keep)
{
    keep->io = sd_event_source_disable_unref(keep->io);
    keep->fd = safe_close(keep->fd);
    keep->unanswered = 0;
    (void)sd_event_source_set_enabled(keep->timer, SD_EVENT_OFF);
}

static void arm(struct keep *keep, uint64_t at_us)
{
    (void)sd_event_source_set_time(keep->timer, at_us);
    (void)sd_event_source_set_enabled(keep->timer, SD_EVENT_ONESHOT);
}

/* A datagram that cannot be sent is one that is lost: it is asked again. */
static void ask(struct keep *keep, uint64_t now_us)
{
    struct keep_datagram question = { keep->slot, keep->generation, now_us };
    uint8_t bytes[KEEP_DATAGRAM_BYTES];

    if (keep_write(KEEP_ASK, &question, keep->key, bytes) == 0)
        (void)send(keep->fd, bytes, sizeof bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
    keep->unanswered++;
}

/* Only while reports are taken: else there is nobody who could answer. */
static void complain(struct keep *keep)
{
    if (keep->unanswered < SILENT_ASKS || keep->complained)
        return;
    keep->complained = true;
    log_warning("edl-lease-keeper does not answer at UDP port %u of %s: when the scheduler stands "
                "still, what runs here ends with its lease; is there a firewall between?",
                keep->port, keep->peer);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct keep *keep = userdata;
    uint64_t now_us = now();

    (void)source;
    (void)usec;
    /* Who hears no answer may still be heard: a cable that is broken one way. What ran here has
     * ended with the lease, and runs elsewhere only once the scheduler hears no more of us. */
    if (now_us - MAX_OF(keep->kept_us, keep->told_us) >= keep->lease_us) {
        hang_up(keep);
        return 0;
    }
    ask(keep, now_us);
    arm(keep, now_us + keep->lease_us / ASK_PART_OF_LEASE);
    return 0;
}

/* What it asked itself, by its own clock: an answer that took long renews nothing. */
static void take(struct keep *keep, const uint8_t *bytes, size_t n)
{
    struct keep_datagram answer;
    uint64_t now_us = now();

    if (!keep_read(KEEP_KEPT, bytes, n, &answer) || answer.slot != keep->slot ||
        answer.generation != keep->generation || answer.sent_us <= keep->kept_us ||
        answer.sent_us > now_us || !keep_is_true(bytes, keep->key))
        return;
    if (keep->complained)
        log_info("edl-lease-keeper answers");
    keep->complained = false;
    keep->unanswered = 0;
    keep->kept_us = answer.sent_us;
    keep->on_kept(answer.sent_us, keep->lease_us, now_us, keep->userdata);
}

static int on_io(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    uint8_t bytes[KEEP_DATAGRAM_BYTES + 1];
    ssize_t n = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);

    (void)source;
    (void)events;
    if (n >= 0) /* else nobody listens there now, or there is none any more */
        take(userdata, bytes, (size_t)n);
    return 0;
}

/* dial - false: there is no way to ask there (a Unix socket, no descriptor) */
static bool dial(struct keep *keep, const struct http_answer *answer)
{
    union socket_address address;
    socklen_t size;

    if (keep->fd >= 0 && keep->port == answer->peer_port && streq(keep->peer, answer->peer))
        return true;
    hang_up(keep);
    size = socket_address_parse(answer->peer, answer->peer_port, &address);
    if (size == 0)
        return false;
    memcpy(keep->peer, answer->peer, sizeof keep->peer);
    keep->port = answer->peer_port;
    keep->fd = socket(address.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (keep->fd == -1 || connect(keep->fd, &address.any, size) == -1 ||
        sd_event_add_io(keep->event, &keep->io, keep->fd, EPOLLIN, on_io, keep) < 0) {
        hang_up(keep);
        return false;
    }
    (void)sd_event_source_set_priority(keep->io, SD_EVENT_PRIORITY_IMPORTANT);
    return true;
}

void keep_tell(struct keep *keep, const struct http_answer *answer)
{
    const json_t *told = json_object_get(answer->json, "keeper");
    const char *text = json_string_value(json_object_get(told, "key"));
    json_int_t lease_us = json_integer_value(json_object_get(answer->json, "lease_us"));
    uint8_t key[KEEP_KEY_BYTES];
    bool anew = keep->fd == -1;

    if (text == NULL || lease_us <= 0 || hex_decode(text, sizeof key, key) < 0 ||
        !dial(keep, answer)) {
        hang_up(keep);
        return;
    }
    anew = anew || memcmp(keep->key, key, sizeof key) != 0;
    memcpy(keep->key, key, sizeof key);
    keep->slot = (uint32_t)json_integer_value(json_object_get(told, "slot"));
    keep->generation = (uint32_t)json_integer_value(json_object_get(told, "generation"));
    keep->lease_us = (uint64_t)lease_us;
    keep->told_us = now();
    if (anew) {
        keep->unanswered = 0;
        arm(keep, keep->told_us);
    }
    complain(keep);
}

void keep_nobody(struct keep *keep)
{
    hang_up(keep);
}

int keep_new(sd_event *event, keep_fn on_kept, void *userdata, struct keep **ret,
             struct edl_error *error)
{
    struct keep *keep = xcalloc(1, sizeof *keep);
    int r;

    *keep = (struct keep){ .event = event, .on_kept = on_kept, .userdata = userdata, .fd = -1 };
    r = sd_event_add_time(event, &keep->timer, CLOCK_BOOTTIME, NEVER_US, TIMER_ACCURACY_US,
                          on_timer, keep);
    if (r < 0) {
        free(keep);
        return edl_error_errno(error, r, "cannot make a timer");
    }
    (void)sd_event_source_set_priority(keep->timer, SD_EVENT_PRIORITY_IMPORTANT);
    hang_up(keep);
    *ret = keep;
    return 0;
}

struct keep *keep_free(struct keep *keep)
{
    if (keep == NULL)
        return NULL;
    hang_up(keep);
    sd_event_source_disable_unref(keep->timer);
    free(keep);
    return NULL;
}

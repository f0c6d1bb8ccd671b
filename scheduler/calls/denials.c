/* SPDX-License-Identifier: Apache-2.0 */
/* denials.c - every refused caller in the log: its name, its address, the call, the reason */
#include "scheduler/calls/denials.h"

#include <inttypes.h>
#include <stdio.h>
#include <strings.h>
#include <uthash.h>

#include "scheduler/accounts/auth.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/log.h"
#include "shared/macro.h"

#define WINDOW_US (10 * USEC_PER_SEC)
#define TIMER_ACCURACY_US (100 * USEC_PER_MSEC)
#define LINES_EACH 5 /* of one address in a window */
#define LINES_MOST 100
#define PEERS_MOST 1024
#define PATH_SHOWN 120
#define HASH_SHOWN 8

struct denied_peer {
    char name[HTTP_PEER_MAX];
    unsigned lines;
    uint64_t untold;
    UT_hash_handle hh;
};

static int on_window_end(sd_event_source *source, uint64_t time_us, void *userdata);

int denials_init(struct denials *denials, sd_event *event, struct edl_error *error)
{
    int r = sd_event_add_time(event, &denials->timer, CLOCK_MONOTONIC, 0, TIMER_ACCURACY_US,
                              on_window_end, denials);

    if (r >= 0)
        r = sd_event_source_set_enabled(denials->timer, SD_EVENT_OFF);
    return r < 0 ? edl_error_errno(error, r, "the event loop") : 0;
}

static void end_window(struct denials *denials)
{
    struct denied_peer *peer, *next;
    uint64_t elsewhere = denials->n_elsewhere;
    unsigned lines = 0;

    HASH_ITER(hh, denials->peers, peer, next)
    {
        if (peer->untold > 0 && lines < LINES_MOST) {
            lines++;
            log_entry(LOG_LEVEL_WARNING, &(struct log_subject){ .message = MESSAGE_ACCESS_DENIED },
                      "denied: %" PRIu64 " more call%s from %s", peer->untold, PLURAL(peer->untold),
                      peer->name);
        } else {
            elsewhere += peer->untold;
        }
        HASH_DEL(denials->peers, peer);
        free(peer);
    }
    if (elsewhere > 0)
        log_entry(LOG_LEVEL_WARNING, &(struct log_subject){ .message = MESSAGE_ACCESS_DENIED },
                  "denied: %" PRIu64 " more call%s from many addresses", elsewhere,
                  PLURAL(elsewhere));
    denials->n_peers = denials->n_lines = 0;
    denials->n_elsewhere = 0;
}

static int on_window_end(sd_event_source *source, uint64_t time_us, void *userdata)
{
    (void)source;
    (void)time_us;
    end_window(userdata);
    return 0;
}

void denials_done(struct denials *denials)
{
    end_window(denials);
    denials->timer = sd_event_source_disable_unref(denials->timer);
}

static struct denied_peer *peer_of(struct denials *denials, const char *name)
{
    struct denied_peer *peer;

    HASH_FIND_STR(denials->peers, name, peer);
    if (peer != NULL || denials->n_peers == PEERS_MOST)
        return peer;
    if (denials->n_peers == 0 && denials->timer != NULL) {
        (void)sd_event_source_set_time_relative(denials->timer, WINDOW_US);
        (void)sd_event_source_set_enabled(denials->timer, SD_EVENT_ONESHOT);
    }
    peer = xcalloc(1, sizeof *peer);
    (void)snprintf(peer->name, sizeof peer->name, "%s", name);
    HASH_ADD_STR(denials->peers, name, peer);
    denials->n_peers++;
    return peer;
}

void denials_note_text(struct denials *denials, const char *peer_name, const char *what,
                       const char *why)
{
    struct denied_peer *peer = peer_of(denials, peer_name);

    denials->total++;
    if (peer == NULL) {
        denials->n_elsewhere++;
    } else if (peer->lines == LINES_EACH || denials->n_lines == LINES_MOST) {
        peer->untold++;
    } else {
        peer->lines++;
        denials->n_lines++;
        log_entry(LOG_LEVEL_WARNING, &(struct log_subject){ .message = MESSAGE_ACCESS_DENIED },
                  "denied: %s from %s: %s", what, peer_name, why);
    }
}

/* A stranger's text must not look like lines of ours, nor colour the terminal. */
static void printable(const char *text, char *ret, size_t size)
{
    size_t i = 0;

    for (; text[i] != '\0' && i + 1 < size; i++)
        ret[i] = text[i] > ' ' && text[i] < 0x7f ? text[i] : '?';
    ret[i] = '\0';
}

/* Enough of a token's hash to tell one from another; nothing of the token. */
static void describe_token(const struct http_request *request, char ret[32])
{
    const char *header = http_request_header(request, "Authorization");
    char hash[65];

    (void)snprintf(ret, 32, "no token");
    if (header != NULL && strncasecmp(header, "Bearer ", 7) == 0 &&
        auth_hash(header + 7, hash, NULL) == 0)
        (void)snprintf(ret, 32, "token #%.*s", HASH_SHOWN, hash);
}

void denials_note(struct denials *denials, const struct http_request *request,
                  const struct edl_error *error)
{
    char peer[HTTP_PEER_MAX], path[PATH_SHOWN], process[80] = "", token[32], what[320];
    const char *on_behalf = http_request_header(request, "X-EDL-Process");

    describe_token(request, token);
    printable(http_request_path(request), path, sizeof path);
    if (on_behalf != NULL)
        printable(on_behalf, process, sizeof process);
    (void)snprintf(what, sizeof what, "%s %s with %s%s%s", http_request_method(request), path,
                   token, process[0] != '\0' ? " for process " : "", process);
    denials_note_text(denials, http_request_peer(request, peer), what, error->text);
}

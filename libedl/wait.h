/* SPDX-License-Identifier: Apache-2.0 */
/* wait.h - client_await for a program with a poll loop: nothing blocks
 *
 * Each call of it is a connection of its own, so several waits of one client go on at once. It ends
 * with news or an error; there is no end of its time, as the caller can free it at any moment. */
#pragma once

#include "libedl/client.h"
#include "shared/http_plain.h"
#include "shared/patience.h"

enum wait_kind { WAIT_FOR_WORLD, WAIT_FOR_OVER };

struct edl_wait {
    struct edl_client *client; /* borrowed */
    enum wait_kind kind;
    const char *path; /* of POST; borrowed */
    json_t *body;     /* owned */
    client_read_fn read;
    struct edl_world *world; /* what read found; owned */

    bool is_asking; /* exchange is under way; else there is a pause */
    struct http_plain exchange;
    unsigned pause_ms;        /* the next one, after a failure */
    struct patience pause;    /* what is left of the present one */
    struct patience answer;   /* how much longer the call may take */
    struct patience patience; /* with failures */
};

/* wait_new - nothing is asked before edl_wait_go_on. body: owned from now on */
struct edl_wait *wait_new(struct edl_client *client, enum wait_kind kind, const char *path,
                          json_t *body, client_read_fn read);

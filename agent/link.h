/* SPDX-License-Identifier: Apache-2.0 */
/* link.h - the connection to the scheduler: join, reports, orders
 *
 * Two calls are in flight at most: a report (at once after a change, else each heartbeat) and the
 * long poll for orders. Everything is tried again for ever, with jittered back-off. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "shared/http_client.h"

struct edl_error;
struct link;

struct link_config { /* text is copied */
    const char *scheduler;
    const char *node;
    const char *join_token_file;
    const char *state_dir; /* holds the credential */
    uint64_t heartbeat_us;
    json_t *(*join_body)(void *userdata);   /* new reference */
    json_t *(*report_body)(void *userdata); /* new reference */
    /* a report was taken; deadline_us: boot time until which this node may run processes */
    void (*on_reported)(uint64_t deadline_us, uint64_t lease_us, void *userdata);
    /* orders came; false: they could not be read */
    bool (*on_orders)(const json_t *answer, void *userdata);
    void *userdata;
};

int link_new(sd_event *event, const struct link_config *config, struct link **ret,
             struct edl_error *error);
struct link *link_free(struct link *link);

/* link_changed - there is something to report; coalesced */
void link_changed(struct link *link);

/* link_reported - is everything that was told by link_changed with the scheduler? */
bool link_reported(const struct link *link);

const char *link_node(const struct link *link);

/* link_call - a call with this node's credential; path, body and so on are the caller's
 * -ENOTCONN with error when the node has not joined; else as http_async_start. */
int link_call(struct link *link, const struct http_call *call, http_answer_fn on_answer,
              void *userdata, struct http_async_call **ret_call, struct edl_error *error);

/* backoff_us - delay before try n (0, 1, ..): doubles from 100 ms to most_us, times 0.5 .. 1 */
uint64_t backoff_us(unsigned n, uint64_t most_us);

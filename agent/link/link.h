/* SPDX-License-Identifier: Apache-2.0 */
/* link.h - the connection to the scheduler: join, reports, orders
 *
 * core/link_sm.h decides which call is made when, and which of several schedulers gets it; here are
 * the calls and the timers. An answer of a lower term than this node has heard of does not count.
 * Calls of others go to the one that took the last report; those that are under way to
 * another one fail when that changes, as they do when a scheduler is restarted. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "shared/http_client.h"
#include "shared/server_list.h"

struct edl_error;
struct link;

struct link_config {                   /* text is copied */
    const struct server_list *servers; /* of one cluster; one of them leads */
    const char *node;
    const char *ca_path;         /* the authority of an https scheduler; NULL: no https */
    const char *join_token;      /* good once; NULL: join_token_file */
    const char *join_token_file; /* NULL: none */
    bool join_token_once;        /* what is in that file is no use when this node has joined */
    const char *state_dir;       /* holds the credential */
    uint64_t heartbeat_us;
    json_t *(*join_body)(void *userdata);                                       /* new reference */
    json_t *(*report_body)(uint64_t sent_us, uint64_t session, void *userdata); /* new reference */
    /* a report was taken that was sent at sent_us (boot time); lease_us 0: it gave none */
    void (*on_reported)(uint64_t sent_us, uint64_t lease_us, bool all_told, uint64_t now_us,
                        void *userdata);
    /* the lease goes on without a report, by the word of a scheduler that left (link_sm_away) */
    void (*on_renewed)(uint64_t sent_us, uint64_t lease_us, uint64_t now_us, void *userdata);
    /* orders came that were asked for at asked_us; false: they could not be read */
    bool (*on_orders)(const json_t *answer, uint64_t asked_us, uint64_t now_us, void *userdata);
    /* the scheduler does not know this node any more; it will join anew */
    void (*on_refused)(void *userdata);
    /* a report was taken over a connection from this address of the machine; before on_reported */
    void (*on_address)(const char *address, void *userdata);
    /* the scheduler took join_token, and nothing is to follow; NULL: reports follow */
    void (*on_joined)(void *userdata);
    /* the scheduler refused join_token: there is nothing to try again with */
    void (*on_rejected)(const struct edl_error *error, void *userdata);
    void *userdata;
};

int link_new(sd_event *event, const struct link_config *config, struct link **ret,
             struct edl_error *error);
struct link *link_free(struct link *link);

/* link_moved - this machine has another address: connections from the former one lead nowhere
 * link_changed - there is something to report; coalesced */
void link_moved(struct link *link);
void link_changed(struct link *link);

/* link_eager - whether programs stand still until the scheduler is heard (link_sm_eager) */
void link_eager(struct link *link, bool eager);

const char *link_node(const struct link *link);

/* link_credential - of this node, for a program of ours that speaks for it; borrowed, until the
 * next join; NULL: it has not joined */
const char *link_credential(const struct link *link);

/* link_server - the scheduler that took a report last, or is asked first; borrowed, until the loop
 * goes on */
const char *link_server(const struct link *link);

/* link_call - a call with this node's credential; path, body and so on are the caller's
 * -ENOTCONN with error when the node has not joined; else as http_async_start. */
int link_call(struct link *link, const struct http_call *call, http_answer_fn on_answer,
              void *userdata, struct http_async_call **ret_call, struct edl_error *error);

/* link_noise - a random number for a back-off (link_backoff_us) */
uint32_t link_noise(void);

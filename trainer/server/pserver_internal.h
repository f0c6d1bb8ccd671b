/* SPDX-License-Identifier: Apache-2.0 */
/* pserver_internal.h - a parameter server from inside: its connections and its checkpoints */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

#include "trainer/server/lag_rule.h"
#include "trainer/files/one_writer.h"
#include "trainer/server/pserver.h"
#include "trainer/server/pserver_terms.h"
#include "trainer/server/push_sum.h"
#include "trainer/server/recovery.h"
#include "trainer/server/rounds.h"

struct ps_connection;
struct table;

#define CONNECTIONS_MAX 2048

struct pserver {
    struct pserver_config config;
    char *checkpoint_path;
    struct one_writer writer; /* of the checkpoint */
    sd_event *event;
    sd_event_source *listen_source, *checkpoint_source, *greeting_source, *child_source;
    struct table *table; /* NULL before the first declaration */
    struct recovery recovery;
    void (*on_recovery)(void *userdata); /* NULL: nobody is told */
    void *recovery_userdata;
    uint64_t saved_updates; /* in the checkpoint; UINT64_MAX: none written */
    uint64_t saving_updates;
    pid_t child;
    struct ps_connection *connections[CONNECTIONS_MAX];
    size_t n_connections;
    struct trainer_record *trainers; /* of each trainer index that said HELLO; owned */
    uint32_t n_trainers;
    struct pserver_terms terms;
    struct rounds rounds; /* of synchronous SGD */
    struct push_sum *sum; /* owned; NULL until a round is over */
};

/* In whatever life. */
struct trainer_record {
    uint64_t incarnation; /* the newest */
    struct lag_record lag;
};

/* pserver_load - the checkpoint, where there is one; fails as checkpoint_read */
int pserver_load(struct pserver *server, struct edl_error *error);

/* pserver_on_checkpoint_due - of the timer: writes what has changed, in a child */
int pserver_on_checkpoint_due(sd_event_source *source, uint64_t time_us, void *userdata);

/* pserver_refuse - returns code, for a ps_frame_fn */
int pserver_refuse(struct ps_connection *connection, int code, const char *text);

/* pserver_answer - what a checked request pulls, as a reply; negative: why not */
int pserver_answer(struct pserver *server, struct ps_connection *connection,
                   const struct wire_push_pull *request, struct edl_error *error);

/* pserver_detach_all - replies that are half sent do not see the coming update; connections may end
 */
void pserver_detach_all(struct pserver *server);

/* pserver_take_round - a checked request of synchronous SGD: it is answered at once, or held until
 * its round; returns as a ps_frame_fn
 *
 * pserver_look_at_rounds - whether one is over; behind whatever may have ended it */
int pserver_take_round(struct pserver *server, struct ps_connection *connection,
                       const struct wire_push_pull *request);
void pserver_look_at_rounds(struct pserver *server);

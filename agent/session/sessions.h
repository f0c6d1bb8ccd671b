/* SPDX-License-Identifier: Apache-2.0 */
/* sessions.h - the sessions that people have inside processes of this node
 *
 * Orders list them for as long as they are wanted. For each, edl-session runs beside the agent, and
 * speaks with the scheduler by itself: no byte of a session passes here. Used by: agent.c,
 * next_orders.c. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <systemd/sd-event.h>

struct layout;
struct link;
struct sessions;

/* What edl-session is told, as one message of its socket. */
#define SESSION_DOCUMENT_MAX ((size_t)192 * 1024)

struct sessions_config {
    sd_event *event;
    struct link *link;           /* borrowed */
    const struct layout *layout; /* borrowed */
    const char *ca;              /* borrowed; NULL: none */
    const char *boot_id;         /* borrowed */
    bool by_systemd;             /* each is a unit, as supervisors are */
    bool has_processes;          /* of an earlier agent, whose sessions may have left something */
};

struct sessions *sessions_new(const struct sessions_config *config);

/* sessions_free - all of them end; accepts NULL, returns NULL */
struct sessions *sessions_free(struct sessions *sessions);

/* sessions_follow - "sessions" of orders (NULL: none): new ones begin, and those that are not
 * listed end. accounts: who may run processes here now; borrowed */
void sessions_follow(struct sessions *sessions, json_t *array, json_t *accounts);

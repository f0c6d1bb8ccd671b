/* SPDX-License-Identifier: Apache-2.0 */
/* session_turns.h - how much of sessions one pass of the loop moves
 *
 * libmicrohttpd serves every connection that has something in one pass, and with TLS 16 KiB take
 * some 20 us. So beyond a sum of bytes a connection waits for its turn. Those that wait go on in
 * the order in which they came, as many in each pass as move that sum. Little pieces (a key, its
 * echo) never wait.
 *
 * Used by: session_pipe.c. Tests: tests/unit/test_session_turns.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

struct edl_error;

#define SESSION_PASS_BYTES ((size_t)2 << 20)
#define SESSION_LITTLE_BYTES 1024

/* A member of its owner's object. */
struct session_turn {
    void (*go_on)(void *userdata);
    void *userdata;
    bool waits;
    struct session_turn *prev, *next;
};

struct session_turns {
    sd_event_source *source; /* owned; behind each pass */
    sd_event_source *poke;   /* owned; a pass, when nobody else makes one */
    struct session_turn *list;
    uint64_t pass; /* of the loop, in which so much was moved: */
    size_t bytes;
};

int session_turns_init(struct session_turns *turns, sd_event *event, struct edl_error *error);
void session_turns_done(struct session_turns *turns);

/* session_turns_may - whether so many bytes are moved in this pass, and counts them */
bool session_turns_may(struct session_turns *turns, size_t bytes);

/* session_turns_wait - go_on will be called, in a later pass; one that waits goes on waiting */
void session_turns_wait(struct session_turns *turns, struct session_turn *turn);

/* session_turns_leave - it waits no more */
void session_turns_leave(struct session_turns *turns, struct session_turn *turn);

/* SPDX-License-Identifier: Apache-2.0 */
/* session_turns.c - see session_turns.h */
#include "scheduler/nodes/session_turns.h"

#include <utlist.h>

#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/macro.h"

#define AT_ONCE (SESSION_PASS_BYTES / HTTP_PIECE_BYTES)

/* arm - whoever begins to wait in the last of what a pass serves would wait for the next that comes
 */
static void arm(struct session_turns *turns)
{
    bool any = turns->list != NULL;

    (void)sd_event_source_set_enabled(turns->source, any ? SD_EVENT_ON : SD_EVENT_OFF);
    (void)sd_event_source_set_enabled(turns->poke, any ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
}

static int on_poke(sd_event_source *source, void *userdata)
{
    (void)source;
    (void)userdata;
    return 0; /* on_pass follows */
}

/* A pass has served the connections that it had: it is the turn of those that waited. */
static int on_pass(sd_event_source *source, void *userdata)
{
    struct session_turns *turns = userdata;

    (void)source;
    for (size_t i = 0; i < AT_ONCE && turns->list != NULL; i++) {
        struct session_turn *turn = turns->list;

        session_turns_leave(turns, turn);
        turn->go_on(turn->userdata);
    }
    return 0;
}

int session_turns_init(struct session_turns *turns, sd_event *event, struct edl_error *error)
{
    int r = sd_event_add_post(event, &turns->source, on_pass, turns);

    if (r >= 0)
        r = sd_event_add_defer(event, &turns->poke, on_poke, turns);
    if (r >= 0) /* behind those that have something, which make a pass as well */
        r = sd_event_source_set_priority(turns->poke, SD_EVENT_PRIORITY_IDLE);
    if (r >= 0)
        r = sd_event_source_set_enabled(turns->poke, SD_EVENT_OFF);
    if (r >= 0)
        r = sd_event_source_set_enabled(turns->source, SD_EVENT_OFF);
    if (r < 0)
        return edl_error_errno(error, r, "cannot put the sessions on the event loop");
    (void)sd_event_source_set_description(turns->source, "sessions");
    return 0;
}

void session_turns_done(struct session_turns *turns)
{
    turns->source = sd_event_source_disable_unref(turns->source);
    turns->poke = sd_event_source_disable_unref(turns->poke);
}

bool session_turns_may(struct session_turns *turns, size_t bytes)
{
    uint64_t pass = 0;

    (void)sd_event_get_iteration(sd_event_source_get_event(turns->source), &pass);
    if (pass != turns->pass)
        turns->bytes = 0;
    turns->pass = pass;
    if (bytes > SESSION_LITTLE_BYTES && turns->bytes >= SESSION_PASS_BYTES)
        return false;
    turns->bytes += bytes;
    return true;
}

void session_turns_wait(struct session_turns *turns, struct session_turn *turn)
{
    if (turn->waits)
        return;
    turn->waits = true;
    DL_APPEND(turns->list, turn);
    arm(turns);
}

void session_turns_leave(struct session_turns *turns, struct session_turn *turn)
{
    if (!turn->waits)
        return;
    turn->waits = false;
    DL_DELETE(turns->list, turn);
    arm(turns);
}

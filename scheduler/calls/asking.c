/* SPDX-License-Identifier: Apache-2.0 */
/* asking.c - see asking.h
 *
 * The reading thread makes the reads of one asking at a time: those that were begun go on first, as
 * their rows take memory; the others take turns by their callers. */
#include "scheduler/calls/asking.h"

#include <errno.h>
#include <stdio.h>
#include <utlist.h>

#include "scheduler/calls/dispatch.h"
#include "scheduler/calls/fair.h"
#include "scheduler/scheduler.h"
#include "scheduler/store/store_asked.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/macro.h"

#define ROUNDS_MAX 2000 /* a page of folded arrays takes some for each of its jobs */
#define TRIES_BEFORE_HOLD 3

static const struct fair_limits limits = { .each = 256, .all = 8192 };

enum asking_state {
    ASKING_IDLE,
    ASKING_WAITING, /* its first round does, in its caller's turn */
    ASKING_BEGUN,   /* a further round waits */
    ASKING_READING,
    ASKING_READY, /* the end of the turn in flight is waited for, or a store */
};

struct asking {
    struct fair_item item;       /* first */
    struct scheduler *scheduler; /* borrowed */
    struct store_asked *memo;    /* owned */
    char caller[FAIR_NAME_MAX];
    asking_again_fn again;
    void *userdata;
    struct http_request *request; /* borrowed; NULL: it is of no request */
    enum asking_state state;
    bool postponed;            /* the request's handler ended with -EINPROGRESS */
    bool gone;                 /* its owner let go of it while it was read */
    bool about_archive, holds; /* the core lets go of no job for its sake */
    unsigned rounds, tries;
    uint64_t n_archived; /* askings.n_archived when it asked first */
    uint64_t n_answered; /* answered_keys.n_added then */
    uint64_t wall_us;
    size_t bytes;         /* counted in askings.bytes */
    struct asking *outer; /* around whose work this one's began */
    struct store_asked *outer_memo;
    struct asking *next, *prev;
};

static void count_bytes(struct asking *asking, size_t bytes)
{
    struct askings *askings = &asking->scheduler->askings;

    askings->bytes = askings->bytes - asking->bytes + bytes;
    asking->bytes = bytes;
}

static void forget(struct asking *asking)
{
    store_asked_forget(asking->memo);
    count_bytes(asking, 0);
}

static void release(struct asking *asking)
{
    asking->scheduler->askings.n_holding -= asking->holds;
    asking->holds = false;
}

/* Its work is over. */
static void reset(struct asking *asking)
{
    forget(asking);
    release(asking);
    asking->rounds = asking->tries = 0;
    asking->about_archive = asking->postponed = false;
}

/* --- the reading thread --- */

static void read_next(struct scheduler *scheduler);

static void destroy(struct asking *asking)
{
    reset(asking);
    asking->memo = store_asked_free(asking->memo);
    free(asking);
}

static void do_again(struct asking *asking)
{
    asking->state = ASKING_IDLE;
    asking->again(asking->userdata);
}

static void on_read(struct store_asked *memo, void *userdata)
{
    struct asking *asking = userdata;
    struct askings *askings = &asking->scheduler->askings;

    askings->reading = NULL;
    askings->n_rounds++;
    asking->memo = memo != NULL ? memo : store_asked_new();
    if (memo != NULL)
        read_next(asking->scheduler);
    if (asking->gone) {
        destroy(asking);
        return;
    }
    count_bytes(asking, store_asked_bytes(asking->memo));
    if (memo == NULL || turn_is_in_flight(asking->scheduler)) {
        asking->state = ASKING_READY;
        DL_APPEND(askings->ready, asking);
    } else {
        do_again(asking);
    }
}

static void read_next(struct scheduler *scheduler)
{
    struct askings *askings = &scheduler->askings;
    struct asking *asking = askings->begun;

    if (askings->reading != NULL || askings->waiting == NULL)
        return;
    if (asking != NULL)
        DL_DELETE(askings->begun, asking);
    else
        asking = (struct asking *)fair_take(askings->waiting, FAIR_ALL);
    if (asking == NULL)
        return;
    asking->state = ASKING_READING;
    askings->reading = asking;
    store_ask_send(scheduler->store, asking->memo, on_read, asking);
}

static int refuse_more(struct edl_error *error)
{
    (void)edl_error_set(error, EDL_ETOOMANY,
                        "as many calls as may be wait for the database already");
    return edl_error_remedy(error, "wait for some of their answers before asking for more");
}

static int check_bounds(const struct asking *asking, struct edl_error *error)
{
    if (!store_asked_wants(asking->memo) || asking->rounds >= ROUNDS_MAX)
        return edl_error_set(error, -EIO, "a call asked the database for nothing, or without end");
    if (asking->scheduler->askings.bytes <= STORE_ASKED_ALL_BYTES)
        return 0;
    (void)edl_error_set(error, -EAGAIN,
                        "the history that calls read takes as much memory as it may");
    return edl_error_remedy(error, "ask again in some seconds");
}

static int send(struct asking *asking, struct edl_error *error)
{
    struct askings *askings = &asking->scheduler->askings;
    int r = check_bounds(asking, error);

    if (r < 0)
        return r;
    if (asking->rounds > 0) {
        asking->state = ASKING_BEGUN;
        DL_APPEND(askings->begun, asking);
    } else if (fair_add(askings->waiting, asking->caller, FAIR_ANYTIME, &asking->item) ==
               FAIR_TAKEN) {
        asking->state = ASKING_WAITING;
    } else {
        return refuse_more(error);
    }
    asking->rounds++;
    read_next(asking->scheduler);
    return 0;
}

/* --- work --- */

struct asking *asking_new(struct scheduler *scheduler, const char *caller, asking_again_fn again,
                          void *userdata)
{
    struct asking *asking;

    if (!store_is_far(scheduler->store))
        return NULL;
    asking = xcalloc(1, sizeof *asking);
    asking->scheduler = scheduler;
    asking->memo = store_asked_new();
    asking->again = again;
    asking->userdata = userdata;
    (void)snprintf(asking->caller, sizeof asking->caller, "%s", caller);
    return asking;
}

struct asking *asking_free(struct asking *asking)
{
    if (asking == NULL)
        return NULL;
    switch (asking->state) {
    case ASKING_READING: /* on_read destroys it */
        asking->gone = true;
        release(asking);
        return NULL;
    case ASKING_WAITING:
        fair_remove(asking->scheduler->askings.waiting, &asking->item);
        break;
    case ASKING_BEGUN:
        DL_DELETE(asking->scheduler->askings.begun, asking);
        break;
    case ASKING_READY:
        DL_DELETE(asking->scheduler->askings.ready, asking);
        break;
    case ASKING_IDLE:
        break;
    }
    destroy(asking);
    return NULL;
}

bool asking_is_away(const struct asking *asking)
{
    return asking != NULL && asking->state != ASKING_IDLE;
}

/* A job that moved since may be neither in the core now nor in the archive that was read. The core
 * lets go of jobs with almost every turn where many end: after some tries it waits for this. */
static void look_at_moves(struct asking *asking)
{
    struct askings *askings = &asking->scheduler->askings;

    if (asking->about_archive && !store_asked_is_empty(asking->memo) &&
        asking->n_archived != askings->n_archived) {
        forget(asking);
        asking->tries++;
    }
    if (asking->tries == TRIES_BEFORE_HOLD && !asking->holds) {
        asking->holds = true;
        askings->n_holding++;
    }
}

void asking_begin(struct asking *asking)
{
    struct askings *askings;

    if (asking == NULL)
        return;
    askings = &asking->scheduler->askings;
    look_at_moves(asking);
    if (store_asked_is_empty(asking->memo)) {
        asking->n_archived = askings->n_archived;
        asking->n_answered = asking->scheduler->answered.n_added;
    }
    if (asking->rounds == 0)
        asking->wall_us = clock_instant().wall_us;
    asking->outer = askings->current;
    askings->current = asking;
    asking->outer_memo = store_ask_for(asking->scheduler->store, asking->memo);
}

bool asking_end(struct asking *asking, bool asks, struct edl_error *error)
{
    if (asking == NULL)
        return false;
    asking->scheduler->askings.current = asking->outer;
    (void)store_ask_for(asking->scheduler->store, asking->outer_memo);
    if (asks && send(asking, error) == 0)
        return true;
    reset(asking);
    return false;
}

void askings_note_archive(struct scheduler *scheduler)
{
    if (scheduler->askings.current != NULL)
        scheduler->askings.current->about_archive = true;
}

uint64_t askings_wall_us(const struct scheduler *scheduler)
{
    const struct asking *asking = scheduler->askings.current;

    return asking != NULL ? asking->wall_us : clock_instant().wall_us;
}

void askings_read_behind(struct scheduler *scheduler, uint64_t n)
{
    struct asking *asking = scheduler->askings.current;

    if (asking == NULL || asking->n_answered > n)
        return;
    forget(asking);
    asking->n_answered = scheduler->answered.n_added;
}

/* --- requests --- */

static void drop_kept(void *kept)
{
    (void)asking_free(kept);
}

static void handle_again(void *userdata)
{
    struct asking *asking = userdata;

    http_request_defer(asking->request, NULL, NULL);
    dispatch_again(asking->scheduler, asking->request);
}

struct asking *asking_request_begin(struct scheduler *scheduler, struct http_request *request)
{
    struct asking *asking;

    if (!store_is_far(scheduler->store))
        return NULL;
    asking = http_request_kept(request);
    if (asking == NULL) {
        asking = asking_new(scheduler, "", handle_again, NULL);
        asking->userdata = asking;
        asking->request = request;
        http_request_keep(request, asking, drop_kept);
    }
    asking_begin(asking);
    return asking;
}

bool asking_postpone(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    struct asking *current = scheduler->askings.current;

    if (current == NULL || current->request != request)
        return false;
    current->postponed = true;
    http_request_defer(request, NULL, NULL);
    return true;
}

void asking_request_end(struct scheduler *scheduler, struct http_request *request,
                        struct asking *asking)
{
    struct edl_error error = { 0 };
    bool postponed;

    if (asking == NULL)
        return;
    postponed = asking->postponed;
    asking->postponed = false;
    if (postponed && asking->caller[0] == '\0')
        dispatch_caller(scheduler, request, asking->caller);
    if (asking_end(asking, postponed, &error)) {
        http_request_again(request);
        http_request_watch(request);
        return;
    }
    http_request_keep(request, NULL, NULL);
    if (postponed)
        http_reply_error(request, &error);
}

bool asking_is_again(const struct http_request *request)
{
    return http_request_kept(request) != NULL;
}

/* --- all --- */

void askings_go_on(struct scheduler *scheduler)
{
    while (scheduler->askings.ready != NULL && !turn_is_in_flight(scheduler)) {
        struct asking *asking = scheduler->askings.ready;

        DL_DELETE(scheduler->askings.ready, asking);
        do_again(asking);
    }
    read_next(scheduler);
}

int askings_init(struct scheduler *scheduler, struct edl_error *error)
{
    (void)error;
    scheduler->askings.waiting = fair_new(&limits);
    return 0;
}

void askings_done(struct scheduler *scheduler)
{
    scheduler->askings.waiting = fair_free(scheduler->askings.waiting);
}

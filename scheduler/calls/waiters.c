/* SPDX-License-Identifier: Apache-2.0 */
/* waiters.c - long polls: requests that wait for news of a topic, or for their deadline
 *
 * Each waiter has a timer of its own on the loop (the loop keeps them in a heap). One whose client
 * leaves ends at once. */
#include "scheduler/calls/waiters.h"

#include <stdio.h>
#include <uthash.h>
#include <utlist.h>

#include "scheduler/accounts/auth.h"
#include "scheduler/calls/asking.h"
#include "scheduler/scheduler.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/macro.h"

/* A wait may be longer by this part, so that many end together: libmicrohttpd walks all requests
 * that wait whenever one of them is answered, and once for all that are answered in one turn. */
#define WAIT_SLACK_PART 100

struct waiter {
    struct dispatch_poll turn;   /* first; a look for news that waits for its turn */
    bool shares;                 /* it does: its topic is one of those that thousands wait on */
    char caller[FAIR_NAME_MAX];  /* whose turn that is */
    struct scheduler *scheduler; /* borrowed */
    struct topic *topic;         /* borrowed */
    struct held *held;           /* owned; NULL once answered */
    sd_event_source *timer;      /* owned */
    struct asking *asking;       /* owned; NULL: its looks read nothing of a database far away */
    bool last;                   /* its deadline came */
    bool news;                   /* there may be some since its reads were sent */
    bool due;                    /* it is in waiters.due */
    waiter_poll_fn poll;
    waiter_left_fn left;
    void *data; /* owned */
    struct waiter *next, *prev;
    struct waiter *due_next, *due_prev;
};

struct topic {
    char name[TOPIC_MAX];
    struct waiter *waiters; /* owned list */
    bool busy;              /* being walked: a waiter that is added meanwhile must not free it */
    UT_hash_handle hh;
};

static void waiter_free(struct waiter *waiter)
{
    dispatch_unpoll(waiter->scheduler, &waiter->turn);
    (void)sd_event_source_disable_unref(waiter->timer);
    waiter->asking = asking_free(waiter->asking);
    if (waiter->due)
        DL_DELETE2(waiter->scheduler->waiters.due, waiter, due_prev, due_next);
    free(waiter->data);
    free(waiter);
}

static void topic_release(struct waiters *waiters, struct topic *topic)
{
    if (topic->waiters != NULL || topic->busy)
        return;
    HASH_DEL(waiters->topics, topic);
    free(topic);
}

/* Whether its wait ends before there is news: nobody listens any more, or the waiting caller may no
 * more. */
static bool end_early(struct waiter *waiter)
{
    struct edl_error error = { 0 };

    if (waiter->held->request == NULL)
        held_reply_json(waiter->held, 0, NULL); /* only frees */
    else if (auth_recheck(waiter->scheduler, waiter->held->request, &error) < 0)
        held_reply_error(waiter->held, &error);
    else
        return false;
    return true;
}

/* look - whether it answered. One whose reads are not there is postponed: it holds its request as
 * before, and looks again when they are. */
static bool look(struct waiter *waiter)
{
    struct held *held = waiter->held;
    struct edl_error error = { 0 };
    bool postponed = false;
    bool done;

    held->postponed = &postponed;
    asking_begin(waiter->asking);
    done = waiter->poll(waiter->scheduler, held, waiter->data, waiter->last);
    if (!done || postponed)
        held->postponed = NULL;
    if (asking_end(waiter->asking, postponed, &error))
        return false;
    if (postponed)
        held_reply_error(held, &error);
    return done || postponed;
}

/* wait_for_turn - the core is ahead of the database: it looks behind the turn in flight */
static void wait_for_turn(struct waiter *waiter)
{
    if (!waiter->due)
        DL_APPEND2(waiter->scheduler->waiters.due, waiter, due_prev, due_next);
    waiter->due = true;
}

/* An answered request may live on until the commit, longer than its waiter. */
static bool poll_waiter(struct waiter *waiter, bool last)
{
    struct held *held = waiter->held;

    waiter->last |= last;
    if (turn_is_in_flight(waiter->scheduler)) {
        wait_for_turn(waiter);
        return false;
    }
    if (asking_is_away(waiter->asking)) {
        waiter->news = true;
        return false;
    }
    held->waiter = NULL;
    if (end_early(waiter) || look(waiter))
        return true;
    held->waiter = waiter;
    return false;
}

static void waiter_end(struct waiter *waiter)
{
    struct topic *topic = waiter->topic;
    struct waiters *waiters = &waiter->scheduler->waiters;

    DL_DELETE(topic->waiters, waiter);
    waiter_free(waiter);
    topic_release(waiters, topic);
}

static int on_deadline(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct waiter *waiter = userdata;

    (void)source;
    (void)usec;
    if (poll_waiter(waiter, true))
        waiter_end(waiter);
    return 0;
}

/* Its rows may be older than the news. */
static void on_rows(void *userdata)
{
    struct waiter *waiter = userdata;
    bool news = waiter->news;

    waiter->news = false;
    if (poll_waiter(waiter, false)) {
        waiter_end(waiter);
        return;
    }
    if (news && asking_is_away(waiter->asking))
        waiter->news = true; /* that was a further round of the same look */
    else if (news && poll_waiter(waiter, false))
        waiter_end(waiter);
}

static void on_turn(struct dispatch_poll *turn)
{
    struct waiter *waiter = (struct waiter *)turn;

    if (poll_waiter(waiter, false))
        waiter_end(waiter);
}

/* Topics of people, who read as long as they like, as many as they are. All else is polled at once:
 * orders of nodes, and things that are handed out within a turn (turn.c). */
static bool is_shared(const char *topic)
{
    static const char *const shared[] = { "events", "logs/", "service/" };

    for (size_t i = 0; i < ELEMENTS(shared); i++)
        if (strncmp(topic, shared[i], strlen(shared[i])) == 0)
            return true;
    return false;
}

static struct topic *topic_get(struct waiters *waiters, const char *name)
{
    struct topic *topic;

    HASH_FIND_STR(waiters->topics, name, topic);
    if (topic != NULL)
        return topic;
    topic = xcalloc(1, sizeof *topic);
    (void)snprintf(topic->name, sizeof topic->name, "%s", name);
    HASH_ADD_STR(waiters->topics, name, topic);
    return topic;
}

/* How a waiter looks for news. */
struct look {
    waiter_poll_fn poll;
    waiter_left_fn left;
    bool looked; /* once, before it was added: with rows that may be older than the last news */
};

static void add(struct scheduler *scheduler, struct held *take_held, const char *topic,
                uint64_t deadline_us, const struct look *how, void *take_data)
{
    struct waiter *waiter = xcalloc(1, sizeof *waiter);
    uint64_t now_us = clock_read_us(CLOCK_BOOTTIME);
    uint64_t wait_us = deadline_us > now_us ? deadline_us - now_us : 0;

    waiter->scheduler = scheduler;
    waiter->topic = topic_get(&scheduler->waiters, topic);
    waiter->held = take_held;
    waiter->poll = how->poll;
    waiter->left = how->left;
    waiter->data = take_data;
    waiter->turn.look = on_turn;
    waiter->shares = take_held->request != NULL && is_shared(topic);
    take_held->waiter = waiter;
    if (waiter->shares) {
        dispatch_caller(scheduler, take_held->request, waiter->caller);
        waiter->asking = asking_new(scheduler, waiter->caller, on_rows, waiter);
    }
    if (how->looked && waiter->asking != NULL)
        dispatch_poll(scheduler, waiter->caller, &waiter->turn);
    if (take_held->request != NULL)
        http_request_watch(take_held->request);
    DL_APPEND(waiter->topic->waiters, waiter);
    if (sd_event_add_time(scheduler->event, &waiter->timer, CLOCK_BOOTTIME, deadline_us,
                          MAX_OF(wait_us / WAIT_SLACK_PART, USEC_PER_MSEC), on_deadline,
                          waiter) < 0) {
        if (poll_waiter(waiter, true)) /* no timer, no wait */
            waiter_end(waiter);
    }
}

void waiters_add_watched(struct scheduler *scheduler, struct held *take_held, const char *topic,
                         uint64_t deadline_us, waiter_poll_fn poll, waiter_left_fn left,
                         void *take_data)
{
    add(scheduler, take_held, topic, deadline_us, &(struct look){ .poll = poll, .left = left },
        take_data);
}

void waiters_add_unpolled(struct scheduler *scheduler, struct held *take_held, const char *topic,
                          uint64_t deadline_us, waiter_poll_fn poll, void *take_data)
{
    waiters_add_watched(scheduler, take_held, topic, deadline_us, poll, NULL, take_data);
}

/* Never from inside a poll: a connection is closed by the HTTP server's own turn. */
void waiter_left(struct waiter *waiter)
{
    bool alone = waiter->topic->waiters->next == NULL;

    if (alone && waiter->left != NULL)
        waiter->left(waiter->scheduler, waiter->data);
    waiter->held->waiter = NULL;
    held_reply_json(waiter->held, 0, NULL); /* only frees */
    waiter_end(waiter);
}

void waiters_add(struct scheduler *scheduler, struct held *take_held, const char *topic,
                 uint64_t deadline_us, waiter_poll_fn poll, void *take_data)
{
    if (poll(scheduler, take_held, take_data, false))
        free(take_data);
    else
        add(scheduler, take_held, topic, deadline_us,
            &(struct look){ .poll = poll, .looked = true }, take_data);
}

static void notify(struct scheduler *scheduler, struct topic *topic, bool news)
{
    struct waiter *waiter, *next;

    if (topic->busy)
        return;
    topic->busy = true;
    DL_FOREACH_SAFE(topic->waiters, waiter, next)
    if (news && waiter->shares) {
        dispatch_poll(scheduler, waiter->caller, &waiter->turn);
    } else if (news ? poll_waiter(waiter, false) : end_early(waiter)) {
        DL_DELETE(topic->waiters, waiter);
        waiter_free(waiter);
    }
    topic->busy = false;
    topic_release(&scheduler->waiters, topic);
}

void waiters_notify(struct scheduler *scheduler, const char *topic_name)
{
    struct topic *topic;

    HASH_FIND_STR(scheduler->waiters.topics, topic_name, topic);
    if (topic != NULL)
        notify(scheduler, topic, true);
}

/* A poll may add topics, and one that is done goes: the names are what is gone through. */
static void notify_all(struct scheduler *scheduler, bool news)
{
    size_t n = HASH_COUNT(scheduler->waiters.topics);
    char(*names)[TOPIC_MAX] = xcalloc(n, sizeof *names);
    size_t i = 0;

    for (const struct topic *topic = scheduler->waiters.topics; topic != NULL;
         topic = topic->hh.next)
        (void)snprintf(names[i++], TOPIC_MAX, "%s", topic->name);
    for (i = 0; i < n; i++) {
        struct topic *topic;

        HASH_FIND_STR(scheduler->waiters.topics, names[i], topic);
        if (topic != NULL)
            notify(scheduler, topic, news);
    }
    free(names);
}

void waiters_notify_all(struct scheduler *scheduler)
{
    notify_all(scheduler, true);
}

void waiters_refuse_all(struct scheduler *scheduler, const struct edl_error *error)
{
    struct topic *topic, *next_topic;

    HASH_ITER(hh, scheduler->waiters.topics, topic, next_topic)
    {
        while (topic->waiters != NULL) {
            struct waiter *waiter = topic->waiters;

            waiter->held->waiter = NULL;
            held_reply_error(waiter->held, error);
            DL_DELETE(topic->waiters, waiter);
            waiter_free(waiter);
        }
        topic_release(&scheduler->waiters, topic);
    }
}

void waiters_recheck(struct scheduler *scheduler)
{
    notify_all(scheduler, false);
}

void waiters_go_on(struct scheduler *scheduler)
{
    struct waiters *waiters = &scheduler->waiters;
    struct waiter *waiter;
    size_t n = 0;

    DL_FOREACH2(waiters->due, waiter, due_next)
    n++;
    for (; n > 0 && (waiter = waiters->due) != NULL; n--) { /* a poll may end others */
        DL_DELETE2(waiters->due, waiter, due_prev, due_next);
        waiter->due = false;
        if (poll_waiter(waiter, false))
            waiter_end(waiter);
    }
}

void waiters_done(struct waiters *waiters)
{
    struct topic *topic, *next_topic;

    HASH_ITER(hh, waiters->topics, topic, next_topic)
    {
        struct waiter *waiter, *next;

        DL_FOREACH_SAFE(topic->waiters, waiter, next)
        {
            DL_DELETE(topic->waiters, waiter);
            held_reply_json(waiter->held, 0, NULL);
            waiter_free(waiter);
        }
        HASH_DEL(waiters->topics, topic);
        free(topic);
    }
}

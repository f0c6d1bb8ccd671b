/* SPDX-License-Identifier: Apache-2.0 */
/* outbox.c - see outbox.h */
#include "scheduler/notices/outbox.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#include <utlist.h>

#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/macro.h"

#define HOUR_US ((uint64_t)3600 * USEC_PER_SEC)

/* A user whose messages are counted: it may send again at full_us less the burst (GCRA). */
struct sender {
    uint64_t full_us;
    uint32_t n_messages, n_sending;
    UT_hash_handle hh; /* k: name, behind the struct */
    char name[];
};

/* The messages of a user to one target that are not gone; there is one at least. */
struct outbox_queue {
    struct outbox_message *messages; /* list by queue_next, the oldest first; borrowed */
    struct sender *sender;           /* borrowed */
    UT_hash_handle hh;               /* k: n bytes behind the struct */
    char key[];
};

struct outbox {
    struct outbox_message *messages; /* owned list, by number */
    struct outbox_queue *queues;     /* uthash; owned */
    struct sender *senders;          /* uthash; owned */
    size_t n_waiting, n_sending, n_bytes;
    bool has_changes;
    uint64_t last_id;
};

struct outbox *outbox_new(void)
{
    return xcalloc(1, sizeof(struct outbox));
}

static void message_free(struct outbox_message *message)
{
    free(message->user);
    free(message->target);
    free(message->notices);
    free(message);
}

struct outbox *outbox_free(struct outbox *outbox)
{
    struct outbox_message *message, *next;
    struct outbox_queue *queue, *next_queue;
    struct sender *sender, *next_sender;

    if (outbox == NULL)
        return NULL;
    DL_FOREACH_SAFE(outbox->messages, message, next)
    message_free(message);
    HASH_ITER(hh, outbox->queues, queue, next_queue)
    {
        HASH_DEL(outbox->queues, queue);
        free(queue);
    }
    HASH_ITER(hh, outbox->senders, sender, next_sender)
    {
        HASH_DEL(outbox->senders, sender);
        free(sender);
    }
    free(outbox);
    return NULL;
}

static struct sender *find_sender(const struct outbox *outbox, const char *user)
{
    struct sender *sender;

    HASH_FIND(hh, outbox->senders, user, strlen(user), sender);
    return sender;
}

static struct sender *sender_of(struct outbox *outbox, const char *user)
{
    struct sender *sender = find_sender(outbox, user);
    size_t n = strlen(user);

    if (sender != NULL)
        return sender;
    sender = xcalloc(1, sizeof *sender + n + 1);
    memcpy(sender->name, user, n + 1);
    HASH_ADD(hh, outbox->senders, name[0], n, sender);
    return sender;
}

/* forget_senders - those of whom nothing is known that counts */
static void forget_senders(struct outbox *outbox, uint64_t now_us)
{
    struct sender *sender, *next;

    HASH_ITER(hh, outbox->senders, sender, next)
    {
        if (sender->n_messages > 0 || sender->full_us > now_us)
            continue;
        HASH_DEL(outbox->senders, sender);
        free(sender);
    }
}

/* key_of - "mUSER\0TARGET", of *ret_n bytes; the caller's */
static char *key_of(enum notice_channel channel, const char *user, const char *target,
                    size_t *ret_n)
{
    size_t n_user = strlen(user) + 1, n_target = strlen(target);
    char *key = xcalloc(1, 1 + n_user + n_target);

    key[0] = channel == NOTICE_MAIL ? 'm' : 'w';
    memcpy(key + 1, user, n_user);
    memcpy(key + 1 + n_user, target, n_target);
    *ret_n = 1 + n_user + n_target;
    return key;
}

static struct outbox_queue *find_queue(const struct outbox *outbox, const char *key, size_t n)
{
    struct outbox_queue *queue;

    HASH_FIND(hh, outbox->queues, key, n, queue);
    return queue;
}

static struct outbox_queue *queue_of(struct outbox *outbox, const struct outbox_message *message)
{
    size_t n;
    _cleanup_free_ char *key = key_of(message->channel, message->user, message->target, &n);
    struct outbox_queue *queue = find_queue(outbox, key, n);

    if (queue != NULL)
        return queue;
    queue = xcalloc(1, sizeof *queue + n);
    memcpy(queue->key, key, n);
    queue->sender = sender_of(outbox, message->user);
    HASH_ADD(hh, outbox->queues, key[0], n, queue);
    return queue;
}

static void append(struct outbox *outbox, struct outbox_message *message)
{
    DL_APPEND(outbox->messages, message);
    message->queue = queue_of(outbox, message);
    DL_APPEND2(message->queue->messages, message, queue_prev, queue_next);
    message->queue->sender->n_messages++;
    outbox->n_waiting++;
    outbox->n_bytes += strlen(message->notices);
    outbox->last_id = MAX_OF(outbox->last_id, message->id);
}

void outbox_number_from(struct outbox *outbox, uint64_t last_id)
{
    outbox->last_id = MAX_OF(outbox->last_id, last_id);
}

void outbox_restore(struct outbox *outbox, const struct outbox_message *take_message)
{
    struct outbox_message *message = xcalloc(1, sizeof *message);

    *message = *take_message;
    message->next = message->prev = NULL;
    message->tried = true; /* it may have been */
    append(outbox, message);
}

void outbox_resume(struct outbox *outbox, uint64_t id)
{
    struct outbox_message *message = outbox_find(outbox, id);

    if (message == NULL)
        return;
    message->sending = true;
    message->queue->sender->n_sending++;
    outbox->n_sending++;
}

static void change(struct outbox *outbox, struct outbox_message *message)
{
    message->changed = true;
    outbox->has_changes = true;
}

static bool has_room(const struct outbox *outbox, const struct outbox_message *message)
{
    return (message == NULL || message->n_notices < OUTBOX_NOTICES_MAX) &&
           outbox->n_bytes < OUTBOX_BYTES;
}

static void join(struct outbox *outbox, struct outbox_message *message, const char *notice)
{
    size_t n = strlen(message->notices), more = strlen(notice);

    if (!has_room(outbox, message) || more == 0) {
        message->n_more++;
        return;
    }
    message->notices = xreallocarray(message->notices, n + more + 2, 1);
    memcpy(message->notices + n, notice, more);
    memcpy(message->notices + n + more, "\n", 2);
    message->n_notices++;
    outbox->n_bytes += more + 1;
}

/* gathering - the message that a notice joins; NULL: it needs one of its own */
static struct outbox_message *gathering(const struct outbox *outbox, enum notice_channel channel,
                                        const char *user, const char *target)
{
    size_t n;
    _cleanup_free_ char *key = key_of(channel, user, target, &n);
    const struct outbox_queue *queue = find_queue(outbox, key, n);
    struct outbox_message *last = queue != NULL ? queue->messages->queue_prev : NULL;

    return last != NULL && !last->tried ? last : NULL;
}

bool outbox_wants(const struct outbox *outbox, enum notice_channel channel, const char *user,
                  const char *target)
{
    return has_room(outbox, gathering(outbox, channel, user, target));
}

bool outbox_add(struct outbox *outbox, enum notice_channel channel, const char *user,
                const char *target, const char *notice, uint64_t now_wall_us)
{
    struct outbox_message *message = gathering(outbox, channel, user, target);
    const struct sender *sender = find_sender(outbox, user);

    if (message == NULL) {
        if (outbox->n_waiting >= OUTBOX_MAX ||
            (sender != NULL && sender->n_messages >= OUTBOX_USER_MAX))
            return false;
        message = xcalloc(1, sizeof *message);
        *message = (struct outbox_message){ .id = outbox->last_id + 1,
                                            .channel = channel,
                                            .user = xstrdup(user),
                                            .target = xstrdup(target),
                                            .notices = xstrdup(""),
                                            .made_wall_us = now_wall_us,
                                            .due_wall_us = now_wall_us };
        append(outbox, message);
    }
    join(outbox, message, notice);
    change(outbox, message);
    return true;
}

/* allowed_us - when its user may send one more; a further try of a message is none */
static uint64_t allowed_us(const struct outbox_message *message, const struct outbox_rules *rules)
{
    uint64_t full_us = message->queue->sender->full_us;
    uint64_t burst_us = rules->per_hour > 0 ? (OUTBOX_BURST - 1) * HOUR_US / rules->per_hour : 0;

    if (rules->per_hour == 0 || message->tries > 0 || full_us < burst_us)
        return 0;
    return full_us - burst_us;
}

/* ready_us - when the first message of a queue may be tried; UINT64_MAX: one is, or another ends
 * before */
static uint64_t ready_us(const struct outbox_queue *queue, const struct outbox_rules *rules)
{
    const struct outbox_message *first = queue->messages;

    if (first->sending || first->changed || queue->sender->n_sending >= OUTBOX_USER_AT_ONCE)
        return UINT64_MAX;
    return MAX_OF(first->due_wall_us, allowed_us(first, rules));
}

/* first_ready - the queue whose first message waits longest; one pass over all of them */
static struct outbox_queue *first_ready(const struct outbox *outbox,
                                        const struct outbox_rules *rules, uint64_t *ret_us)
{
    struct outbox_queue *first = NULL;

    *ret_us = UINT64_MAX;
    for (struct outbox_queue *queue = outbox->queues;
         queue != NULL && outbox->n_sending < OUTBOX_AT_ONCE; queue = queue->hh.next) {
        uint64_t us = ready_us(queue, rules);

        if (us >= *ret_us)
            continue;
        *ret_us = us;
        first = queue;
    }
    return first;
}

struct outbox_message *outbox_take(struct outbox *outbox, const struct outbox_rules *rules,
                                   uint64_t now_wall_us)
{
    uint64_t us;
    struct outbox_queue *queue = first_ready(outbox, rules, &us);
    struct outbox_message *message;

    if (queue == NULL || us > now_wall_us)
        return NULL;
    message = queue->messages;
    if (rules->per_hour > 0 && message->tries == 0)
        queue->sender->full_us =
            MAX_OF(queue->sender->full_us, now_wall_us) + HOUR_US / rules->per_hour;
    message->tried = message->sending = true;
    queue->sender->n_sending++;
    outbox->n_sending++;
    return message;
}

uint64_t outbox_next_us(const struct outbox *outbox, const struct outbox_rules *rules)
{
    uint64_t us;

    (void)first_ready(outbox, rules, &us);
    return us;
}

static void let_go(struct outbox *outbox, struct outbox_message *message)
{
    struct outbox_queue *queue = message->queue;

    DL_DELETE2(queue->messages, message, queue_prev, queue_next);
    queue->sender->n_messages--;
    message->queue = NULL;
    if (queue->messages == NULL) {
        HASH_DEL(outbox->queues, queue);
        free(queue);
    }
    message->gone = true;
    outbox->n_waiting--;
    outbox->n_bytes -= strlen(message->notices);
    change(outbox, message);
}

static void end_try(struct outbox *outbox, struct outbox_message *message)
{
    message->sending = false;
    message->queue->sender->n_sending--;
    outbox->n_sending--;
    message->tries++;
}

void outbox_sent(struct outbox *outbox, struct outbox_message *message)
{
    end_try(outbox, message);
    let_go(outbox, message);
}

uint64_t outbox_backoff_us(uint32_t tries)
{
    uint64_t s = OUTBOX_BACKOFF_S;

    for (uint32_t i = 1; i < tries && s < OUTBOX_BACKOFF_MOST_S; i++)
        s *= 2;
    return MIN_OF(s, (uint64_t)OUTBOX_BACKOFF_MOST_S) * USEC_PER_SEC;
}

bool outbox_failed(struct outbox *outbox, struct outbox_message *message,
                   const struct outbox_rules *rules, bool for_good, uint64_t now_wall_us)
{
    end_try(outbox, message);
    message->due_wall_us = now_wall_us + outbox_backoff_us(message->tries);
    if (for_good || message->tries >= rules->tries ||
        message->due_wall_us > message->made_wall_us + OUTBOX_AGE_S * USEC_PER_SEC) {
        let_go(outbox, message);
        return true;
    }
    change(outbox, message);
    return false;
}

struct outbox_message *outbox_find(const struct outbox *outbox, uint64_t id)
{
    struct outbox_message *message;

    DL_FOREACH(outbox->messages, message)
    if (message->id == id)
        return message;
    return NULL;
}

struct outbox_message *outbox_first(const struct outbox *outbox)
{
    return outbox->messages;
}

size_t outbox_waiting(const struct outbox *outbox)
{
    return outbox->n_waiting;
}

size_t outbox_sending(const struct outbox *outbox)
{
    return outbox->n_sending;
}

bool outbox_has_changes(const struct outbox *outbox)
{
    return outbox->has_changes;
}

void outbox_stored(struct outbox *outbox, uint64_t now_wall_us)
{
    struct outbox_message *message, *next;

    DL_FOREACH_SAFE(outbox->messages, message, next)
    {
        message->changed = false;
        if (!message->gone)
            continue;
        DL_DELETE(outbox->messages, message);
        message_free(message);
    }
    outbox->has_changes = false;
    forget_senders(outbox, now_wall_us);
}

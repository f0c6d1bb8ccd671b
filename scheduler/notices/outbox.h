/* SPDX-License-Identifier: Apache-2.0 */
/* outbox.h - messages that are to be sent: which is due, when it is tried again, the bounds; pure
 *
 * A message holds one notice or more of one user to one target. A notice joins the message to its
 * target that was never tried yet: while one is being sent, or its user has sent many, the others
 * gather in a single one. Once tried, a message never changes, so its number names its contents.
 * Of a user's messages to a target one is tried at a time, the oldest first.
 *
 * Bounds: notices, tries and age of a message; messages of a user, of all, in an hour, and at
 * once.
 *
 * Used by: notices.c, the store (struct stored_notice). Tests: tests/unit/test_outbox.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct outbox;

enum notice_channel { NOTICE_MAIL, NOTICE_WEBHOOK, NOTICE_CHANNELS };

#define OUTBOX_NOTICES_MAX 50           /* of one message; of more it has the number */
#define OUTBOX_USER_MAX 100             /* messages of a user */
#define OUTBOX_MAX 2000                 /* messages of all */
#define OUTBOX_BYTES ((size_t)16 << 20) /* of the notices of all */
#define OUTBOX_AT_ONCE 8                /* that are being sent */
#define OUTBOX_USER_AT_ONCE 2           /* of them, of one user */
#define OUTBOX_BURST 20                 /* messages of a user that come at once */
#define OUTBOX_AGE_S (24 * 3600)        /* then it is dropped */
#define OUTBOX_BACKOFF_S 10             /* after the first try; twice as long after each */
#define OUTBOX_BACKOFF_MOST_S 1800

struct outbox_rules {
    uint32_t tries;    /* of one message */
    uint32_t per_hour; /* messages of a user; 0: any number */
};

struct outbox_message {
    uint64_t id;
    enum notice_channel channel;
    char *user, *target; /* owned */
    char *notices;       /* owned: a line of JSON for each */
    uint32_t n_notices;  /* at most OUTBOX_NOTICES_MAX */
    uint32_t n_more;     /* that had no room */
    uint32_t tries;
    uint64_t made_wall_us, due_wall_us;
    bool tried;   /* it may be on its way, or have come: it does not change any more */
    bool sending; /* now */
    bool gone;    /* it is over, and kept until that is stored */
    bool changed; /* since it was stored */
    struct outbox_message *next, *prev; /* of all, by number */
    /* the outbox's own */
    struct outbox_queue *queue; /* borrowed */
    struct outbox_message *queue_next, *queue_prev;
};

struct outbox *outbox_new(void);
struct outbox *outbox_free(struct outbox *outbox); /* accepts NULL; returns NULL */

/* outbox_number_from - the next message has a higher number than that */
void outbox_number_from(struct outbox *outbox, uint64_t last_id);

/* outbox_restore - a message of a run before, in the order of their numbers: takes its texts */
void outbox_restore(struct outbox *outbox, const struct outbox_message *take_message);

/* outbox_resume - a message, if it is there, is still being sent: it was when it was restored */
void outbox_resume(struct outbox *outbox, uint64_t id);

/* outbox_add - a notice, one line of JSON. false: there is no room for a message of that user */
bool outbox_add(struct outbox *outbox, enum notice_channel channel, const char *user,
                const char *target, const char *notice, uint64_t now_wall_us);

/* outbox_wants - what such a notice says would be kept: else outbox_add takes "" as well, and it is
 * a number alone */
bool outbox_wants(const struct outbox *outbox, enum notice_channel channel, const char *user,
                  const char *target);

/* outbox_take - one that is to be sent now, and is being sent from then on; NULL: none is, or
 * enough are. Only messages whose contents are stored are given */
struct outbox_message *outbox_take(struct outbox *outbox, const struct outbox_rules *rules,
                                   uint64_t now_wall_us);

/* outbox_next_us - when outbox_take may give one; UINT64_MAX: not before something changes */
uint64_t outbox_next_us(const struct outbox *outbox, const struct outbox_rules *rules);

/* outbox_sent, outbox_failed - how the try of a message ended. for_good: no try helps. Failed
 * returns true: it was the last one, and the message is dropped */
void outbox_sent(struct outbox *outbox, struct outbox_message *message);
bool outbox_failed(struct outbox *outbox, struct outbox_message *message,
                   const struct outbox_rules *rules, bool for_good, uint64_t now_wall_us);

/* outbox_backoff_us - between so many tries and the next */
uint64_t outbox_backoff_us(uint32_t tries);

/* outbox_find - NULL: there is none of that number */
struct outbox_message *outbox_find(const struct outbox *outbox, uint64_t id);

/* outbox_first - of all of them, in a list by next, those that are gone included */
struct outbox_message *outbox_first(const struct outbox *outbox);

/* outbox_waiting - messages that are not gone; outbox_sending - of them, now */
size_t outbox_waiting(const struct outbox *outbox);
size_t outbox_sending(const struct outbox *outbox);

/* outbox_has_changes - something is to be stored. outbox_stored - it is */
bool outbox_has_changes(const struct outbox *outbox);
void outbox_stored(struct outbox *outbox, uint64_t now_wall_us);

/* SPDX-License-Identifier: Apache-2.0 */
/* notices.h - owners are told of their jobs: from the core's effects to mails and webhooks
 *
 * The core says what is due (EFFECT_NOTICE). The turn that commits a job's end stores the message
 * about it as well, so no kill of the scheduler loses one. Behind the commit threads send it. Each
 * result comes back as an event of the loop, and is stored with a later turn. A kill between the
 * two sends a message again, with the same number. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "scheduler/notices/outbox.h"

struct edl_error;
struct job_spec;
struct notices;
struct scheduler;
struct stored_notice;
struct turn_records;

/* Figures for operators; of this run. */
struct notice_figures {
    uint64_t sent[NOTICE_CHANNELS];   /* messages */
    uint64_t failed[NOTICE_CHANNELS]; /* messages that were given up */
    uint64_t tries_failed[NOTICE_CHANNELS];
    uint64_t dropped; /* notices for which there was no room, or no mailer */
    uint64_t waiting, sending;
};

/* notices_new - the loop is there; nothing is sent before notices_go. notices_free - ends what is
 * being sent; accepts NULL; returns NULL */
int notices_new(struct scheduler *scheduler, struct notices **ret, struct edl_error *error);
struct notices *notices_free(struct notices *notices);

/* notices_pause - no result of a message comes back until it ends */
void notices_pause(struct notices *notices, bool pause);

/* notices_load - the messages that are stored, in the place of those in memory */
int notices_load(struct scheduler *scheduler, struct edl_error *error);

/* notices_gather - before a turn's effects are read for its commit: what they tell of becomes
 * messages. It may add events to them */
void notices_gather(struct scheduler *scheduler);

/* notices_seal - the messages that changed, for the commit; the caller frees the array. They borrow
 * their texts. notices_stored - they are on disk */
struct stored_notice *notices_seal(struct scheduler *scheduler, size_t *ret_n);
void notices_stored(struct scheduler *scheduler);

/* notices_check - of a document that is submitted: -EACCES where its webhook can be seen not to be
 * allowed; its place is set */
int notices_check(const struct scheduler *scheduler, const struct job_spec *spec,
                  struct edl_error *error);

/* notices_note - adds to the notes for a submitter what keeps the notices of its job from being
 * sent */
void notices_note(const struct scheduler *scheduler, const struct job_spec *spec, json_t *notes);

void notices_figures(const struct scheduler *scheduler, struct notice_figures *ret);

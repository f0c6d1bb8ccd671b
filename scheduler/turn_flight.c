/* SPDX-License-Identifier: Apache-2.0 */
/* turn_flight.c - see turn_flight.h */
#include "scheduler/turn_flight.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "scheduler/core/core.h"
#include "shared/clock.h"
#include "shared/macro.h"
#include "shared/text_format.h"

#define PATIENCE_LEAST_US (50 * USEC_PER_MSEC)
#define PATIENCE_PART_OF_LEASE 10

/* Where turns follow each other without a pause, a report is taken only behind one that it waits
 * for. A single turn that took long says nothing of the next. */
uint64_t flight_patience_us(const uint64_t took_us[2], uint64_t lease_us)
{
    uint64_t usual_us = MIN_OF(took_us[0], took_us[1]);

    return MAX_OF(MIN_OF(2 * usual_us, lease_us / PATIENCE_PART_OF_LEASE),
                  (uint64_t)PATIENCE_LEAST_US);
}

static void note_event(struct event_line *line, const struct effect *effect)
{
    line->subject = (struct log_subject){ .message = message_by_name(effect->event),
                                          .job = effect->job != NULL ? effect->job->id : 0,
                                          .node = line->node };
    (void)snprintf(line->node, sizeof line->node, "%s", effect->name);
    if (effect->id > 0) {
        (void)snprintf(line->role, sizeof line->role, "%s",
                       effect->job->spec->roles[effect->role].name);
        line->subject.role = line->role;
        line->subject.index = effect->index;
        line->subject.incarnation = effect->id;
    }
    if (effect->job != NULL)
        line->text = text_format("%s: job %s (%" PRIu64 "): %s", effect->event,
                                 effect->job->spec->name, effect->job->id, effect->text);
    else
        line->text = text_format("%s: %s%s%s", effect->event, effect->name,
                                 effect->name[0] != '\0' ? ": " : "", effect->text);
}

static void note_topic(struct turn_flight *flight, const struct effect *effect)
{
    char *topic = flight->notices[flight->n_notices].topic;

    if (effect->kind == EFFECT_ORDERS)
        (void)snprintf(topic, TOPIC_MAX, "orders/%s", effect->node->name);
    else if (effect_saves_job(effect)) /* an ended job ends its `logs --follow` */
        (void)snprintf(topic, TOPIC_MAX, "logs/%" PRIu64, effect->job->id);
    else if (effect->kind == EFFECT_MEMBERSHIP)
        (void)snprintf(topic, TOPIC_MAX, "service/%s", effect->job->spec->name);
    flight->n_notices += topic[0] != '\0';
}

void turn_flight_note(struct turn_flight *flight)
{
    const struct effect *effects = flight->records.effects;
    size_t n = flight->records.n_effects, n_events = 0;

    for (size_t i = 0; i < n; i++)
        n_events += effects[i].kind == EFFECT_EVENT;
    flight->notices = xcalloc(n + 1, sizeof *flight->notices);
    flight->lines = xcalloc(n_events, sizeof *flight->lines);
    for (size_t i = 0; i < n; i++)
        if (effects[i].kind == EFFECT_EVENT)
            note_event(&flight->lines[flight->n_lines++], &effects[i]);
        else
            note_topic(flight, &effects[i]);
    if (n_events > 0)
        (void)snprintf(flight->notices[flight->n_notices++].topic, TOPIC_MAX, "events");
}

void turn_flight_log(const struct turn_flight *flight)
{
    log_hold();
    for (size_t i = 0; i < flight->n_lines; i++)
        log_entry(LOG_LEVEL_INFO, &flight->lines[i].subject, "%s", flight->lines[i].text);
    log_release();
}

void turn_flight_sent(struct turn_flight *flight)
{
    free(flight->answers);
    free(flight->tokens);
    free(flight->stored_notices);
    flight->answers = NULL;
    flight->tokens = NULL;
    flight->stored_notices = NULL;
}

struct turn_flight *turn_flight_free(struct turn_flight *flight)
{
    if (flight == NULL)
        return NULL;
    turn_flight_sent(flight);
    for (size_t i = 0; i < flight->n_lines; i++)
        free(flight->lines[i].text);
    free(flight->lines);
    free(flight->notices);
    free(flight);
    return NULL;
}

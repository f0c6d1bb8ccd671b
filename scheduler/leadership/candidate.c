/* SPDX-License-Identifier: Apache-2.0 */
/* candidate.c - see candidate.h
 *
 *   idle --candidate_start--> opening --waits--> leading --leads--> idle
 *                               ^------- pause <---failed---'
 *
 * Each arrow to the right is a job of the thread (worker.h). A job holds what it needs as copies:
 * when the process ends while a connection hangs, it is left to itself. */
#include "scheduler/leadership/candidate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "scheduler/store/store.h"
#include "scheduler/worker.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"

#define PAUSE_US (250 * USEC_PER_MSEC)
#define PAUSE_HOPELESS_US (2 * USEC_PER_SEC) /* somebody has to do something first */
#define AUTHORITY_BYTES 128

struct candidate {
    struct candidate_config config;
    struct worker *worker;  /* owned */
    sd_event_source *pause; /* owned */
    struct try *try;        /* the thread's while it runs; NULL: none does */
};

/* A job that the thread may keep when its candidate is no more. */
struct
try {
    struct worker_job job;       /* first */
    struct candidate *candidate; /* of the loop alone */
    const struct shared_database *database;
    char url[STORE_URL_MAX], name[SCHEDULER_NAME_MAX + 1], address[SCHEDULER_ADDRESS_MAX];
    char authority[AUTHORITY_BYTES];
    uint64_t least_term, known_term;
    atomic_bool give_up;
    /* the result */
    struct store *store; /* owned */
    uint64_t term, sent_us;
    int64_t clock_ahead_us;
    int r;
    struct edl_error error;
};

/* --- in the thread --- */

static struct shared_self self_of(const struct try *try)
{
    return (struct shared_self){ .name = try->name,
                                 .address = try->address,
                                 .authority = try->authority,
                                 .least_term = try->least_term,
                                 .known_term = try->known_term };
}

static void run_open(struct worker_job *job)
{
    struct try *try = (struct try *)job;
    struct shared_self self = self_of(try);

    try->r = try->database->open(try->url, &self, &try->store, &try->error);
    if (atomic_load(&try->give_up))
        try->store = store_free(try->store);
}

static void run_lead(struct worker_job *job)
{
    struct try *try = (struct try *)job;
    struct shared_self self = self_of(try);

    try->r = try->database->lead(try->store, &self, &try->give_up, &try->term, &try->clock_ahead_us,
                                 &try->error);
    try->sent_us = clock_read_us(CLOCK_BOOTTIME);
    if (try->r == 0)
        try->r = store_probe(try->store, &try->error);
    if (try->r < 0 || atomic_load(&try->give_up))
        try->store = store_free(try->store);
}

/* --- in the loop --- */

static bool is_hopeless(int code)
{
    return code != -ENOTCONN && code != -EAGAIN && code != -ESTALE;
}

static void fail(struct candidate *candidate, const struct edl_error *why)
{
    (void)sd_event_source_set_time_relative(candidate->pause,
                                            is_hopeless(why->code) ? PAUSE_HOPELESS_US : PAUSE_US);
    (void)sd_event_source_set_enabled(candidate->pause, SD_EVENT_ONESHOT);
    candidate->config.failed(why, candidate->config.userdata);
}

static void on_led(struct worker_job *job)
{
    struct try *try = (struct try *)job;
    struct candidate *candidate = try->candidate;
    const struct edl_error error = try->error;
    const struct lead lead = { try->store, try->term, try->sent_us, try->clock_ahead_us };
    int r = try->r;

    candidate->try = NULL;
    free(try);
    if (r == 0)
        candidate_know(candidate, lead.term);
    if (r < 0)
        fail(candidate, &error);
    else
        candidate->config.leads(&lead, candidate->config.userdata);
}

static void on_open(struct worker_job *job)
{
    struct try *try = (struct try *)job;
    struct candidate *candidate = try->candidate;

    if (try->r < 0) {
        on_led(job);
        return;
    }
    try->job = (struct worker_job){ .run = run_lead, .done = on_led };
    candidate->config.waits(candidate->config.userdata);
    worker_start(candidate->worker, &try->job);
}

static void begin(struct candidate *candidate)
{
    const struct candidate_config *config = &candidate->config;
    struct try *try = xcalloc(1, sizeof *try);

    try->job = (struct worker_job){ .run = run_open, .done = on_open };
    try->candidate = candidate;
    try->database = config->database;
    (void)snprintf(try->url, sizeof try->url, "%s", config->url);
    (void)snprintf(try->name, sizeof try->name, "%s", config->self.name);
    (void)snprintf(try->address, sizeof try->address, "%s", config->self.address);
    (void)snprintf(try->authority, sizeof try->authority, "%s", config->self.authority);
    try->least_term = config->self.least_term;
    try->known_term = config->self.known_term;
    candidate->try = try;
    worker_start(candidate->worker, &try->job);
}

static int on_pause(sd_event_source *source, uint64_t usec, void *userdata)
{
    (void)source;
    (void)usec;
    candidate_start(userdata);
    return 0;
}

void candidate_climb(struct candidate *candidate, uint64_t least_term)
{
    candidate->config.self.least_term = MAX_OF(candidate->config.self.least_term, least_term);
}

void candidate_know(struct candidate *candidate, uint64_t term)
{
    candidate->config.self.known_term = MAX_OF(candidate->config.self.known_term, term);
}

void candidate_start(struct candidate *candidate)
{
    if (candidate->try == NULL)
        begin(candidate);
}

int candidate_new(sd_event *event, const struct candidate_config *config, struct candidate **ret,
                  struct edl_error *error)
{
    struct candidate *candidate = xcalloc(1, sizeof *candidate);
    int r = worker_new(event, "edl-candidate", &candidate->worker, error);

    if (r == 0) {
        r = sd_event_add_time(event, &candidate->pause, CLOCK_MONOTONIC, 0, 1, on_pause, candidate);
        if (r >= 0)
            r = sd_event_source_set_enabled(candidate->pause, SD_EVENT_OFF);
        if (r < 0)
            (void)edl_error_errno(error, r, "the event loop");
    }
    candidate->config = *config;
    if (r == 0)
        *ret = candidate;
    else
        (void)candidate_free(candidate);
    return r;
}

struct candidate *candidate_free(struct candidate *candidate)
{
    if (candidate == NULL)
        return NULL;
    if (candidate->try != NULL)
        atomic_store(&candidate->try->give_up, true);
    candidate->worker = worker_abandon(candidate->worker);
    (void)sd_event_source_disable_unref(candidate->pause);
    free(candidate);
    return NULL;
}

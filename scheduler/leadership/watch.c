/* SPDX-License-Identifier: Apache-2.0 */
/* watch.c - see watch.h
 *
 * A look is a job of the thread. The connection goes with the job from look to look, so that no two
 * hold it; a look that failed has closed it. */
#include "scheduler/leadership/watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/store/engine.h"
#include "scheduler/worker.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"

#define WORKER_NAME "edl-watch"
#define EVERY_US USEC_PER_SEC
#define ACCURACY_US (50 * USEC_PER_MSEC)

struct watch {
    struct watch_config config;
    sd_event *event;        /* owned */
    struct worker *worker;  /* owned */
    sd_event_source *timer; /* owned */
    struct engine *engine;  /* owned; NULL: the look that runs has it, or there is none */
    char forget[SCHEDULERS_MAX][SCHEDULER_NAME_MAX + 1]; /* until a look has done it */
    size_t n_forget;
    uint64_t term; /* the highest that a look found */
    bool tells;
    struct look *look; /* the thread's; NULL: none runs */
};

/* Its thread may keep it when its watch is no more. */
struct look {
    struct worker_job job; /* first */
    struct watch *watch;   /* of the loop alone */
    const struct shared_database *database;
    char url[STORE_URL_MAX], name[SCHEDULER_NAME_MAX + 1], address[SCHEDULER_ADDRESS_MAX];
    char forget[SCHEDULER_NAME_MAX + 1];
    atomic_bool give_up;
    struct engine *engine; /* owned */
    int r;
    struct edl_error error;
    struct shared_facts facts;
};

/* --- in the thread --- */

static void run(struct worker_job *job)
{
    struct look *look = (struct look *)job;
    struct shared_self self = {
        .name = look->name, .address = look->address, .authority = "", .forget = look->forget
    };

    look->r = 0;
    if (look->engine == NULL)
        look->r = look->database->open_reader(look->url, &look->engine, &look->error);
    if (look->r == 0)
        look->r = look->database->look(look->engine, &self, &look->facts, &look->error);
    if (look->r < 0 || atomic_load(&look->give_up))
        look->engine = engine_close(look->engine);
}

/* drop - of one whose watch was renewed meanwhile */
static void drop(struct worker_job *job)
{
    struct look *look = (struct look *)job;

    (void)engine_close(look->engine);
    free(look);
}

/* --- in the loop --- */

static void forgotten(struct watch *watch, const char *name)
{
    for (size_t i = 0; i < watch->n_forget; i++)
        if (streq(watch->forget[i], name)) {
            watch->n_forget--;
            memmove(watch->forget[i], watch->forget[i + 1],
                    (watch->n_forget - i) * sizeof watch->forget[0]);
            return;
        }
}

static void done(struct worker_job *job)
{
    struct look *look = (struct look *)job;
    struct watch *watch = look->watch;

    watch->engine = look->engine;
    watch->look = NULL;
    if (look->r == 0 && look->facts.term < watch->term) /* a former server: the next look seeks */
        watch->engine = engine_close(watch->engine);
    watch->term = MAX_OF(watch->term, look->r == 0 ? look->facts.term : 0);
    if (look->r == 0 && look->forget[0] != '\0')
        forgotten(watch, look->forget);
    watch->config.told(look->r == 0 ? &look->facts : NULL, &look->error, watch->config.userdata);
    free(look);
}

void watch_tell(struct watch *watch, bool tells)
{
    watch->tells = tells;
}

void watch_ask(struct watch *watch)
{
    const struct watch_config *config = &watch->config;
    struct look *look;

    if (watch->look != NULL)
        return;
    look = xcalloc(1, sizeof *look);
    look->job = (struct worker_job){ .run = run, .done = done, .drop = drop };
    look->watch = watch;
    look->database = config->database;
    look->engine = TAKE_PTR(watch->engine);
    (void)snprintf(look->url, sizeof look->url, "%s", config->url);
    (void)snprintf(look->name, sizeof look->name, "%s", watch->tells ? config->self.name : "");
    (void)snprintf(look->address, sizeof look->address, "%s", config->self.address);
    if (watch->n_forget > 0)
        (void)snprintf(look->forget, sizeof look->forget, "%s", watch->forget[0]);
    watch->look = look;
    worker_start(watch->worker, &look->job);
}

void watch_renew(struct watch *watch)
{
    struct worker *worker = NULL;

    if (watch->look != NULL && worker_new(watch->event, WORKER_NAME, &worker, NULL) == 0) {
        atomic_store(&watch->look->give_up, true);
        watch->look = NULL; /* it ends with its worker, once its server says something */
        (void)worker_abandon(watch->worker);
        watch->worker = worker;
    }
    watch->engine = engine_close(watch->engine);
    watch_ask(watch);
}

void watch_forget(struct watch *watch, const char *name)
{
    forgotten(watch, name); /* once is enough */
    if (watch->n_forget < ELEMENTS(watch->forget))
        (void)snprintf(watch->forget[watch->n_forget++], sizeof watch->forget[0], "%s", name);
    watch_ask(watch);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct watch *watch = userdata;

    (void)usec;
    (void)sd_event_source_set_time_relative(source, EVERY_US);
    watch_ask(watch);
    return 0;
}

int watch_new(sd_event *event, const struct watch_config *config, struct watch **ret,
              struct edl_error *error)
{
    struct watch *watch = xcalloc(1, sizeof *watch);
    int r = worker_new(event, WORKER_NAME, &watch->worker, error);

    if (r == 0) {
        r = sd_event_add_time_relative(event, &watch->timer, CLOCK_MONOTONIC, EVERY_US, ACCURACY_US,
                                       on_timer, watch);
        if (r >= 0)
            r = sd_event_source_set_enabled(watch->timer, SD_EVENT_ON);
        if (r < 0)
            (void)edl_error_errno(error, r, "the event loop");
    }
    watch->event = sd_event_ref(event);
    watch->config = *config;
    if (r < 0)
        (void)watch_free(watch);
    else
        *ret = watch;
    return MIN_OF(r, 0);
}

struct watch *watch_free(struct watch *watch)
{
    if (watch == NULL)
        return NULL;
    if (watch->look != NULL)
        atomic_store(&watch->look->give_up, true);
    watch->worker = worker_abandon(watch->worker);
    watch->engine = engine_close(watch->engine);
    (void)sd_event_source_disable_unref(watch->timer);
    (void)sd_event_unref(watch->event);
    free(watch);
    return NULL;
}

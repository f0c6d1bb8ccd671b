/* SPDX-License-Identifier: Apache-2.0 */
/* workspaces.c - starts that wait for their workspace, and the removal of copies that were left
 *
 * One sweep runs at a time, and one more behind it when something ended meanwhile. Its end is seen
 * by its pidfd. An agent that dies leaves a sweep that ends by itself, and the next agent begins
 * with one. */
#include "agent/workspaces.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utlist.h>

#include "agent/errand.h"
#include "agent/layout.h"
#include "agent/link.h"
#include "agent/order_workspace.h"
#include "agent/workspace_cache.h"
#include "agent/workspace_sweep.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/workspace_id.h"

#define RETRY_US USEC_PER_SEC
#define LATER_US (3600 * USEC_PER_SEC)
#define LATER_ACCURACY_US (100 * USEC_PER_MSEC)

/* A start that waits. */
struct waiting {
    struct workspaces *workspaces; /* borrowed */
    struct process_id id;
    json_t *order; /* reference */
    struct workspace_wait *wait;
    struct waiting *prev, *next; /* utlist */
};

struct workspaces {
    struct workspaces_config config;
    struct workspace_cache *cache; /* owned */
    struct waiting *waiting;       /* owned */
    sd_event_source *sweep;        /* owned; NULL: none runs */
    sd_event_source *later;        /* owned; the next sweep, when copies are kept */
    int pidfd;
    bool again; /* one more when it has ended */
};

/* ---- starts ---- */

static int call(const struct http_call *http_call, http_answer_fn on_answer, void *call_userdata,
                struct http_async_call **ret_call, struct edl_error *error, void *userdata)
{
    struct workspaces *w = userdata;

    return link_call(w->config.link, http_call, on_answer, call_userdata, ret_call, error);
}

static void waiting_free(struct waiting *waiting)
{
    DL_DELETE(waiting->workspaces->waiting, waiting);
    json_decref(waiting->order);
    free(waiting);
}

static void on_ready(const struct edl_error *why, void *userdata)
{
    struct waiting *waiting = userdata;
    const struct workspaces_config *config = &waiting->workspaces->config;
    struct process_id id = waiting->id;
    json_t *order = json_incref(waiting->order);

    waiting_free(waiting);
    config->ready(&id, order, why, config->userdata);
    json_decref(order);
}

bool workspaces_await(struct workspaces *w, const struct process_id *id, json_t *order)
{
    const char *hex = workspace_hash(order_archive(order));
    struct waiting *waiting;

    if (hex == NULL || workspace_cache_has(w->cache, hex))
        return false;
    waiting = xcalloc(1, sizeof *waiting);
    waiting->workspaces = w;
    waiting->id = *id;
    waiting->order = json_incref(order);
    DL_APPEND(w->waiting, waiting);
    waiting->wait = workspace_cache_wait(w->cache, hex, id, on_ready, waiting);
    return true;
}

bool workspaces_cancel(struct workspaces *w, const struct process_id *id)
{
    struct waiting *waiting;

    DL_FOREACH(w->waiting, waiting)
    if (process_id_equal(&waiting->id, id))
        break;
    if (waiting == NULL)
        return false;
    (void)workspace_wait_cancel(waiting->wait);
    waiting_free(waiting);
    return true;
}

/* ---- sweeps ---- */

static int on_later(sd_event_source *source, uint64_t usec, void *userdata)
{
    (void)source;
    (void)usec;
    workspaces_sweep_soon(userdata);
    return 0;
}

/* sweep_later - the time of what is kept ends by itself: it is looked at once an hour, or sooner
 * where it is shorter */
static void sweep_later(struct workspaces *w)
{
    uint64_t delay_us = MIN_OF(w->config.kept.keep_us, LATER_US);

    (void)sd_event_source_set_time_relative(w->later, MAX_OF(delay_us, USEC_PER_SEC));
    (void)sd_event_source_set_enabled(w->later, SD_EVENT_ONESHOT);
}

static int on_swept(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct workspaces *w = userdata;
    siginfo_t info = { 0 };

    (void)source;
    (void)revents;
    (void)waitid(P_PIDFD, (id_t)fd, &info, WEXITED);
    w->sweep = sd_event_source_disable_unref(w->sweep);
    w->pidfd = safe_close(w->pidfd);
    if (info.si_code == CLD_EXITED && info.si_status == SWEEP_KEEPS)
        sweep_later(w);
    if (w->again)
        workspaces_sweep_soon(w);
    return 0;
}

void workspaces_sweep_soon(struct workspaces *w)
{
    const struct layout *layout = w->config.layout;
    _cleanup_free_ char *program = text_format("%s/edl-workspace", layout->program_dir);
    char keep[24], most[24];
    const char *argv[] = { program, "sweep", layout->copies_dir, layout->processes_dir, keep,
                           most,    NULL };

    w->again = w->sweep != NULL;
    if (w->again)
        return;
    (void)snprintf(keep, sizeof keep, "%llu", (unsigned long long)w->config.kept.keep_us);
    (void)snprintf(most, sizeof most, "%llu", (unsigned long long)w->config.kept.max_bytes);
    w->sweep = errand_start(w->config.event, argv, on_swept, w, &w->pidfd);
    if (w->sweep == NULL)
        log_error("copies of workspaces stay");
}

void workspaces_set_bounds(struct workspaces *w, uint64_t max_bytes, const struct kept_bounds *kept)
{
    workspace_cache_set_max(w->cache, max_bytes);
    w->config.kept = *kept;
    if (access(w->config.layout->copies_dir, F_OK) == 0)
        workspaces_sweep_soon(w);
}

struct workspaces *workspaces_new(const struct workspaces_config *config)
{
    struct workspaces *w = xcalloc(1, sizeof *w);

    w->config = *config;
    w->pidfd = -1;
    w->cache =
        workspace_cache_new(&(struct workspace_cache_config){ .event = config->event,
                                                              .dir = config->layout->archives_dir,
                                                              .max_bytes = config->max_bytes,
                                                              .call = call,
                                                              .userdata = w,
                                                              .retry_us = RETRY_US });
    if (sd_event_add_time(config->event, &w->later, CLOCK_BOOTTIME, 0, LATER_ACCURACY_US, on_later,
                          w) >= 0)
        (void)sd_event_source_set_enabled(w->later, SD_EVENT_OFF);
    if (access(config->layout->copies_dir, F_OK) == 0)
        workspaces_sweep_soon(w);
    return w;
}

struct workspaces *workspaces_free(struct workspaces *w)
{
    if (w == NULL)
        return NULL;
    while (w->waiting != NULL) {
        (void)workspace_wait_cancel(w->waiting->wait);
        waiting_free(w->waiting);
    }
    (void)workspace_cache_free(w->cache);
    (void)sd_event_source_disable_unref(w->sweep);
    (void)sd_event_source_disable_unref(w->later);
    (void)safe_close(w->pidfd);
    free(w);
    return NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* workspaces.c - starts that wait for their workspace, and the removal of copies that were left
 *
 * One sweep runs at a time, and one more behind it when something ended meanwhile. Its end is seen
 * by its pidfd. An agent that dies leaves a sweep that ends by itself, and the next agent begins
 * with one. */
#include "agent/machine/node_clock.h"
#include "agent/workspace/workspaces.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utlist.h>

#include "agent/processes/errand.h"
#include "agent/layout.h"
#include "agent/link/link.h"
#include "agent/workspace/order_workspace.h"
#include "agent/workspace/workspace_cache.h"
#include "agent/workspace/workspace_sweep.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/parse.h"
#include "shared/workspace_id.h"

#define RETRY_US USEC_PER_SEC
#define LATER_US (3600 * USEC_PER_SEC)
#define SOON_US (60 * USEC_PER_SEC) /* where nothing is kept */
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
    struct workspace_cache *cache;  /* owned */
    struct waiting *waiting;        /* owned */
    sd_event_source *sweep;         /* owned; NULL: none runs */
    struct http_async_call *asking; /* which jobs are over, before a sweep */
    bool has_work;                  /* there are private workspaces */
    sd_event_source *later;         /* owned; the next sweep, when copies are kept */
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

void workspaces_sweep_later(struct workspaces *w)
{
    uint64_t delay_us = MIN_OF(w->config.kept.keep_us, LATER_US);
    int enabled = SD_EVENT_OFF;

    (void)sd_event_source_get_enabled(w->later, &enabled);
    if (enabled != SD_EVENT_OFF)
        return;
    (void)sd_event_source_set_time_relative(w->later,
                                            delay_us >= USEC_PER_SEC ? delay_us : SOON_US);
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
    if (w->has_work || (info.si_code == CLD_EXITED && info.si_status == SWEEP_KEEPS))
        workspaces_sweep_later(w);
    if (w->again)
        workspaces_sweep_soon(w);
    return 0;
}

/* start_sweep - ended: of the jobs that have private workspaces here, those that are over; or NULL
 */
static void start_sweep(struct workspaces *w, const json_t *ended)
{
    const struct layout *layout = w->config.layout;
    _cleanup_free_ char *program = text_format("%s/edl-workspace", layout->program_dir);
    size_t n_jobs = MIN_OF(json_array_size(ended), (size_t)SWEEP_JOBS_MAX);
    char keep[24], most[24], (*jobs)[24] = xcalloc(n_jobs, sizeof *jobs);
    const char **argv = xcalloc(n_jobs + 11, sizeof *argv);
    _cleanup_free_ char *clock_file = text_format("%s/" NODE_CLOCK_FILE, layout->state_dir);
    char clock[NODE_CLOCK_TEXT_SIZE];
    size_t n = 0;

    node_clock_text(w->config.clock, clock);
    (void)snprintf(keep, sizeof keep, "%llu", (unsigned long long)w->config.kept.keep_us);
    (void)snprintf(most, sizeof most, "%llu", (unsigned long long)w->config.kept.max_bytes);
    argv[n++] = program;
    argv[n++] = "sweep";
    argv[n++] = layout->copies_dir;
    argv[n++] = layout->processes_dir;
    argv[n++] = layout->tmp_dir;
    argv[n++] = keep;
    argv[n++] = most;
    argv[n++] = clock_file;
    argv[n++] = clock;
    argv[n++] = layout->work_dir;
    for (size_t i = 0; i < n_jobs; i++) {
        json_int_t job = json_integer_value(json_array_get(ended, i));

        (void)snprintf(jobs[i], sizeof *jobs, "%llu", (unsigned long long)MAX_OF(job, 0));
        argv[n++] = jobs[i];
    }
    (void)folder_make_passable(layout->copies_dir, NULL);
    w->sweep = errand_start(w->config.event, argv, on_swept, w, &w->pidfd);
    if (w->sweep == NULL)
        log_error("copies of workspaces stay");
    free(argv);
    free(jobs);
}

/* jobs_here - that have private workspaces; each once */
static json_t *jobs_here(const struct workspaces *w)
{
    _cleanup_closedir_ DIR *folder = opendir(w->config.layout->work_dir);
    json_t *jobs = json_array(), *seen = json_object();
    const struct dirent *entry;

    while (folder != NULL && json_array_size(jobs) < SWEEP_JOBS_MAX &&
           (entry = readdir(folder)) != NULL) {
        char number[24];
        uint64_t job;

        (void)snprintf(number, sizeof number, "%.*s",
                       (int)MIN_OF(strcspn(entry->d_name, "-"), sizeof number - 1), entry->d_name);
        if (parse_u64(number, &job) < 0 || job > INT64_MAX || json_object_get(seen, number) != NULL)
            continue;
        (void)json_object_set_new(seen, number, json_true());
        (void)json_array_append_new(jobs, json_integer((json_int_t)job));
    }
    json_decref(seen);
    return jobs;
}

/* on_told - a scheduler of before does not tell: then they stay */
static void on_told(const struct http_answer *answer, void *userdata)
{
    struct workspaces *w = userdata;

    w->asking = NULL;
    start_sweep(w, answer->failure == 0 && answer->status == 200
                       ? json_object_get(answer->json, "ended")
                       : NULL);
}

void workspaces_sweep_soon(struct workspaces *w)
{
    _cleanup_free_ char *path = NULL;
    json_t *jobs, *body;

    w->again = w->sweep != NULL || w->asking != NULL;
    if (w->again)
        return;
    jobs = jobs_here(w);
    w->has_work = json_array_size(jobs) > 0;
    path = text_format("/nodes/%s/ended-jobs", link_node(w->config.link));
    body = json_pack("{s:o}", "jobs", jobs);
    if (!w->has_work ||
        link_call(w->config.link,
                  &(struct http_call){ .method = "POST", .path = path, .json = body }, on_told, w,
                  &w->asking, NULL) < 0)
        start_sweep(w, NULL);
    json_decref(body);
}

void workspaces_set_bounds(struct workspaces *w, uint64_t max_bytes, const struct kept_bounds *kept)
{
    workspace_cache_set_max(w->cache, max_bytes);
    w->config.kept = *kept;
    (void)sd_event_source_set_enabled(w->later, SD_EVENT_OFF);
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
    http_async_cancel(w->asking);
    (void)sd_event_source_disable_unref(w->sweep);
    (void)sd_event_source_disable_unref(w->later);
    (void)safe_close(w->pidfd);
    free(w);
    return NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* log_bound.c - see log_bound.h
 *
 * One trim runs at a time, and one more behind it when something was found meanwhile. Its end is
 * seen by its pidfd. An agent that dies leaves a trim that ends by itself, and the next agent
 * begins with one. */
#include "agent/logs/log_bound.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/processes/errand.h"
#include "agent/layout.h"
#include "agent/logs/log_file.h"
#include "agent/processes/process.h"
#include "shared/clock.h"
#include "shared/cleanup.h"
#include "shared/log.h"
#include "shared/macro.h"

#define ACCURACY_US 20000
#define FAST_PART 8                       /* of a bound, within one look */
#define OLD_PART 16                       /* of theirs: old logs are counted anew after it */
#define OLD_EVERY_US (600 * USEC_PER_SEC) /* likewise, when anything has ended at all */

struct log_bound {
    struct log_bound_config config;
    sd_event_source *timer; /* owned */
    sd_event_source *trim;  /* owned; NULL: none runs */
    int pidfd;
    bool again;         /* one more when it has ended */
    bool refused;       /* the file system gives nothing back: said, and not tried again */
    uint64_t old_bytes; /* of those that ended since the last trim */
    uint64_t trimmed_us;
};

static void trim(struct log_bound *b);

/* ---- the trim ---- */

/* take_holes - what the logs hold now */
static void take_holes(const struct log_bound *b)
{
    for (struct process *p = b->config.processes->list; p != NULL; p = p->next) {
        struct stat st;
        _cleanup_close_ int fd = log_file_open(b->config.layout, &p->id, &st);

        if (fd >= 0)
            p->log_from = log_held_from(fd, (uint64_t)st.st_size);
    }
}

static void note_refusal(struct log_bound *b, const siginfo_t *info)
{
    if (info->si_code != CLD_EXITED || info->si_status != LOG_TRIM_REFUSED || b->refused)
        return;
    b->refused = true;
    log_warning("the file system of %s cannot give back the oldest part of a log: logs of "
                "processes grow beyond --log-max; keep --state-dir on ext4, xfs, btrfs or tmpfs",
                b->config.layout->logs_dir);
}

static int on_trimmed(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct log_bound *b = userdata;
    siginfo_t info = { 0 };

    (void)source;
    (void)revents;
    (void)waitid(P_PIDFD, (id_t)fd, &info, WEXITED);
    b->trim = sd_event_source_disable_unref(b->trim);
    b->pidfd = safe_close(b->pidfd);
    note_refusal(b, &info);
    take_holes(b);
    if (b->again)
        trim(b);
    return 0;
}

static void trim(struct log_bound *b)
{
    const struct layout *layout = b->config.layout;
    _cleanup_free_ char *program = text_format("%s/edl-workspace", layout->program_dir);
    char each[24], old[24];
    const char *argv[] = {
        program, "trim", layout->logs_dir, layout->processes_dir, each, old, NULL
    };

    b->again = b->trim != NULL;
    if (b->again)
        return;
    (void)snprintf(each, sizeof each, "%llu", (unsigned long long)b->config.bounds.each_bytes);
    (void)snprintf(old, sizeof old, "%llu", (unsigned long long)b->config.bounds.old_bytes);
    b->old_bytes = 0;
    b->trimmed_us = clock_read_us(CLOCK_BOOTTIME);
    b->trim = errand_start(b->config.event, argv, on_trimmed, b, &b->pidfd);
    if (b->trim == NULL)
        log_error("logs are not kept within their bounds");
}

/* ---- looks ---- */

/* look_at - true when its log is beyond the bound; *fast: it could be far beyond by the next look
 */
static bool look_at(const struct log_bound *b, struct process *p, bool *fast)
{
    _cleanup_free_ char *path = layout_log_path(b->config.layout, &p->id);
    uint64_t each = b->config.bounds.each_bytes;
    uint64_t size;
    struct stat st;

    if (lstat(path, &st) == -1)
        return false;
    size = (uint64_t)st.st_size;
    *fast |= size > p->log_size && size - p->log_size > each / FAST_PART;
    p->log_size = size;
    p->log_from = MIN_OF(p->log_from, size); /* its program may have emptied it */
    return size - p->log_from > each;
}

static void arm(struct log_bound *b, uint64_t delay_us)
{
    (void)sd_event_source_set_time_relative(b->timer, delay_us);
    (void)sd_event_source_set_enabled(b->timer, SD_EVENT_ONESHOT);
}

static bool is_old_due(const struct log_bound *b, uint64_t now_us)
{
    return b->old_bytes > b->config.bounds.old_bytes / OLD_PART ||
           (b->old_bytes > 0 && now_us - b->trimmed_us > OLD_EVERY_US);
}

static int on_look(sd_event_source *source, uint64_t now_us, void *userdata)
{
    struct log_bound *b = userdata;
    bool beyond = false, fast = false;

    (void)source;
    for (struct process *p = b->config.processes->list; p != NULL; p = p->next)
        beyond |= look_at(b, p, &fast);
    if ((beyond && !b->refused) || is_old_due(b, now_us))
        trim(b);
    if (b->config.processes->list != NULL || b->old_bytes > 0)
        arm(b, fast ? LOG_BOUND_FAST_US : LOG_BOUND_US);
    return 0;
}

void log_bound_kick(struct log_bound *b)
{
    int enabled = SD_EVENT_OFF;

    (void)sd_event_source_get_enabled(b->timer, &enabled);
    if (enabled == SD_EVENT_OFF)
        arm(b, LOG_BOUND_FAST_US);
}

void log_bound_forget(struct log_bound *b, const struct process *p)
{
    _cleanup_free_ char *path = layout_log_path(b->config.layout, &p->id);
    struct stat st;

    if (lstat(path, &st) == 0) /* it has one */
        b->old_bytes += log_cost(&st);
}

void log_bound_set(struct log_bound *b, struct log_bounds bounds)
{
    b->config.bounds = bounds;
    if (access(b->config.layout->logs_dir, F_OK) == 0)
        trim(b);
}

struct log_bound *log_bound_new(const struct log_bound_config *config)
{
    struct log_bound *b = xcalloc(1, sizeof *b);

    b->config = *config;
    b->pidfd = -1;
    if (sd_event_add_time(config->event, &b->timer, CLOCK_BOOTTIME, 0, ACCURACY_US, on_look, b) >=
        0)
        (void)sd_event_source_set_enabled(b->timer, SD_EVENT_OFF);
    if (access(config->layout->logs_dir, F_OK) == 0)
        trim(b);
    if (config->processes->list != NULL)
        log_bound_kick(b);
    return b;
}

struct log_bound *log_bound_free(struct log_bound *b)
{
    if (b == NULL)
        return NULL;
    (void)sd_event_source_disable_unref(b->timer);
    (void)sd_event_source_disable_unref(b->trim);
    (void)safe_close(b->pidfd);
    free(b);
    return NULL;
}

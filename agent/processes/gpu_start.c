/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_start.c - what the prober tells comes in here; a start with GPUs waits until it has told that
 * nobody is on them
 *
 * Asked anew for each start: the words of the last report may be old by a heartbeat. A process
 * that is dead leaves its device a little later, so one that nobody finds is waited for; one
 * that lives is not. An agent that dies meanwhile has made nothing: the order is still there for
 * the next one. */
#include <stdio.h>
#include <utlist.h>

#include "agent/agent_internal.h"
#include "agent/core/agent_core.h"
#include "agent/link/link.h"
#include "agent/machine/probe.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/log.h"
#include "shared/macro.h"

#define FIRST_PROBE_US (3 * USEC_PER_SEC) /* a start of the agent waits so long for it */
#define AGAIN_US (200 * USEC_PER_MSEC)
#define PATIENCE_US (5 * USEC_PER_SEC) /* with what a device does not let go of */
#define TIMER_ACCURACY_US 1000
#define DEPTH_MAX 64 /* of a process tree; deeper ones are not ours */

struct gpu_wait {
    struct process_id id;
    json_t *order;   /* ref */
    uint64_t mask;   /* of its devices */
    uint64_t number; /* the answer to this question counts, and those after it */
    uint64_t since_us;
    struct gpu_wait *prev, *next; /* utlist */
};

static void wait_free(struct agent *a, struct gpu_wait *wait)
{
    DL_DELETE(a->gpu_waits, wait);
    json_decref(wait->order);
    free(wait);
}

static void arm(struct agent *a)
{
    if (a->gpu_waits != NULL)
        (void)sd_event_source_set_time_relative(a->gpu_timer, AGAIN_US);
    (void)sd_event_source_set_enabled(a->gpu_timer,
                                      a->gpu_waits != NULL ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
}

static void give_up(struct agent *a, struct gpu_wait *wait, const char *reason)
{
    struct process_id id = wait->id;

    wait_free(a, wait);
    agent_core_start_failed(a->core, &id, START_FAULT_PLACE, reason, clock_read_us(CLOCK_BOOTTIME));
    agent_decided(a);
}

/* ---- what the prober tells ---- */

/* is_ours - below the supervisor of a process that was granted the device, or in its control group:
 * a program of a session is no descendant */
static bool is_ours(pid_t pid, unsigned device, void *userdata)
{
    const struct agent *a = userdata;
    const struct process *in = agent_in_group(a, pid);
    struct procfs_stat stat;

    if (in != NULL)
        return (in->gpus & UINT64_C(1) << device) != 0;
    for (int depth = 0; depth < DEPTH_MAX && pid > 1; depth++, pid = stat.ppid) {
        const struct process *p;

        if (procfs_stat(pid, &stat) < 0)
            return false;
        DL_FOREACH(a->table.list, p)
        if (p->supervisor_pid == pid && p->handle != NULL)
            return (p->gpus & UINT64_C(1) << device) != 0;
    }
    return false;
}

/* settle - one start, now that it is known who is on its devices */
static void settle(struct agent *a, struct gpu_wait *wait)
{
    uint64_t held = wait->mask & gpus_foreign(&a->gpus, true);
    char reason[AGENT_REASON_SIZE];

    if (gpus_missing(&a->gpus, wait->mask) != 0) {
        (void)snprintf(reason, sizeof reason, "GPUs were granted that are not there: there are %u",
                       (unsigned)a->gpus.n);
        give_up(a, wait, reason);
    } else if (held == 0) {
        struct process_id id = wait->id;
        json_t *order = json_incref(wait->order);

        wait_free(a, wait);
        agent_start_late(a, &id, order);
        json_decref(order);
    } else if (gpus_are_alive(&a->gpus, held)) {
        gpus_say(&a->gpus, held, reason, sizeof reason);
        give_up(a, wait, reason);
    }
}

static void on_probed(uint64_t number, const json_t *json, void *userdata)
{
    struct agent *a = userdata;
    struct gpu_wait *wait, *next;

    json_decref(a->probed);
    a->probed = json_deep_copy(json);
    (void)json_object_del(a->probed, "gpus");
    if (gpus_take(&a->gpus, json, clock_read_us(CLOCK_BOOTTIME), is_ours, a)) {
        char text[AGENT_REASON_SIZE];

        gpus_say(&a->gpus, UINT64_MAX, text, sizeof text);
        if (text[0] != '\0')
            log_entry(LOG_LEVEL_WARNING,
                      &(struct log_subject){ .message = MESSAGE_AGENT_GPU_STRANGER },
                      "%s, which is no process of a job that was granted it", text);
        a->gpu_news = true;
        if (a->link != NULL)
            link_changed(a->link);
    }
    DL_FOREACH_SAFE(a->gpu_waits, wait, next)
    {
        if (wait->number <= number)
            settle(a, wait);
    }
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct agent *a = userdata;
    uint64_t now_us = clock_read_us(CLOCK_BOOTTIME);
    struct gpu_wait *wait, *next;

    (void)source;
    (void)usec;
    DL_FOREACH_SAFE(a->gpu_waits, wait, next)
    {
        char reason[AGENT_REASON_SIZE];

        if (now_us - wait->since_us < PATIENCE_US) {
            wait->number = probe_ask(a->probe, now_us);
            continue;
        }
        gpus_say(&a->gpus, wait->mask, reason, sizeof reason);
        give_up(a, wait,
                reason[0] != '\0' ? reason
                                  : "GPUs held by others, or not: the driver does not tell");
    }
    arm(a);
    return 0;
}

/* ---- what the agent asks ---- */

bool agent_await_gpus(struct agent *a, const struct process_id *id, json_t *order)
{
    uint64_t mask = gpus_of_order(order);
    uint64_t now_us = clock_read_us(CLOCK_BOOTTIME);
    struct gpu_wait *wait;

    if (mask == 0 || !gpus_are_watched(&a->gpus))
        return false;
    wait = xcalloc(1, sizeof *wait);
    wait->id = *id;
    wait->order = json_incref(order);
    wait->mask = mask;
    wait->since_us = now_us;
    wait->number = probe_ask(a->probe, now_us);
    DL_APPEND(a->gpu_waits, wait);
    arm(a);
    return true;
}

bool agent_cancel_gpus(struct agent *a, const struct process_id *id)
{
    struct gpu_wait *wait;

    DL_FOREACH(a->gpu_waits, wait)
    if (process_id_equal(&wait->id, id))
        break;
    if (wait == NULL)
        return false;
    wait_free(a, wait);
    return true;
}

int agent_open_gpus(struct agent *a, struct edl_error *error)
{
    _cleanup_free_ char *program = text_format("%s/edl-prober", a->layout.program_dir);
    int r = sd_event_add_time(a->event, &a->gpu_timer, CLOCK_BOOTTIME, 0, TIMER_ACCURACY_US,
                              on_timer, a);

    if (r < 0)
        return edl_error_errno(error, r, "cannot make a timer");
    (void)sd_event_source_set_enabled(a->gpu_timer, SD_EVENT_OFF);
    gpus_init(&a->gpus, a->options);
    a->probe = probe_new(a->event, &(struct probe_config){ .program = program,
                                                           .state_dir = a->layout.state_dir,
                                                           .output_dir = a->layout.output_dir,
                                                           .node = a->layout.node,
                                                           .on_answer = on_probed,
                                                           .userdata = a });
    (void)probe_ask(a->probe, clock_read_us(CLOCK_BOOTTIME));
    (void)probe_wait(a->probe, FIRST_PROBE_US);
    return 0;
}

void agent_close_gpus(struct agent *a)
{
    while (a->gpu_waits != NULL)
        wait_free(a, a->gpu_waits);
    sd_event_source_disable_unref(a->gpu_timer);
    (void)probe_free(a->probe);
    json_decref(a->probed);
    gpus_done(&a->gpus);
}

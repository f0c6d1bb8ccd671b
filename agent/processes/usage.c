/* SPDX-License-Identifier: Apache-2.0 */
/* usage.c - what processes use, and why one does not end: asked of a prober of its own
 *
 * To open a file of a control group waits for all groups that are made and removed. To read of a
 * process in /proc waits for what the process does just now. That is seconds in a storm of starts,
 * or for ever. So reports tell what the prober told last, which is at most a report old. */
#include <string.h>

#include "agent/agent_internal.h"
#include "agent/groups/cgroup_home.h"
#include "agent/machine/probe.h"
#include "agent/machine/usage_question.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/json_read.h"
#include "shared/json_text.h"
#include "shared/log.h"
#include "shared/macro.h"

#define ASK_LEAST_US (500 * USEC_PER_MSEC) /* figures do not change visibly before */
#define TREES_MOST 256                     /* in one question */
#define FIRST_ANSWER_US (3 * USEC_PER_SEC) /* a start of the agent waits so long for it */

bool agent_is_stuck(const struct process *p)
{
    return p->handle != NULL && p->gone_by_us != 0 &&
           clock_read_us(CLOCK_BOOTTIME) >= p->gone_by_us;
}

static json_t *tree_json(const struct process *p)
{
    char key[PROCESS_KEY_SIZE];
    json_t *json = json_pack("{s:s, s:I, s:I, s:b}", "id", process_id_key(&p->id, key), "root",
                             (json_int_t)p->supervisor_pid, "absent", (json_int_t)p->cgroup_absent,
                             "stuck", (int)agent_is_stuck(p));

    if (p->cgroup != NULL) {
        (void)json_object_set_new(json, "cgroup", json_string(p->cgroup->unified));
        (void)json_object_set_new(json, "cgroup_legacy", cgroup_legacy_to_json(p->cgroup->legacy));
    }
    return json;
}

/* question - on the processes of this time: all that run, or of very many the next ones
 * One that has not been seen running has no control group yet. */
static char *question(struct agent *a)
{
    json_t *json = json_object(), *trees = json_array();
    struct process *p = process_find(&a->table, &a->sampled_last);
    size_t bytes = 0;
    char *text;

    for (size_t i = 0; i < a->table.n && json_array_size(trees) < TREES_MOST &&
                       bytes < USAGE_QUESTION_MAX - 8 * CGROUP_PATH_SIZE;
         i++) {
        json_t *tree;

        p = p != NULL && p->next != NULL ? p->next : a->table.list;
        if (p->supervisor_pid <= 0 || p->pid == 0)
            continue;
        tree = tree_json(p);
        bytes += json_dumpb(tree, NULL, 0, JSON_COMPACT) + 1;
        (void)json_array_append_new(trees, tree);
        a->sampled_last = p->id;
    }
    (void)json_object_set_new(json, "trees", trees);
    text = json_to_text(json, NULL);
    json_decref(json);
    return text;
}

static void take_figures(struct process *p, const json_t *told)
{
    uint64_t memory_bytes = json_u64(told, "memory_used_bytes");
    const char *stuck = json_string_value(json_object_get(told, "stuck"));

    p->cgroup_absent = (uint32_t)json_u64(told, "absent");
    p->cpu_used_us = MAX_OF(p->cpu_used_us, json_u64(told, "cpu_used_us"));
    p->memory_used_bytes = memory_bytes;
    p->memory_peak_bytes = MAX_OF(p->memory_peak_bytes, memory_bytes);
    p->memory_peak_bytes = MAX_OF(p->memory_peak_bytes, json_u64(told, "memory_peak_bytes"));
    p->tasks = json_u64(told, "tasks");
    if (stuck != NULL) {
        free(p->stuck);
        p->stuck = xstrdup(stuck);
    }
}

static void on_usage(uint64_t number, const json_t *json, void *userdata)
{
    struct agent *a = userdata;
    const struct inventory_moment moment = { .busy_ticks = json_u64(json, "busy_ticks"),
                                             .memory_bytes = json_u64(json, "memory_bytes"),
                                             .available_bytes = json_u64(json, "available_bytes") };
    uint64_t ours_us = a->table.ended_cpu_us, ours_bytes = 0;
    const struct process *every;
    const json_t *told;
    size_t i;

    (void)number;
    json_array_foreach(json_object_get(json, "trees"), i, told)
    {
        struct process_id id;
        struct process *p =
            process_id_parse(json_text(told, "id"), &id) == 0 ? process_find(&a->table, &id) : NULL;

        if (p != NULL && p->handle != NULL) /* else its exit record has told */
            take_figures(p, told);
    }
    for (every = a->table.list; every != NULL; every = every->next)
        if (every->handle != NULL) {
            ours_us += every->cpu_used_us;
            ours_bytes += every->memory_used_bytes;
        }
    inventory_take(&a->inventory, &moment, ours_us, ours_bytes, clock_read_us(CLOCK_BOOTTIME));
}

bool agent_ask_usage(struct agent *a)
{
    uint64_t now_us = clock_read_us(CLOCK_BOOTTIME);
    _cleanup_free_ char *text = NULL;

    if (a->sampled_us != 0 && now_us - a->sampled_us < ASK_LEAST_US)
        return false;
    a->sampled_us = now_us;
    text = question(a);
    if (text != NULL)
        (void)probe_ask_for(a->usage, text, strlen(text), now_us);
    return true;
}

void agent_open_usage(struct agent *a)
{
    _cleanup_free_ char *program = text_format("%s/edl-prober", a->layout.program_dir);

    a->usage = probe_new(a->event, &(struct probe_config){ .program = program,
                                                           .node = a->layout.node,
                                                           .on_answer = on_usage,
                                                           .userdata = a });
    (void)agent_ask_usage(a);
    (void)probe_wait(a->usage, FIRST_ANSWER_US);
}

void agent_close_usage(struct agent *a)
{
    (void)probe_free(a->usage);
}

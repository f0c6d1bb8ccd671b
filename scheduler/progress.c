/* SPDX-License-Identifier: Apache-2.0 */
/* progress.c - see progress.h */
#include "scheduler/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <uthash.h>

#include "scheduler/core/cluster.h"
#include "shared/macro.h"
#include "shared/process_progress.h"

#define KEY_SIZE 96

struct node_progress {
    char node[NODE_NAME_MAX + 1];
    json_t *by_process; /* owned; {JOB.ROLE.INDEX.INCARNATION: {..}} */
    UT_hash_handle hh;
};

static struct node_progress *find(const struct progresses *progresses, const char *node)
{
    struct node_progress *found;

    HASH_FIND_STR(progresses->by_node, node, found);
    return found;
}

void progresses_forget(struct progresses *progresses, const char *node)
{
    struct node_progress *found = find(progresses, node);

    if (found == NULL)
        return;
    HASH_DEL(progresses->by_node, found);
    json_decref(found->by_process);
    free(found);
}

/* key_of - of an entry that was checked with its report */
static void key_of(const json_t *item, char key[KEY_SIZE])
{
    const char *role = json_string_value(json_object_get(item, "role"));

    (void)snprintf(key, KEY_SIZE, "%lld.%s.%lld.%lld",
                   (long long)json_integer_value(json_object_get(item, "job_id")),
                   role != NULL ? role : "",
                   (long long)json_integer_value(json_object_get(item, "index")),
                   (long long)json_integer_value(json_object_get(item, "incarnation")));
}

/* sum_pushes - of all rows, committed and discarded; a program says them, so they may be anything
 */
static void sum_pushes(const json_t *progress, uint64_t ret[2])
{
    const json_t *rows = json_object_get(progress, PROGRESS_PUSHES);
    size_t i;
    json_t *row;

    ret[0] = ret[1] = 0;
    json_array_foreach(rows, i, row)
    {
        for (size_t k = 0; k < 2; k++)
            ret[k] +=
                (uint64_t)json_integer_value(json_array_get(row, PROGRESS_PUSHES_COMMITTED + k));
    }
}

/* count_pushes - what is more than the same process told before */
static void count_pushes(struct progresses *progresses, const json_t *before,
                         const json_t *progress)
{
    uint64_t old[2], now[2];

    if (json_object_get(progress, PROGRESS_PUSHES) == NULL)
        return;
    sum_pushes(before, old);
    sum_pushes(progress, now);
    for (size_t k = 0; k < 2; k++)
        progresses->pushes[k] += now[k] > old[k] ? now[k] - old[k] : 0;
}

void progresses_take(struct progresses *progresses, const char *node, const json_t *processes)
{
    const struct node_progress *before = find(progresses, node);
    json_t *by_process = json_object();
    struct node_progress *taken;
    size_t i;
    json_t *item;

    json_array_foreach(processes, i, item)
    {
        json_t *progress = json_object_get(item, "progress");
        char key[KEY_SIZE];

        if (progress == NULL || progress_check(progress, NULL) < 0)
            continue;
        key_of(item, key);
        count_pushes(progresses, before != NULL ? json_object_get(before->by_process, key) : NULL,
                     progress);
        (void)json_object_set(by_process, key, progress);
    }
    progresses_forget(progresses, node);
    if (json_object_size(by_process) == 0) {
        json_decref(by_process);
        return;
    }
    taken = xcalloc(1, sizeof *taken);
    taken->by_process = by_process;
    (void)snprintf(taken->node, sizeof taken->node, "%s", node);
    HASH_ADD_STR(progresses->by_node, node, taken);
}

json_t *progresses_find(const struct progresses *progresses, const struct process *process)
{
    const struct node_progress *found = find(progresses, process->node_name);
    char key[KEY_SIZE];

    if (found == NULL)
        return NULL;
    (void)snprintf(key, sizeof key, "%" PRIu64 ".%s.%" PRIu32 ".%" PRIu64, process->job->id,
                   process->job->spec->roles[process->role].name, process->index,
                   process->incarnation);
    return json_object_get(found->by_process, key);
}

void progresses_done(struct progresses *progresses)
{
    while (progresses->by_node != NULL)
        progresses_forget(progresses, progresses->by_node->node);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* progress.c - see progress.h */
#include "scheduler/nodes/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <uthash.h>

#include "scheduler/core/core.h"
#include "scheduler/nodes/push_counts.h"
#include "shared/macro.h"
#include "shared/process_progress.h"

#define KEY_SIZE 96
#define PUSHES_PER_US 1 /* of a process, at most: more than any server takes */

struct process_told {
    char key[KEY_SIZE]; /* JOB.ROLE.INDEX.INCARNATION */
    json_t *progress;   /* owned; as its node reported it last; NULL: none */
    bool is_old;        /* as the node says of it */
    struct push_counts pushes;
    uint64_t pushed_us; /* pushes until then were told, or were none */
    uint64_t report;    /* the last one of its node that names the process */
    UT_hash_handle hh;
};

struct node_progress {
    char node[NODE_NAME_MAX + 1];
    struct process_told *by_key; /* owned; uthash */
    uint64_t report;             /* number of the last one */
    uint64_t reported_us;        /* the one before it, or the first */
    UT_hash_handle hh;
};

static struct node_progress *find(const struct progresses *progresses, const char *node)
{
    struct node_progress *found;

    HASH_FIND_STR(progresses->by_node, node, found);
    return found;
}

/* forget_before - processes that no report has named since this one */
static void forget_before(struct node_progress *node, uint64_t report)
{
    struct process_told *told, *next;

    HASH_ITER(hh, node->by_key, told, next)
    {
        if (told->report >= report)
            continue;
        HASH_DEL(node->by_key, told);
        json_decref(told->progress);
        push_counts_done(&told->pushes);
        free(told);
    }
}

void progresses_forget(struct progresses *progresses, const char *node)
{
    struct node_progress *found = find(progresses, node);

    if (found == NULL)
        return;
    forget_before(found, UINT64_MAX);
    HASH_DEL(progresses->by_node, found);
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

static struct node_progress *find_or_add(struct progresses *progresses, const char *name,
                                         uint64_t now_us)
{
    struct node_progress *node = find(progresses, name);

    if (node != NULL)
        return node;
    node = xcalloc(1, sizeof *node);
    (void)snprintf(node->node, sizeof node->node, "%s", name);
    node->reported_us = now_us;
    HASH_ADD_STR(progresses->by_node, node, node);
    return node;
}

static struct process_told *find_or_add_process(struct node_progress *node, const char *key)
{
    struct process_told *told;

    HASH_FIND_STR(node->by_key, key, told);
    if (told != NULL)
        return told;
    told = xcalloc(1, sizeof *told);
    (void)snprintf(told->key, sizeof told->key, "%s", key);
    told->pushes.counted_before = node->report == 1;
    told->pushed_us = node->reported_us;
    HASH_ADD_STR(node->by_key, key, told);
    return told;
}

/* take_pushes - rows: NULL: the report has none, and what was counted stays */
static void take_pushes(struct process_told *told, const json_t *rows, uint64_t now_us,
                        uint64_t pushes[PUSHES_KINDS])
{
    if (rows == NULL)
        return;
    push_counts_take(&told->pushes, rows, (now_us - told->pushed_us) * PUSHES_PER_US, pushes);
    told->pushed_us = now_us;
}

static bool is_server(const json_t *item)
{
    const char *role = json_string_value(json_object_get(item, "role"));

    return role != NULL && streq(role, "pserver");
}

void progresses_take(struct progresses *progresses, const char *node, const json_t *processes,
                     uint64_t now_us)
{
    struct node_progress *taken = find_or_add(progresses, node, now_us);
    size_t i;
    json_t *item;

    taken->report++;
    json_array_foreach(processes, i, item)
    {
        json_t *progress = json_object_get(item, "progress");
        struct process_told *told;
        char key[KEY_SIZE];

        if (progress != NULL && progress_check(progress, NULL) < 0)
            progress = NULL;
        key_of(item, key);
        told = find_or_add_process(taken, key);
        json_decref(told->progress);
        told->progress = json_incref(progress);
        told->is_old = json_is_true(json_object_get(item, "progress_old"));
        told->report = taken->report;
        if (is_server(item))
            take_pushes(told, json_object_get(progress, PROGRESS_PUSHES), now_us,
                        progresses->pushes);
    }
    taken->reported_us = now_us;
    forget_before(taken, taken->report);
}

static const struct process_told *told_of(const struct progresses *progresses,
                                          const struct process *process)
{
    const struct node_progress *found = find(progresses, process->node_name);
    struct process_told *told;
    char key[KEY_SIZE];

    if (found == NULL)
        return NULL;
    (void)snprintf(key, sizeof key, "%" PRIu64 ".%s.%" PRIu32 ".%" PRIu64, process->job->id,
                   process->job->spec->roles[process->role].name, process->index,
                   process->incarnation);
    HASH_FIND_STR(found->by_key, key, told);
    return told;
}

json_t *progresses_find(const struct progresses *progresses, const struct process *process)
{
    const struct process_told *told = told_of(progresses, process);

    return told != NULL ? told->progress : NULL;
}

json_t *progresses_find_new(const struct progresses *progresses, const struct process *process)
{
    const struct process_told *told = told_of(progresses, process);

    return told != NULL && !told->is_old ? told->progress : NULL;
}

void progresses_done(struct progresses *progresses)
{
    while (progresses->by_node != NULL)
        progresses_forget(progresses, progresses->by_node->node);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* task_queue.c - the fault-tolerant master of one job: tasks of a pass, leased, finished, counted
 *
 * Happy path: lease (todo -> leased), finish (leased -> done), last one ends the pass: all go back
 * to todo. Failure modes: a holder dies (release_holder), is too slow (expire) or gives up (fail):
 * back to todo, or discarded after failures_max + 1 failures. Every end of a task checks for the
 * end of the pass, so that a pass whose last task is discarded ends as well. If every task was
 * discarded, nothing follows: the next pass would fare no better, and its job fails.
 *
 * Lists: todo is a FIFO; each holder lists what it holds, in the order in which it took that up.
 * Holders with tasks are in a tree by their deadline, that of their oldest task. Lease, finish and
 * fail are O(log holders) plus the tasks of that one holder. */
#include "scheduler/core/task_queue.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#include <utlist.h>

#include "scheduler/core/task_parts.h"
#include "scheduler/core/task_times.h"
#include "scheduler/core/tree.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/permutation.h"

/* A task with its places in the lists. */
struct entry {
    struct task task;       /* first: a struct task * handed out is an entry */
    uint32_t counted_lease; /* the lease whose finish was counted last; 0 none */
    uint32_t named;         /* the question of its holder that named it last */
    uint32_t n_beside;      /* tasks that its holder had, with this one, when it took it up */
    bool changed;
    bool leased_before;                      /* in this pass: another lease of it is a retry */
    struct entry *next, *prev;               /* todo */
    struct entry *holder_next, *holder_prev; /* holder's list */
    struct entry *changed_next, *changed_prev;
};

struct holder {
    struct tree_node by_deadline; /* first; in the tree while it holds a task */
    uint64_t incarnation;
    uint64_t deadline_us;
    uint64_t finished_us; /* when it ended a task last; 0: it did not yet */
    uint64_t own_us;      /* what its tasks took lately, the longer ones; 0: none yet */
    struct entry *held;   /* the oldest first */
    uint32_t n_held;
    UT_hash_handle hh;
};

/* Many at once: a queue has hundreds of thousands, and all go together. */
enum { BLOCK_ENTRIES_LEAST = 4, BLOCK_ENTRIES_MOST = 512 };
struct entry_block {
    struct entry_block *next;
    size_t used, size;
    struct entry entries[];
};

struct task_queue {
    struct task_queue_config config;
    struct entry **entries; /* by id; owned, they are in: */
    size_t n_entries, cap_entries;
    struct entry_block *blocks; /* owned list; the first has room */
    struct task_parts *parts;   /* a reference: the chunks */
    struct entry *todo, *changed;
    struct holder *holders;
    struct tree deadlines; /* of holders */
    struct task_times times;
    uint32_t question; /* how often tasks were asked for */
    uint32_t n_stored; /* see task_queue_set_stored */
    bool closed;       /* the tasks are gone */
    bool model_saved;
    uint64_t saver;
    char *model_path; /* owned; NULL: it was not told */
    uint32_t pass;
    struct task_queue_counts counts; /* kept up to date, never recounted */
};

static int compare_deadlines(const struct tree_node *a, const struct tree_node *b)
{
    const struct holder *x = (const struct holder *)(const void *)a; /* why: first member */
    const struct holder *y = (const struct holder *)(const void *)b;

    if (x->deadline_us != y->deadline_us)
        return x->deadline_us < y->deadline_us ? -1 : 1;
    return (x->incarnation > y->incarnation) - (x->incarnation < y->incarnation);
}

struct task_queue *task_queue_new(const struct task_queue_config *config)
{
    struct task_queue *queue = xcalloc(1, sizeof *queue);

    queue->config = *config;
    queue->deadlines.compare = compare_deadlines;
    queue->parts = task_parts_new();
    return queue;
}

static void free_tasks(struct task_queue *queue)
{
    struct entry_block *block, *next_block;
    struct holder *holder, *next;

    HASH_ITER(hh, queue->holders, holder, next)
    {
        HASH_DEL(queue->holders, holder);
        free(holder);
    }
    for (block = queue->blocks; block != NULL; block = next_block) {
        next_block = block->next;
        free(block);
    }
    free(queue->entries);
    task_parts_unref(queue->parts);
}

struct task_queue *task_queue_free(struct task_queue *queue)
{
    if (queue == NULL)
        return NULL;
    free_tasks(queue);
    free(queue->model_path);
    free(queue);
    return NULL;
}

void task_queue_close(struct task_queue *queue)
{
    struct task_queue *empty;

    if (queue->closed)
        return;
    free_tasks(queue);
    empty = task_queue_new(&queue->config);
    empty->closed = true;
    empty->model_saved = queue->model_saved;
    empty->saver = queue->saver;
    empty->model_path = queue->model_path;
    empty->pass = queue->pass;
    empty->counts = queue->counts;
    empty->counts.todo += empty->counts.leased;
    empty->counts.leased = 0;
    *queue = *empty;
    free(empty);
}

bool task_queue_is_closed(const struct task_queue *queue)
{
    return queue->closed;
}

void task_queue_restore_closed(struct task_queue *queue, const struct task_queue_counts *counts)
{
    task_queue_close(queue);
    queue->counts.todo = counts->todo;
    queue->counts.done = counts->done;
    queue->counts.discarded = counts->discarded;
    queue->counts.records_done = counts->records_done;
    queue->counts.records_pass = counts->records_pass;
}

static void mark_changed(struct task_queue *queue, struct entry *entry)
{
    if (entry->changed)
        return;
    entry->changed = true;
    DL_APPEND2(queue->changed, entry, changed_prev, changed_next);
}

static struct entry_block *add_block(struct task_queue *queue, size_t n)
{
    struct entry_block *block = xcalloc(1, sizeof *block + n * sizeof block->entries[0]);

    block->next = queue->blocks;
    block->size = n;
    queue->blocks = block;
    return block;
}

static struct entry *add_entry(struct task_queue *queue)
{
    struct entry_block *block = queue->blocks;

    if (block == NULL)
        block = add_block(queue, BLOCK_ENTRIES_LEAST);
    else if (block->used == block->size)
        block = add_block(queue, MIN_OF(2 * block->size, (size_t)BLOCK_ENTRIES_MOST));
    return &block->entries[block->used++];
}

struct task *task_queue_add(struct task_queue *queue, const struct task_chunk *chunks,
                            uint32_t n_chunks)
{
    struct entry *entry;

    assert(!task_parts_is_shared(queue->parts)); /* not to a copy, nor copied yet */
    entry = add_entry(queue);
    if (queue->n_entries == queue->cap_entries) {
        queue->cap_entries = queue->cap_entries ? 2 * queue->cap_entries : 64;
        queue->entries = xreallocarray(queue->entries, queue->cap_entries, sizeof(struct entry *));
    }
    entry->task.id = (uint32_t)queue->n_entries;
    entry->task.chunks = task_parts_add(queue->parts, chunks, n_chunks);
    entry->task.n_chunks = n_chunks;
    for (uint32_t i = 0; i < n_chunks; i++)
        entry->task.n_records += chunks[i].n_records;
    queue->entries[queue->n_entries++] = entry;
    DL_APPEND(queue->todo, entry);
    queue->counts.todo++;
    queue->counts.records_pass += entry->task.n_records;
    return &entry->task;
}

/* --- moves between the lists: each keeps the counts
 * -------------------------------------------------- */

static struct holder *find_holder(const struct task_queue *queue, uint64_t incarnation)
{
    struct holder *holder;

    HASH_FIND(hh, queue->holders, &incarnation, sizeof incarnation, holder);
    return holder;
}

static struct holder *add_holder(struct task_queue *queue, uint64_t incarnation)
{
    struct holder *holder = find_holder(queue, incarnation);

    if (holder != NULL)
        return holder;
    holder = xcalloc(1, sizeof *holder);
    holder->incarnation = incarnation;
    HASH_ADD(hh, queue->holders, incarnation, sizeof holder->incarnation, holder);
    return holder;
}

/* deadline_of - by when a holder that has tasks should have ended one */
static uint64_t deadline_of(const struct task_queue *queue, const struct holder *holder)
{
    const struct task_queue_config *config = &queue->config;
    uint64_t lease_us = task_times_lease_us(&queue->times, holder->own_us, config->lease_least_us,
                                            config->lease_timeout_us);
    uint64_t from_us = MAX_OF(holder->held->task.taken_us, holder->finished_us);

    if (lease_us >= config->lease_timeout_us / holder->n_held)
        return from_us + config->lease_timeout_us;
    return from_us + lease_us * holder->n_held;
}

/* arm - its tasks, or what is known of its speed, have changed */
static void arm(struct task_queue *queue, struct holder *holder)
{
    tree_remove(&queue->deadlines, &holder->by_deadline);
    if (holder->held == NULL)
        return;
    holder->deadline_us = deadline_of(queue, holder);
    tree_insert(&queue->deadlines, &holder->by_deadline);
}

static struct holder *first_holder(const struct task_queue *queue)
{
    return (struct holder *)(void *)tree_first(&queue->deadlines); /* why: first member */
}

static void leave_holder(struct task_queue *queue, struct entry *entry)
{
    struct holder *holder = find_holder(queue, entry->task.holder);

    if (holder == NULL)
        return;
    DL_DELETE2(holder->held, entry, holder_prev, holder_next);
    holder->n_held--;
    arm(queue, holder);
}

static void join_holder(struct task_queue *queue, struct entry *entry, uint64_t incarnation)
{
    struct holder *holder = add_holder(queue, incarnation);

    DL_APPEND2(holder->held, entry, holder_prev, holder_next);
    entry->task.holder = incarnation;
    entry->n_beside = ++holder->n_held;
    arm(queue, holder);
}

/* took_us - for how long a task was held; beside others, only its part of that */
static uint64_t took_us(const struct entry *entry, uint64_t now_us)
{
    return (now_us - MIN_OF(entry->task.taken_us, now_us)) / MAX_OF(entry->n_beside, 1U);
}

/* arm_all - tasks begin to tell how long a lease is: who hangs since the first of them has one too
 */
static void arm_all(struct task_queue *queue)
{
    for (struct holder *holder = queue->holders; holder != NULL; holder = holder->hh.next)
        arm(queue, holder);
}

static void note_time(struct task_queue *queue, const struct entry *entry, uint64_t us)
{
    struct holder *holder = find_holder(queue, entry->task.holder);

    task_times_add(&queue->times, us);
    holder->own_us = MAX_OF(us, holder->own_us - holder->own_us / 8);
    if (queue->times.n == TASK_TIMES_LEAST)
        arm_all(queue);
}

/* note_end - its holder says that it is over */
static void note_end(struct task_queue *queue, const struct entry *entry, uint64_t now_us)
{
    find_holder(queue, entry->task.holder)->finished_us = now_us;
}

/* take_out - removes an entry from the list that its state names */
static void take_out(struct task_queue *queue, struct entry *entry)
{
    switch (entry->task.state) {
    case TASK_TODO:
        DL_DELETE(queue->todo, entry);
        queue->counts.todo--;
        break;
    case TASK_LEASED:
        leave_holder(queue, entry);
        queue->counts.leased--;
        break;
    case TASK_DONE:
        queue->counts.done--;
        break;
    case TASK_DISCARDED:
        queue->counts.discarded--;
        break;
    }
}

static void move_todo(struct task_queue *queue, struct entry *entry, bool at_head)
{
    take_out(queue, entry);
    entry->task.state = TASK_TODO;
    entry->task.holder = 0;
    queue->counts.todo++;
    if (at_head)
        DL_PREPEND(queue->todo, entry);
    else
        DL_APPEND(queue->todo, entry);
}

static void put_todo(struct task_queue *queue, struct entry *entry, bool at_head)
{
    move_todo(queue, entry, at_head);
    mark_changed(queue, entry);
}

static void put_leased(struct task_queue *queue, struct entry *entry, uint64_t holder,
                       uint64_t now_us)
{
    take_out(queue, entry);
    entry->task.state = TASK_LEASED;
    entry->task.taken_us = now_us;
    queue->counts.leased++;
    join_holder(queue, entry, holder);
    mark_changed(queue, entry);
}

static void put_ended(struct task_queue *queue, struct entry *entry, enum task_state state)
{
    take_out(queue, entry);
    entry->task.state = state;
    if (state == TASK_DONE)
        queue->counts.done++;
    else
        queue->counts.discarded++;
    mark_changed(queue, entry);
}

static struct permutation order_of_pass(const struct task_queue *queue)
{
    return permutation_of(queue->n_entries, queue->config.seed, queue->pass);
}

/* entry_at - which one comes at a place of the pass */
static struct entry *entry_at(const struct task_queue *queue, const struct permutation *order,
                              size_t place)
{
    return queue->entries[queue->config.shuffled ? permutation_at(order, place) : place];
}

void task_queue_order(struct task_queue *queue)
{
    const struct permutation order = order_of_pass(queue);

    if (!queue->config.shuffled)
        return;
    queue->todo = NULL;
    for (size_t i = 0; i < queue->n_entries; i++)
        DL_APPEND(queue->todo, entry_at(queue, &order, i));
}

size_t task_queue_next(const struct task_queue *queue, uint32_t *ret, size_t n)
{
    const struct entry *entry = task_queue_is_finished(queue) ? NULL : queue->todo;
    size_t k = 0;

    for (; entry != NULL && k < n; entry = entry->next)
        ret[k++] = entry->task.id;
    return k;
}

/* end_pass_if_over - the roll-over: everything is to do again, in the order of the next pass */
static bool end_pass_if_over(struct task_queue *queue)
{
    struct permutation order;

    if (queue->counts.todo + queue->counts.leased > 0 || task_queue_is_finished(queue) ||
        task_queue_has_failed(queue))
        return false;
    queue->pass++;
    if (task_queue_is_finished(queue))
        return true; /* the last pass keeps its states and counts for the record */
    order = order_of_pass(queue);
    /* not marked: that the pass has moved on says it of all of them */
    for (size_t i = 0; i < queue->n_entries; i++) {
        struct entry *entry = entry_at(queue, &order, i);

        move_todo(queue, entry, false);
        entry->task.failures = 0;
        entry->leased_before = false;
    }
    queue->counts.records_done = 0;
    return true;
}

static void count_failure(struct task_queue *queue, struct entry *entry, bool at_head)
{
    entry->task.failures++;
    if (entry->task.failures > queue->config.failures_max) {
        put_ended(queue, entry, TASK_DISCARDED);
        queue->counts.records_discarded_total += entry->task.n_records;
        queue->counts.tasks_discarded_total++;
    } else {
        put_todo(queue, entry, at_head);
    }
    (void)end_pass_if_over(queue);
}

/* --- a copy
 * -------------------------------------------------------------------------------------------- */

static void copy_entries(struct task_queue *copy, const struct task_queue *queue)
{
    size_t n = queue->n_entries;
    struct entry_block *block = add_block(copy, n);

    task_parts_unref(copy->parts);
    copy->parts = task_parts_ref(queue->parts);
    copy->entries = xcalloc(n, sizeof(struct entry *));
    copy->n_entries = copy->cap_entries = n;
    for (size_t i = 0; i < n; i++) {
        copy->entries[i] = &block->entries[i];
        block->entries[i].task = queue->entries[i]->task;
        block->entries[i].counted_lease = queue->entries[i]->counted_lease;
        block->entries[i].leased_before = queue->entries[i]->leased_before;
    }
}

static void copy_holder(struct task_queue *copy, const struct holder *holder)
{
    struct holder *own = add_holder(copy, holder->incarnation);
    const struct entry *entry;

    own->finished_us = holder->finished_us;
    own->own_us = holder->own_us;
    DL_FOREACH2(holder->held, entry, holder_next)
    {
        join_holder(copy, copy->entries[entry->task.id], holder->incarnation);
        copy->entries[entry->task.id]->n_beside = entry->n_beside;
    }
    tree_remove(&copy->deadlines, &own->by_deadline);
    own->deadline_us = holder->deadline_us; /* as it was when it was set */
    if (own->held != NULL)
        tree_insert(&copy->deadlines, &own->by_deadline);
}

static void copy_holders(struct task_queue *copy, const struct task_queue *queue)
{
    copy->times = queue->times;
    for (const struct holder *holder = queue->holders; holder != NULL; holder = holder->hh.next)
        copy_holder(copy, holder);
}

struct task_queue *task_queue_copy(const struct task_queue *queue)
{
    struct task_queue *copy = task_queue_new(&queue->config);
    const struct entry *entry;

    copy_entries(copy, queue);
    DL_FOREACH(queue->todo, entry)
    DL_APPEND(copy->todo, copy->entries[entry->task.id]);
    copy_holders(copy, queue);
    copy->closed = queue->closed;
    copy->model_saved = queue->model_saved;
    copy->saver = queue->saver;
    copy->model_path = queue->model_path != NULL ? xstrdup(queue->model_path) : NULL;
    copy->pass = queue->pass;
    copy->counts = queue->counts;
    return copy;
}

/* --- events
 * ------------------------------------------------------------------------------------------ */

void task_queue_restore(struct task_queue *queue, uint32_t pass,
                        const struct task_queue_counts *totals)
{
    queue->pass = pass;
    queue->counts.records_total = totals->records_total;
    queue->counts.records_discarded_total = totals->records_discarded_total;
    queue->counts.tasks_discarded_total = totals->tasks_discarded_total;
    queue->counts.retries_total = totals->retries_total;
    task_queue_order(queue);
}

int task_queue_restore_task(struct task_queue *queue, uint32_t id, enum task_state state,
                            uint32_t lease, uint32_t failures, uint64_t holder, uint64_t now_us)
{
    struct entry *entry;

    if (id >= queue->n_entries)
        return -ENOENT;
    entry = queue->entries[id];
    entry->task.lease = lease;
    entry->task.failures = failures;
    if (state == TASK_LEASED)
        put_leased(queue, entry, holder, now_us);
    else if (state != TASK_TODO)
        put_ended(queue, entry, state);
    if (state == TASK_DONE) {
        entry->task.holder = holder;
        entry->counted_lease = lease;
        queue->counts.records_done += entry->task.n_records;
    }
    if (entry->changed) {
        entry->changed = false;
        DL_DELETE2(queue->changed, entry, changed_prev, changed_next);
    }
    return 0;
}

/* name_known - entries that the holder knows of bear the number of its question */
static void name_known(struct task_queue *queue, const struct task_wish *wish)
{
    queue->question++;
    for (size_t i = 0; i < wish->n_known; i++)
        if (wish->known[i] < queue->n_entries)
            queue->entries[wish->known[i]]->named = queue->question;
}

/* What one question brings. */
struct handing {
    struct task_queue *queue;
    uint64_t incarnation, now_us;
    struct task **tasks;
    size_t n, room;
    uint64_t n_chunks;
};

static bool has_room(const struct handing *handing, const struct entry *entry)
{
    return handing->n < handing->room &&
           (handing->n == 0 || handing->n_chunks + entry->task.n_chunks <= TASK_LEASE_CHUNKS_MAX);
}

static void hand(struct handing *handing, struct entry *entry)
{
    put_leased(handing->queue, entry, handing->incarnation, handing->now_us);
    entry->named = handing->queue->question;
    handing->n_chunks += entry->task.n_chunks;
    handing->tasks[handing->n++] = &entry->task;
}

/* hand_again - what this holder was given in an answer that it never saw; it goes behind the others
 * that it holds, of which there are as many before as afterwards */
static void hand_again(struct handing *handing)
{
    struct holder *holder = find_holder(handing->queue, handing->incarnation);
    struct entry *entry = holder != NULL ? holder->held : NULL;

    for (uint32_t left = holder != NULL ? holder->n_held : 0; left > 0; left--) {
        struct entry *next = entry->holder_next;

        if (entry->named != handing->queue->question && has_room(handing, entry))
            hand(handing, entry);
        entry = next;
    }
}

static void hand_new(struct handing *handing)
{
    struct task_queue *queue = handing->queue;
    struct entry *entry;

    while ((entry = queue->todo) != NULL && has_room(handing, entry)) {
        entry->task.lease++;
        queue->counts.retries_total += entry->leased_before;
        entry->leased_before = true;
        hand(handing, entry);
    }
}

/* The holder has the time for all of them, so each is a part of all that it has now. */
static void note_beside(const struct handing *handing)
{
    const struct holder *holder = find_holder(handing->queue, handing->incarnation);

    for (size_t i = 0; i < handing->n; i++) {
        struct entry *entry = (struct entry *)handing->tasks[i]; /* why: first member */

        entry->n_beside = holder->n_held;
    }
}

enum task_lease_result task_queue_lease_some(struct task_queue *queue, uint64_t holder,
                                             const struct task_wish *wish, uint64_t now_us,
                                             struct task **ret, size_t *ret_n)
{
    struct handing handing = {
        .queue = queue, .incarnation = holder, .now_us = now_us, .tasks = ret, .room = wish->n
    };

    if (task_queue_is_finished(queue))
        return TASK_LEASE_FINISHED;
    name_known(queue, wish);
    hand_again(&handing);
    hand_new(&handing);
    if (handing.n == 0)
        return TASK_LEASE_WAIT;
    note_beside(&handing);
    *ret_n = handing.n;
    return TASK_LEASE_GIVEN;
}

enum task_lease_result task_queue_lease(struct task_queue *queue, uint64_t holder,
                                        const uint32_t *known, size_t n_known, uint64_t now_us,
                                        struct task **ret_task)
{
    const struct task_wish wish = { .known = known, .n_known = n_known, .n = 1 };
    size_t n;

    return task_queue_lease_some(queue, holder, &wish, now_us, ret_task, &n);
}

int task_queue_check_pass(const struct task_queue *queue, uint32_t pass, struct edl_error *error)
{
    int code = 0;

    if (pass < queue->pass)
        code = EDL_EPASSBEFORE;
    else if (task_queue_is_finished(queue))
        return 0;
    else if (pass > queue->pass)
        code = EDL_EPASSAFTER;
    else if (task_queue_has_failed(queue))
        code = EDL_EALLTASKSFAILED;
    return code < 0 ? edl_error_set(error, code, "%s", error_code_text(code)) : 0;
}

/* check_lease - the entry, if (id, pass, lease, holder) is what is current */
static int check_lease(struct task_queue *queue, uint32_t id, uint32_t pass, uint32_t lease,
                       uint64_t holder, struct entry **ret, struct edl_error *error)
{
    struct entry *entry;

    if (id >= queue->n_entries)
        return edl_error_at(error, -ENOENT, "/task", "there is no task %u, the last is %zu", id,
                            queue->n_entries - 1);
    entry = queue->entries[id];
    *ret = entry;
    if (entry->task.state == TASK_LEASED && pass == queue->pass && entry->task.lease == lease &&
        entry->task.holder == holder)
        return 0;
    return edl_error_set(
        error, EDL_ESTALE,
        "lease %u of task %u in pass %u is not the current one (lease %u, pass %u)", lease, id,
        pass, entry->task.lease, queue->pass);
}

int task_queue_finish(struct task_queue *queue, uint32_t id, uint32_t pass, uint32_t lease,
                      uint64_t holder, uint64_t now_us, bool *ret_pass_ended,
                      struct edl_error *error)
{
    struct entry *entry = NULL;
    int r;

    if (ret_pass_ended != NULL)
        *ret_pass_ended = false;
    r = check_lease(queue, id, pass, lease, holder, &entry, NULL);
    if (r == EDL_ESTALE && entry->counted_lease == lease && lease != 0 && pass <= queue->pass)
        return 0; /* the answer was lost and it asks again: counted already */
    if (r != 0)
        return check_lease(queue, id, pass, lease, holder, &entry, error);
    note_time(queue, entry, took_us(entry, now_us));
    note_end(queue, entry, now_us);
    put_ended(queue, entry, TASK_DONE);
    entry->task.holder = holder;
    entry->counted_lease = lease;
    queue->counts.records_done += entry->task.n_records;
    queue->counts.records_total += entry->task.n_records;
    r = end_pass_if_over(queue);
    if (ret_pass_ended != NULL)
        *ret_pass_ended = r != 0;
    return 0;
}

int task_queue_fail(struct task_queue *queue, uint32_t id, uint32_t pass, uint32_t lease,
                    uint64_t holder, uint64_t now_us, bool returned, struct edl_error *error)
{
    struct entry *entry;
    int r = check_lease(queue, id, pass, lease, holder, &entry, error);

    if (r != 0)
        return r;
    note_end(queue, entry, now_us);
    if (returned)
        put_todo(queue, entry, true);
    else
        count_failure(queue, entry, false);
    return 0;
}

size_t task_queue_release_holder(struct task_queue *queue, uint64_t incarnation, bool failed)
{
    struct holder *holder = find_holder(queue, incarnation);
    size_t n = 0;

    if (queue->saver == incarnation && !queue->model_saved)
        queue->saver = 0;
    if (holder == NULL)
        return 0;
    for (; holder->held != NULL; n++) {
        if (failed)
            count_failure(queue, holder->held, true);
        else
            put_todo(queue, holder->held, true);
    }
    HASH_DEL(queue->holders, holder);
    free(holder);
    return n;
}

uint64_t task_queue_held_since_us(const struct task_queue *queue, uint64_t incarnation)
{
    const struct holder *holder = find_holder(queue, incarnation);

    return holder != NULL && holder->held != NULL ? holder->held->task.taken_us : NEVER_US;
}

/* Its lease may have been set before tasks were seen to take so long. */
static bool has_expired(struct task_queue *queue, struct holder *holder, uint64_t now_us)
{
    if (deadline_of(queue, holder) > now_us)
        arm(queue, holder);
    return holder->deadline_us <= now_us;
}

size_t task_queue_expire(struct task_queue *queue, uint64_t now_us)
{
    struct holder *holder;
    size_t n = 0;

    while ((holder = first_holder(queue)) != NULL && holder->deadline_us <= now_us) {
        struct entry *entry = holder->held;

        if (!has_expired(queue, holder, now_us))
            continue;
        /* it takes longer than this, if it is ever done: the next lease is twice as long */
        note_time(queue, entry, 2 * took_us(entry, now_us));
        count_failure(queue, entry, false);
        n++;
    }
    return n;
}

uint64_t task_queue_next_deadline_us(const struct task_queue *queue)
{
    const struct holder *holder = first_holder(queue);

    return holder != NULL ? holder->deadline_us : NEVER_US;
}

uint64_t task_queue_held_us(const struct task_queue *queue, uint64_t holder, uint64_t now_us)
{
    uint64_t since_us = task_queue_held_since_us(queue, holder);

    return since_us == NEVER_US ? 0 : now_us - MIN_OF(since_us, now_us);
}

uint64_t task_queue_task_took_us(const struct task_queue *queue, uint32_t id, uint32_t lease,
                                 uint64_t holder, uint64_t now_us)
{
    const struct task *task = id < queue->n_entries ? &queue->entries[id]->task : NULL;

    if (task == NULL || task->state != TASK_LEASED || task->lease != lease ||
        task->holder != holder)
        return 0;
    return took_us(queue->entries[id], now_us);
}

bool task_queue_elect_saver(struct task_queue *queue, uint64_t holder)
{
    if (!task_queue_is_finished(queue) || queue->model_saved)
        return false;
    if (queue->saver == 0)
        queue->saver = holder;
    return queue->saver == holder;
}

static void set_model_path(struct task_queue *queue, const char *path)
{
    free(queue->model_path);
    queue->model_path = path != NULL && *path != '\0' ? xstrdup(path) : NULL;
}

int task_queue_model_saved(struct task_queue *queue, uint64_t holder, const char *path,
                           struct edl_error *error)
{
    if (queue->saver != holder)
        return edl_error_set(error, EDL_ESTALE, "another process was elected to save the model");
    queue->model_saved = true;
    set_model_path(queue, path);
    return 0;
}

bool task_queue_is_model_saved(const struct task_queue *queue)
{
    return queue->model_saved;
}

const char *task_queue_model_path(const struct task_queue *queue)
{
    return queue->model_path != NULL ? queue->model_path : "";
}

uint64_t task_queue_saver(const struct task_queue *queue)
{
    return queue->saver;
}

void task_queue_restore_model(struct task_queue *queue, uint64_t saver, bool saved,
                              const char *path)
{
    queue->saver = saver;
    queue->model_saved = saved;
    set_model_path(queue, path);
}

uint32_t task_queue_pass(const struct task_queue *queue)
{
    return queue->pass;
}

uint32_t task_queue_passes(const struct task_queue *queue)
{
    return queue->config.passes;
}

bool task_queue_is_finished(const struct task_queue *queue)
{
    return queue->pass >= queue->config.passes;
}

bool task_queue_has_failed(const struct task_queue *queue)
{
    const struct task_queue_counts *counts = &queue->counts;

    return counts->discarded > 0 && counts->todo + counts->leased + counts->done == 0;
}

size_t task_queue_n_tasks(const struct task_queue *queue)
{
    return queue->n_entries;
}

const struct task *task_queue_task(const struct task_queue *queue, uint32_t id)
{
    return id < queue->n_entries ? &queue->entries[id]->task : NULL;
}

struct task_queue_counts task_queue_counts(const struct task_queue *queue)
{
    return queue->counts;
}

uint64_t task_queue_bytes(const struct task_queue *queue)
{
    return task_parts_bytes(queue->parts) +
           queue->n_entries * (sizeof(struct entry) + sizeof(void *));
}

void task_queue_set_stored(struct task_queue *queue, uint32_t n)
{
    queue->n_stored = n;
}

uint32_t task_queue_n_stored(const struct task_queue *queue)
{
    return queue->n_stored;
}

void task_queue_take_changed(struct task_queue *queue,
                             void (*fn)(const struct task *task, void *userdata), void *userdata)
{
    struct entry *entry, *next;

    DL_FOREACH_SAFE2(queue->changed, entry, next, changed_next)
    {
        DL_DELETE2(queue->changed, entry, changed_prev, changed_next);
        entry->changed = false;
        if (fn != NULL)
            fn(&entry->task, userdata);
    }
}

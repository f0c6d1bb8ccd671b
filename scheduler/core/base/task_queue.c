/* SPDX-License-Identifier: Apache-2.0 */
/* task_queue.c - the fault-tolerant master of one job: tasks of a pass, leased, finished, counted
 *
 * Happy path: lease (todo -> leased), finish (leased -> done), last one ends the pass: all go back
 * to todo. Failure modes: a holder dies (release_holder), is too slow (expire) or gives up (fail):
 * back to todo, or discarded after failures_max + 1 failures (deaths: task_deaths.c). Every end of
 * a task checks for the end of the pass, so that a pass whose last task is discarded ends as well.
 * If every task was discarded, nothing follows: the next pass would fare no better, and its job
 * fails.
 *
 * Lists: todo is a FIFO; a leased task is in the list of its holder (task_holders.c). Finish and
 * fail are O(log holders) plus the tasks of that one holder. */
#include "scheduler/core/base/task_queue.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "scheduler/core/base/task_parts.h"
#include "scheduler/core/base/task_queue_internal.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/permutation.h"

struct task_queue *task_queue_new(const struct task_queue_config *config)
{
    struct task_queue *queue = xcalloc(1, sizeof *queue);

    queue->config = *config;
    queue->deadlines.compare = task_holder_compare;
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
    empty->save_asked = queue->save_asked;
    empty->saver_died_before = queue->saver_died_before;
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
    queue->counts.records_lost = counts->records_lost;
    queue->counts.chunks_lost = counts->chunks_lost;
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

/* take_out - removes an entry from the list that its state names */
static void take_out(struct task_queue *queue, struct entry *entry)
{
    switch (entry->task.state) {
    case TASK_TODO:
        DL_DELETE(queue->todo, entry);
        queue->counts.todo--;
        break;
    case TASK_LEASED:
        task_holder_leave(queue, entry);
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

void task_put_todo(struct task_queue *queue, struct entry *entry, bool at_head)
{
    move_todo(queue, entry, at_head);
    mark_changed(queue, entry);
}

void task_put_leased(struct task_queue *queue, struct entry *entry, uint64_t holder,
                     uint64_t now_us)
{
    take_out(queue, entry);
    entry->task.state = TASK_LEASED;
    entry->task.taken_us = now_us;
    queue->counts.leased++;
    task_holder_join(queue, entry, holder);
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
        task_forget_deaths(entry);
        entry->leased_before = false;
        entry->task.lost_records = entry->task.lost_chunks = 0;
    }
    queue->counts.records_done = queue->counts.records_lost = queue->counts.chunks_lost = 0;
    return true;
}

void task_discard(struct task_queue *queue, struct entry *entry)
{
    put_ended(queue, entry, TASK_DISCARDED);
    queue->counts.records_discarded_total += entry->task.n_records;
    queue->counts.tasks_discarded_total++;
    (void)end_pass_if_over(queue);
}

static void count_failure(struct task_queue *queue, struct entry *entry)
{
    entry->task.failures++;
    if (entry->task.failures > queue->config.failures_max)
        task_discard(queue, entry);
    else
        task_put_todo(queue, entry, false);
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

struct task_queue *task_queue_copy(const struct task_queue *queue)
{
    struct task_queue *copy = task_queue_new(&queue->config);
    const struct entry *entry;

    copy_entries(copy, queue);
    DL_FOREACH(queue->todo, entry)
    DL_APPEND(copy->todo, copy->entries[entry->task.id]);
    task_holders_copy(copy, queue);
    copy->closed = queue->closed;
    copy->model_saved = queue->model_saved;
    copy->save_asked = queue->save_asked;
    copy->saver_died_before = queue->saver_died_before;
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
    queue->counts.tasks_deadly_total = totals->tasks_deadly_total;
    queue->counts.retries_total = totals->retries_total;
    queue->counts.records_lost_total = totals->records_lost_total;
    queue->counts.chunks_lost_total = totals->chunks_lost_total;
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
        task_put_leased(queue, entry, holder, now_us);
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

/* check_lease - the entry, if (id, pass, lease, holder) is current */
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

/* count_done - its first accepted finish of the pass */
static void count_done(struct task_queue *queue, struct entry *entry, const struct task_finish *end,
                       uint64_t holder)
{
    put_ended(queue, entry, TASK_DONE);
    entry->task.holder = holder;
    entry->counted_lease = end->lease;
    queue->counts.records_done += entry->task.n_records;
    task_count_lost(queue, entry, end->lost_records, end->lost_chunks);
    queue->counts.records_total += entry->task.n_records - end->lost_records;
    queue->counts.records_lost_total += end->lost_records;
    queue->counts.chunks_lost_total += end->lost_chunks;
}

int task_queue_end(struct task_queue *queue, const struct task_finish *end, uint64_t holder,
                   uint64_t now_us, bool *ret_pass_ended, struct edl_error *error)
{
    struct entry *entry = NULL;
    int r = task_queue_check_lost(queue, end, "", error);

    if (ret_pass_ended != NULL)
        *ret_pass_ended = false;
    if (r < 0)
        return r;
    r = check_lease(queue, end->task, end->pass, end->lease, holder, &entry, NULL);
    if (r == EDL_ESTALE && entry->counted_lease == end->lease && end->lease != 0 &&
        end->pass <= queue->pass)
        return 0; /* the answer was lost and it asks again: counted already */
    if (r != 0)
        return check_lease(queue, end->task, end->pass, end->lease, holder, &entry, error);
    task_note_time(queue, entry, task_took_us(entry, now_us));
    task_note_end(queue, entry, now_us);
    count_done(queue, entry, end, holder);
    r = end_pass_if_over(queue);
    if (ret_pass_ended != NULL)
        *ret_pass_ended = r != 0;
    return 0;
}

int task_queue_finish(struct task_queue *queue, uint32_t id, uint32_t pass, uint32_t lease,
                      uint64_t holder, uint64_t now_us, bool *ret_pass_ended,
                      struct edl_error *error)
{
    const struct task_finish end = { .task = id, .pass = pass, .lease = lease };

    return task_queue_end(queue, &end, holder, now_us, ret_pass_ended, error);
}

int task_queue_fail(struct task_queue *queue, uint32_t id, uint32_t pass, uint32_t lease,
                    uint64_t holder, uint64_t now_us, bool returned, struct edl_error *error)
{
    struct entry *entry;
    int r = check_lease(queue, id, pass, lease, holder, &entry, error);

    if (r != 0)
        return r;
    task_note_end(queue, entry, now_us);
    if (returned)
        task_put_todo(queue, entry, true);
    else
        count_failure(queue, entry);
    return 0;
}

size_t task_queue_release_holder(struct task_queue *queue, uint64_t incarnation,
                                 const struct task_death *death)
{
    struct holder *holder = task_holder_find(queue, incarnation);
    size_t n = 0;

    if (queue->saver == incarnation && !queue->model_saved)
        queue->saver = 0;
    if (holder == NULL)
        return 0;
    for (; holder->held != NULL; n++) {
        if (death != NULL)
            task_count_death(queue, holder->held, death);
        else
            task_put_todo(queue, holder->held, true);
    }
    HASH_DEL(queue->holders, holder);
    free(holder);
    return n;
}

size_t task_queue_take_back(struct task_queue *queue, uint64_t incarnation, uint64_t now_us)
{
    struct holder *holder = task_holder_find(queue, incarnation);
    size_t n = 0;

    for (; task_queue_due_us(queue, incarnation) <= now_us; n++)
        task_put_todo(queue, holder->held, true);
    return n;
}

/* Its lease may have been set before tasks were seen to take so long. */
static bool has_expired(struct task_queue *queue, struct holder *holder, uint64_t now_us)
{
    if (task_holder_deadline_us(queue, holder) > now_us)
        task_holder_arm(queue, holder);
    return holder->deadline_us <= now_us;
}

size_t task_queue_expire(struct task_queue *queue, uint64_t now_us)
{
    struct holder *holder;
    size_t n = 0;

    while ((holder = task_holder_first(queue)) != NULL && holder->deadline_us <= now_us) {
        struct entry *entry = holder->held;

        if (!has_expired(queue, holder, now_us))
            continue;
        /* it takes longer than this, if it is ever done: the next lease is twice as long */
        task_note_time(queue, entry, 2 * task_took_us(entry, now_us));
        count_failure(queue, entry);
        n++;
    }
    return n;
}

bool task_queue_elect_saver(struct task_queue *queue, uint64_t holder)
{
    if (!task_queue_is_finished(queue) || queue->model_saved)
        return false;
    if (queue->saver == 0) {
        queue->saver = holder;
        queue->saver_died_before = 0;
    }
    return queue->saver == holder;
}

bool task_queue_ask_to_save(struct task_queue *queue, uint64_t holder)
{
    queue->save_asked |= task_queue_is_finished(queue);
    return task_queue_elect_saver(queue, holder);
}

void task_queue_holder_ends(struct task_queue *queue, uint64_t incarnation, bool well,
                            uint64_t next)
{
    if (!well && queue->saver == incarnation && !queue->model_saved)
        queue->saver_died_before = next;
    else if (well && incarnation >= queue->saver_died_before)
        queue->saver_died_before = 0;
}

bool task_queue_saver_died(const struct task_queue *queue)
{
    return queue->saver_died_before != 0;
}

bool task_queue_save_asked(const struct task_queue *queue)
{
    return queue->save_asked;
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

void task_queue_restore_model(struct task_queue *queue, uint64_t saver, bool asked, bool saved,
                              const char *path)
{
    queue->saver = saver;
    queue->save_asked = asked;
    queue->model_saved = saved;
    set_model_path(queue, path);
}

uint32_t task_queue_pass(const struct task_queue *queue)
{
    return queue->pass;
}

void task_queue_wish_passes(struct task_queue *queue, uint32_t passes)
{
    if (queue->config.passes_open && passes > 0)
        queue->config.passes = passes;
}

void task_queue_restore_passes(struct task_queue *queue, uint32_t passes)
{
    if (passes > 0)
        queue->config.passes = passes;
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

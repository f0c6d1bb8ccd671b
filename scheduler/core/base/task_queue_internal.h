/* SPDX-License-Identifier: Apache-2.0 */
/* task_queue_internal.h - what a task queue is made of, for the files that move its tasks
 *
 * task_queue.c has the queue as a whole and the moves between its lists, task_holders.c who holds
 * what and until when, task_hand.c what one question brings, task_lost.c the losses of damaged
 * chunks, task_deaths.c what the deaths of holders say. Nobody else includes this. */
#pragma once

#include <uthash.h>

#include "scheduler/core/base/task_queue.h"
#include "scheduler/core/base/task_times.h"
#include "scheduler/core/base/tree.h"

struct task_parts;

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
    uint64_t heard_us;   /* its time counts from here at the earliest: it ended a task, or could
                            be heard again; 0: neither yet */
    uint64_t put_off_us; /* it is not judged before */
    uint64_t own_us;     /* the times of its tasks lately, the longer ones; 0: none yet */
    struct entry *held;  /* the oldest first */
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
    bool save_asked;
    uint64_t saver_died_before; /* the incarnation after that death; 0: see task_queue_saver_died */
    uint64_t saver;
    char *model_path; /* owned; NULL: it was not told */
    uint32_t pass;
    struct task_queue_counts counts; /* kept up to date, never recounted */
};

/* task_lost.c: task_count_lost - of a task that is done: so many of its records, which are counted
 * as done, were not trained */
void task_count_lost(struct task_queue *queue, struct entry *entry, uint64_t records,
                     uint32_t chunks);

/* task_queue.c: task_put_leased - to a holder, from any list
 * task_put_todo - as well; task_discard - for this pass, which may be over by that */
void task_put_leased(struct task_queue *queue, struct entry *entry, uint64_t holder,
                     uint64_t now_us);
void task_put_todo(struct task_queue *queue, struct entry *entry, bool at_head);
void task_discard(struct task_queue *queue, struct entry *entry);

/* task_deaths.c: task_count_death - of its holder: to do again, or discarded
 * task_forget_deaths - another pass begins */
void task_count_death(struct task_queue *queue, struct entry *entry,
                      const struct task_death *death);
void task_forget_deaths(struct entry *entry);

/* task_holders.c */
struct holder *task_holder_find(const struct task_queue *queue, uint64_t incarnation);
/* task_holder_first - the one whose deadline is first; NULL: nobody holds a task */
struct holder *task_holder_first(const struct task_queue *queue);
/* task_holder_compare - the order of the tree of deadlines */
int task_holder_compare(const struct tree_node *a, const struct tree_node *b);
/* task_holder_deadline_us - by when a holder that has tasks should have ended one */
uint64_t task_holder_deadline_us(const struct task_queue *queue, const struct holder *holder);
/* task_holder_arm - its tasks, or its known speed, have changed */
void task_holder_arm(struct task_queue *queue, struct holder *holder);
void task_holder_leave(struct task_queue *queue, struct entry *entry);
void task_holder_join(struct task_queue *queue, struct entry *entry, uint64_t incarnation);
void task_holders_copy(struct task_queue *copy, const struct task_queue *queue);
/* task_took_us - for how long a task was held; beside others, only its part of that */
uint64_t task_took_us(const struct entry *entry, uint64_t now_us);
/* task_note_time - of a task that is held */
void task_note_time(struct task_queue *queue, const struct entry *entry, uint64_t us);
/* task_note_end - its holder says that it is over */
void task_note_end(struct task_queue *queue, const struct entry *entry, uint64_t now_us);

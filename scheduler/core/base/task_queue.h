/* SPDX-License-Identifier: Apache-2.0 */
/* task_queue.h - the fault-tolerant master of one job: tasks of a pass, leased, finished, counted
 *
 * Pure: no I/O, no clock. Every record of a pass is trained at least once and counted exactly once:
 * a task is counted by its first accepted finish of the pass. A task that failed more than
 * failures_max times is discarded for the pass (and counted as such), so a pass always ends; it is
 * tried afresh in the next pass. A pass whose every task was discarded is the queue's failure: no
 * other pass begins. Holders are process incarnations: release_holder returns what a dead one held,
 * at once. The death of a holder is no failure of its tasks: task_deaths.c tells when it is one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct edl_error;

struct task_chunk {
    const char *path; /* of the queue that has it, or of the caller */
    uint64_t offset_bytes;
    uint32_t n_records;
    uint64_t file_bytes; /* of the whole file, when it was cut into tasks */
    uint64_t mtime_us;   /* when it was changed last by then, since 1970; 0: neither is told */
};

enum task_state { TASK_TODO, TASK_LEASED, TASK_DONE, TASK_DISCARDED };

struct task {
    uint32_t id; /* index in the queue */
    enum task_state state;
    uint32_t lease;    /* rises with each lease: the task's incarnation; a stale one is refused */
    uint32_t failures; /* in this pass */
    uint64_t holder;   /* incarnation of the process that holds it; 0 none */
    uint64_t taken_us; /* when that took it up */
    const struct task_chunk *chunks; /* as long as the queue and its copies */
    uint32_t n_chunks;
    uint64_t n_records;
    uint64_t lost_records; /* DONE: of its records, those that its holder could not read */
    uint32_t lost_chunks;  /* in so many chunks */
    uint32_t deaths;       /* in this pass: of holders that died by themselves */
    uint32_t outlived;    /* of these: the others outlived it, and the next one died with it, too */
    uint32_t died_slot;   /* the slot of the last of them; 0 none */
    uint64_t died_before; /* a process of a lower incarnation was there at the last of them */
};

/* A holder died by itself. */
struct task_death {
    uint32_t slot;           /* the holder's; from 1 */
    uint64_t next;           /* the incarnation that the next process of its job gets */
    const uint64_t *at_work; /* incarnations of its job's others that work or wait for work */
    size_t n_at_work;
};

/* The words of a holder about a task that is done. */
struct task_finish {
    uint32_t task, pass, lease;
    uint32_t lost_chunks;  /* damaged ones, whose records were not trained: */
    uint64_t lost_records; /* so many */
    int result;            /* of task_queue_end */
};

struct task_queue_counts {
    uint32_t todo, leased, done, discarded;
    uint64_t records_done;  /* trained in this pass */
    uint64_t records_lost;  /* in this pass, of tasks that are done: their chunks are damaged */
    uint64_t chunks_lost;   /* in this pass */
    uint64_t records_pass;  /* records of one pass */
    uint64_t records_total; /* counted over all passes, this one included */
    uint64_t records_discarded_total, tasks_discarded_total;
    uint64_t tasks_deadly_total; /* of these: for the deaths of their holders */
    uint64_t records_lost_total, chunks_lost_total;
    uint64_t retries_total; /* leases beyond the first of a task in a pass */
};

struct task_queue; /* opaque */

struct task_queue_config {
    uint32_t passes;
    bool passes_open;          /* task_queue_wish_passes counts: the job itself says none */
    uint32_t failures_max;     /* 3: a fourth failure discards */
    uint32_t deaths_max;       /* 5: so many discard that others outlived; 0: none do */
    uint32_t deaths_alone_max; /* so many discard, whatever became of other processes */
    uint64_t lease_timeout_us; /* a leased task not finished by then fails; in truth it is */
    uint64_t
        lease_least_us; /* the length that task_times.h says, from this on; 0: it does not count */
    bool shuffled;      /* each pass has its tasks in another order, that of: */
    uint64_t seed;      /* permutation.h, the pass is the epoch; else that of the ids */
};

enum task_lease_result {
    TASK_LEASE_GIVEN,    /* *ret_task */
    TASK_LEASE_WAIT,     /* nothing to hand out now, but the pass has not ended */
    TASK_LEASE_FINISHED, /* all passes ended */
    TASK_LEASE_EARLY,    /* the pass that is asked for has not begun */
};

/* The wish of a holder. */
struct task_wish {
    const uint32_t *known; /* tasks that it holds as far as it knows: n_known */
    size_t n_known;
    uint32_t n;    /* so many at most */
    bool of_pass;  /* of this pass and no other: */
    uint32_t pass; /* from 0 */
};

struct task_queue *task_queue_new(const struct task_queue_config *config);
struct task_queue *task_queue_free(struct task_queue *queue);

/* task_queue_copy - an independent copy with its orders and deadlines; nothing of it counts as
 * changed. Linear. */
struct task_queue *task_queue_copy(const struct task_queue *queue);

/* task_queue_add - one task at the end (while the queue is built or restored, before it is copied);
 * chunks are copied */
struct task *task_queue_add(struct task_queue *queue, const struct task_chunk *chunks,
                            uint32_t n_chunks);

/* task_queue_wish_passes - what its data set says of passes; counts where passes are open, and
 * while nothing was given out. task_queue_restore_passes - what came of it, as stored; 0: nothing
 */
void task_queue_wish_passes(struct task_queue *queue, uint32_t passes);
void task_queue_restore_passes(struct task_queue *queue, uint32_t passes);

/* task_queue_order - all tasks are there and none was given out: they are to come in the order of
 * the first pass. Linear; nothing to do without shuffled. */
void task_queue_order(struct task_queue *queue);

/* task_queue_next - at most n of the tasks that come next, by id; returns how many */
size_t task_queue_next(const struct task_queue *queue, uint32_t *ret, size_t n);

/* task_queue_close - its job is over: the tasks go, the counts stay; nothing is leased, finished or
 * added any more. Idempotent. */
void task_queue_close(struct task_queue *queue);
bool task_queue_is_closed(const struct task_queue *queue);
/* task_queue_restore_closed - an empty one as it was closed: the counts of its tasks when they
 * went */
void task_queue_restore_closed(struct task_queue *queue, const struct task_queue_counts *counts);

/* task_queue_restore - pass and totals as stored: the tasks are in the order of that pass; then the
 * caller sets the tasks' states through task_queue_restore_task. Of `totals` only the members named
 * *_total are read. */
void task_queue_restore(struct task_queue *queue, uint32_t pass,
                        const struct task_queue_counts *totals);
int task_queue_restore_task(struct task_queue *queue, uint32_t id, enum task_state state,
                            uint32_t lease, uint32_t failures, uint64_t holder, uint64_t now_us);
/* task_queue_restore_deaths - the members of `told` about deaths */
void task_queue_restore_deaths(struct task_queue *queue, uint32_t id, const struct task *told);
/* task_queue_restore_lost - of a task that was restored as done; others have lost nothing */
void task_queue_restore_lost(struct task_queue *queue, uint32_t id, uint64_t records,
                             uint32_t chunks);

/* Of one question: an answer tells the chunks of all its tasks. One task may have more. */
#define TASK_LEASE_CHUNKS_MAX 4096

/* task_queue_lease_some - tasks for a holder, at most wish->n into ret, *ret_n; one at least when
 * GIVEN. First those that it already holds and does not name as known (their answer was lost), then
 * the head of todo. It is not looked at which pass it wants. O(log n) for each, and linear in the
 * tasks that are held and known. */
enum task_lease_result task_queue_lease_some(struct task_queue *queue, uint64_t holder,
                                             const struct task_wish *wish, uint64_t now_us,
                                             struct task **ret, size_t *ret_n);
/* task_queue_lease - one task */
enum task_lease_result task_queue_lease(struct task_queue *queue, uint64_t holder,
                                        const uint32_t *known, size_t n_known, uint64_t now_us,
                                        struct task **ret_task);

/* task_queue_check_pass - 0, or why nothing of this pass is given out now: EDL_EPASSBEFORE it is
 * over, EDL_EPASSAFTER it has not begun, EDL_EALLTASKSFAILED all its tasks were discarded. The
 * answer of upstream's master; 0 too for any pass behind the last one once all are over. */
int task_queue_check_pass(const struct task_queue *queue, uint32_t pass, struct edl_error *error);

/* task_queue_finish - 0 counted or already counted by the same lease; EDL_ESTALE when the lease is
 * not the current one; -ENOENT no such task. *ret_pass_ended: this finish ended the pass. */
int task_queue_finish(struct task_queue *queue, uint32_t id, uint32_t pass, uint32_t lease,
                      uint64_t holder, uint64_t now_us, bool *ret_pass_ended,
                      struct edl_error *error);
/* task_queue_end - task_queue_finish of one that may have lost records: these count as lost and not
 * as done. -EINVAL also as of task_queue_check_lost; of a finish that is said again the first word
 * counts. */
int task_queue_end(struct task_queue *queue, const struct task_finish *end, uint64_t holder,
                   uint64_t now_us, bool *ret_pass_ended, struct edl_error *error);

/* task_queue_check_lost - -EINVAL: its task has not as many records or chunks as it says to be
 * lost, or one without the other. at: where the finish is, for the pointer. Of a task that is not
 * there nothing is said. */
int task_queue_check_lost(const struct task_queue *queue, const struct task_finish *end,
                          const char *at, struct edl_error *error);

/* task_queue_fail - back to the end of todo; counts a failure unless `returned` (the holder was
 * asked to stop) */
int task_queue_fail(struct task_queue *queue, uint32_t id, uint32_t pass, uint32_t lease,
                    uint64_t holder, uint64_t now_us, bool returned, struct edl_error *error);

/* task_queue_release_holder - everything that this incarnation held goes back to the head of todo;
 * returns how many. It has ended: its known speed goes too. death: it died by itself; a task that
 * may be the cause waits at the end of todo, or is discarded. NULL: it was stopped or lost */
size_t task_queue_release_holder(struct task_queue *queue, uint64_t holder,
                                 const struct task_death *death);

/* task_queue_take_back - what this holder has held beyond its time goes back to the head of todo,
 * and counts nothing: it may have no way to tell. Returns how many */
size_t task_queue_take_back(struct task_queue *queue, uint64_t holder, uint64_t now_us);

/* task_queue_held_since_us - when this holder took up the task that it has worked on longest;
 * NEVER_US when it holds none. Linear in its tasks, which are one or two. */
uint64_t task_queue_held_since_us(const struct task_queue *queue, uint64_t holder);

/* task_queue_expire - leases over their deadline fail; returns how many. A holder of n tasks may
 * take n times the lease, from when it took up the oldest or last finished one: so one that takes
 * many at once has the time for them, and one that works loses none. */
size_t task_queue_expire(struct task_queue *queue, uint64_t now_us);
uint64_t task_queue_next_deadline_us(const struct task_queue *queue); /* NEVER_US when none */

/* task_queue_stood_still - this holder stood still for so long until now. Its tasks count as taken
 * up so much later, for its deadline and for their measured times. Linear in its tasks. */
void task_queue_stood_still(struct task_queue *queue, uint64_t holder, uint64_t us,
                            uint64_t now_us);

/* task_queue_unheard - nobody could hear this holder for so long until now: its deadline is so much
 * later, a whole lease from now at most. The measured times of its tasks stay. */
void task_queue_unheard(struct task_queue *queue, uint64_t holder, uint64_t us, uint64_t now_us);

/* task_queue_due_us - when this holder should have ended a task; NEVER_US when it holds none
 * task_queue_put_off - nobody judges it before that, as nobody knows yet whether it stood still */
uint64_t task_queue_due_us(const struct task_queue *queue, uint64_t holder);
void task_queue_put_off(struct task_queue *queue, uint64_t holder, uint64_t until_us);

/* task_queue_held_us - how long this incarnation has held its oldest task; 0 when it holds none */
uint64_t task_queue_held_us(const struct task_queue *queue, uint64_t holder, uint64_t now_us);

/* task_queue_task_took_us - what one task has taken its holder so far: of the time for which it was
 * held, its part beside the others. 0 when it does not hold that by this lease */
uint64_t task_queue_task_took_us(const struct task_queue *queue, uint32_t id, uint32_t lease,
                                 uint64_t holder, uint64_t now_us);

/* Model saving: after the last pass one holder is elected, until it reports done or is released. */
bool task_queue_elect_saver(struct task_queue *queue,
                            uint64_t holder); /* true: it is this holder */
/* task_queue_ask_to_save - the same, of a program that asks: a model is owed from then on, if the
 * last pass is over
 * task_queue_save_asked - whether one has asked */
bool task_queue_ask_to_save(struct task_queue *queue, uint64_t holder);
bool task_queue_save_asked(const struct task_queue *queue);

/* task_queue_holder_ends - by itself, before it is released. One that was elected and does not end
 * well may have been about to ask. next: the incarnation that the next process of its job gets.
 * task_queue_saver_died: so ended the last one that was elected, and none that began since has
 * ended well. Not stored. */
void task_queue_holder_ends(struct task_queue *queue, uint64_t incarnation, bool well,
                            uint64_t next);
bool task_queue_saver_died(const struct task_queue *queue);
/* task_queue_model_saved - path: where, for people; copied; NULL: it was not told */
int task_queue_model_saved(struct task_queue *queue, uint64_t holder, const char *path,
                           struct edl_error *error);
bool task_queue_is_model_saved(const struct task_queue *queue);
/* task_queue_model_path - as it was told; "" when it was not; borrowed */
const char *task_queue_model_path(const struct task_queue *queue);
uint64_t task_queue_saver(
    const struct task_queue *queue); /* the elected one, 0 none; stored with the queue */
void task_queue_restore_model(struct task_queue *queue, uint64_t saver, bool asked, bool saved,
                              const char *path);

uint32_t task_queue_pass(const struct task_queue *queue); /* 0-based; == passes when finished */
uint32_t task_queue_passes(const struct task_queue *queue);
bool task_queue_is_finished(const struct task_queue *queue);
/* task_queue_has_failed - every task of the pass was discarded and none was done: upstream's master
 * calls it ErrAllTaskFailed. It follows from the tasks, so a restart finds it again. */
bool task_queue_has_failed(const struct task_queue *queue);
size_t task_queue_n_tasks(const struct task_queue *queue);
const struct task *task_queue_task(const struct task_queue *queue, uint32_t id);
struct task_queue_counts task_queue_counts(const struct task_queue *queue);

/* task_queue_bytes - the memory that its tasks take, about */
uint64_t task_queue_bytes(const struct task_queue *queue);

/* Tasks at the front that the store has already, written before the queue was a job's: the tasks
 * that are stored with the dataset begin behind them. */
void task_queue_set_stored(struct task_queue *queue, uint32_t n);
uint32_t task_queue_n_stored(const struct task_queue *queue);

/* Tasks changed since the last call, for the store: fn for each as it is now, of the pass that the
 * queue is in; then they are forgotten. NULL: just forget. When a pass ends all others are to do,
 * without failures or a holder, which is not told: the pass says it. */
void task_queue_take_changed(struct task_queue *queue,
                             void (*fn)(const struct task *task, void *userdata), void *userdata);

/* SPDX-License-Identifier: Apache-2.0 */
/* edl/edl.h - what a training program asks of its cluster; edl(3)
 *
 * For programs that run as processes of a job. All calls go to the agent of the same node, over the
 * Unix socket in EDL_SOCKET; no address, token or name has to be known.
 *
 * Calls block, start no thread and keep nothing outside of the client. A client is for one thread
 * at a time; tasks of a process are taken through one client. While agent or scheduler are being
 * restarted calls wait (edl_client_set_patience).
 *
 * Return values are >= 0, or a negative errno, of which edl_last_error says the whole:
 *   -EINVAL        refused as it is, or an argument that cannot be
 *   -EACCES        the caller is no process of this node's
 *   -ENOENT        what was named is not there
 *   -ESTALE        another has taken the place: of the process, which should end; of the holder of
 *                  this task, which is somebody else's now
 *   -ETIMEDOUT     what was waited for did not come in time
 *   -EHOSTUNREACH  agent or scheduler did not answer for as long as the client's patience
 *   -EINTR         told to stop (edl_client_set_stop)
 *   -EPROTO        what came is no answer of an agent
 *   -E2BIG         the question or the answer is too large
 *   -EAGAIN        too many calls at once; of edl_progress, which is said once: agent or scheduler
 *                  are being restarted
 *   -ENOSPC        of edl_progress: nothing can be stored, as a disk is full; other calls wait
 *   -EIO           data that cannot be read, or is not as it was
 *   -EREMOTEIO     any other error of the scheduler
 * or, of edl_tasks_next, an enum edl_pass_error.
 * When memory is out the program is aborted.
 *
 * Times are in microseconds. A timeout of 0 looks once, EDL_FOREVER never ends; the scheduler
 * counts waits in whole seconds, so a timeout may end up to one second later. Time in which the
 * program was stopped belongs to no timeout, but for 3 seconds at most. The caller frees each
 * object that is returned through a pointer to a pointer, with the function of its name; its
 * members are valid until then. Structs that the library makes may grow at their ends; programs
 * make arrays of struct edl_chunk and edl_piece, so those change with the library's version
 * alone. */
#ifndef EDL_EDL_H
#define EDL_EDL_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EDL_API __attribute__((visibility("default")))
#define EDL_FOREVER UINT64_MAX

struct edl_client;

/* ---- the client ---- */

/* edl_client_new - socket_path: NULL for that in EDL_SOCKET; nothing is called yet
 * -ENOENT: EDL_SOCKET is not set, so this is no process of a job; -EINVAL: not an absolute path, or
 * too long for one of a socket. */
EDL_API int edl_client_new(const char *socket_path, struct edl_client **ret);

/* edl_client_free - frees its tasks as well; returns NULL; NULL is accepted */
EDL_API struct edl_client *edl_client_free(struct edl_client *client);

/* edl_client_set_patience - for how long agent and scheduler may be away (default: 5 minutes)
 * A scheduler that cannot store anything is waited for as long as it says so. */
EDL_API void edl_client_set_patience(struct edl_client *client, uint64_t patience_us);

/* edl_client_set_stop - waits end with -EINTR, within four seconds, once *stop is not 0
 * For signal handlers. Borrowed; NULL: none. Calls that wait for nothing are still made, once. */
EDL_API void edl_client_set_stop(struct edl_client *client, const volatile sig_atomic_t *stop);

/* edl_last_error - what was wrong with the last call that failed, and what to do about it
 * One line, the client's, valid until its next call; never NULL. */
EDL_API const char *edl_last_error(const struct edl_client *client);

/* edl_version - of the library: "0.1.0" */
EDL_API const char *edl_version(void);

/* ---- what am I ---- */

struct edl_self {
    const char *job; /* its name */
    uint64_t job_id;
    const char *role;
    uint64_t index;
    uint64_t incarnation; /* rises with each life of this index */
    const char *node;
    const char *address;   /* of this node, for others */
    const uint16_t *ports; /* allocated for this process */
    size_t n_ports;
    const char *workspace;  /* folder; "" when there is none */
    const char *output_dir; /* folder of the job on this node */
    const char *dataset;    /* as the job says, "" when it says nothing */
};

/* edl_self_read - from the environment, without a call
 * -ENOENT: it is not that of a process of a job (edl_last_error names the variable). */
EDL_API int edl_self_read(struct edl_client *client, struct edl_self **ret);
EDL_API struct edl_self *edl_self_free(struct edl_self *self);

#define EDL_SECRET_BYTES 32

/* edl_secret - 32 bytes that the processes of the job know, and nobody else
 * The same for all of them and for the life of the job. Programs that connect to each other prove
 * it, by HMAC of a nonce of the other end say, so that no stranger takes part. It never belongs
 * into an environment, a file or a log. -ENOENT: the scheduler is older than this function. */
EDL_API int edl_secret(struct edl_client *client, uint8_t ret[EDL_SECRET_BYTES]);

/* ---- tasks: the job's data, piece by piece ---- */

struct edl_chunk {
    const char *path;
    uint64_t offset_bytes;
    uint32_t n_records;
    uint64_t file_bytes; /* of the whole file, when it was cut into tasks */
    uint64_t mtime_us;   /* when it was changed last by then, since 1970; 0: neither is told */
};

struct edl_task {
    uint64_t id;
    uint64_t pass;  /* from 0 */
    uint64_t lease; /* rises each time that the task is given out */
    const struct edl_chunk *chunks;
    size_t n_chunks;
};

/* One task of a data set that is put. */
struct edl_piece {
    const struct edl_chunk *chunks; /* borrowed */
    size_t n_chunks;
};

/* edl_dataset_exists - 1 when some process of the job has put the data set, else 0 */
EDL_API int edl_dataset_exists(struct edl_client *client);

/* edl_dataset_put - the list of the job's tasks; what chunks mean is the program's business
 * digest: at most 64 bytes that name the content, so that each process may put it and the first
 * one counts. -ESTALE: another data set was put before; that one is in force. -E2BIG: too many
 * bytes; -EINVAL also for too many tasks: edl_last_error names the bound and what to do. */
EDL_API int edl_dataset_put(struct edl_client *client, const char *digest,
                            const struct edl_piece *pieces, size_t n_pieces);

/* edl_dataset_put_passes - as edl_dataset_put, of a program that goes through its data some times
 * passes: 1 to 1,000,000; they count where the job was submitted without any, and with the data set
 * that is in force. 0: none are said. *ret_passes: as many as the job makes, 0 if its scheduler is
 * older than this function; it may be NULL. */
EDL_API int edl_dataset_put_passes(struct edl_client *client, const char *digest,
                                   const struct edl_piece *pieces, size_t n_pieces, uint64_t passes,
                                   uint64_t *ret_passes);

enum edl_next {
    EDL_NEXT_FINISHED = 0,   /* all passes are done */
    EDL_NEXT_TASK = 1,       /* *ret_task is the caller's */
    EDL_NEXT_SAVE_MODEL = 2, /* all passes are done, and this process, no other, is to save the
                                model and then say so (edl_model_saved); said once to a client, and
                                EDL_NEXT_FINISHED behind it */
};

/* edl_task_next - a task, or an enum edl_next without one; waits while all tasks are with others
 * -ETIMEDOUT: there was none. A task that is freed unanswered is given again. */
EDL_API int edl_task_next(struct edl_client *client, uint64_t timeout_us,
                          struct edl_task **ret_task);

/* What edl_tasks_next returns of a pass that is named; edl_last_error has the words of upstream's
 * master. */
enum edl_pass_error {
    EDL_PASS_BEFORE = -2001,      /* it is over: "pass number smaller than master" */
    EDL_PASS_AFTER = -2002,       /* it has not begun: "pass number larger than master" */
    EDL_NO_MORE_TASK = -2003,     /* others hold the rest of it: "no more available task" */
    EDL_ALL_TASKS_FAILED = -2004, /* none of it could be done: "all task finished" */
};

#define EDL_ANY_PASS UINT64_MAX
#define EDL_TASKS_MAX 256 /* of one call */

/* edl_tasks_next - as edl_task_next, with several tasks in one call, or those of one pass
 * EDL_NEXT_TASK: *ret_n of them, at most n, are in ret, which has room for n (1 to EDL_TASKS_MAX).
 * pass: from 0, or EDL_ANY_PASS; of a pass that is named an enum edl_pass_error says why there are
 * none, EDL_PASS_AFTER and EDL_NO_MORE_TASK at the end of timeout_us. A pass is over for all when
 * that is EDL_PASS_BEFORE; until then a task that others hold may come back. */
EDL_API int edl_tasks_next(struct edl_client *client, uint64_t pass, size_t n, uint64_t timeout_us,
                           struct edl_task **ret, size_t *ret_n);

/* edl_tasks_done - as edl_task_done, of n tasks (1 to EDL_TASKS_MAX) in one call
 * Returns how many of them are counted. ret_counted: NULL, or room for n: whether each is; one that
 * is not is somebody else's by now. */
EDL_API int edl_tasks_done(struct edl_client *client, struct edl_task *const *tasks, size_t n,
                           int *ret_counted);

/* edl_task_lost - so many of its records, in so many of its chunks, are damaged and were not
 * trained; told with edl_task_done or edl_tasks_done, and added to what was said before. They count
 * beside the records that are done. -EINVAL: the task has not as many. */
EDL_API int edl_task_lost(struct edl_client *client, struct edl_task *task, uint64_t n_records,
                          uint32_t n_chunks);

/* edl_task_done - counted: exactly once, however often it is said
 * 0 or, -ESTALE, somebody else's by now: forget what was made of it, and take the next. */
EDL_API int edl_task_done(struct edl_client *client, const struct edl_task *task);

/* edl_task_failed - its data cannot be used; it is tried elsewhere, and after some times left out
 * reason: for people, one line. */
EDL_API int edl_task_failed(struct edl_client *client, const struct edl_task *task,
                            const char *reason);

/* edl_task_return - given back untouched, by no fault of the data */
EDL_API int edl_task_return(struct edl_client *client, const struct edl_task *task,
                            const char *reason);
EDL_API struct edl_task *edl_task_free(struct edl_task *task);

/* edl_model_saved - by whom edl_task_next has chosen; path: where, for people. With a client of
 * NULL, as outside of a job, it does nothing. */
EDL_API int edl_model_saved(struct edl_client *client, const char *path);

/* ---- a sampler: which records a step takes ----
 *
 * A pure function of (seed, epoch, step, global batch). Nothing is remembered and no call is made,
 * so a job that has another size now takes the same records in the same steps. Python has the same
 * numbers (edl.sampler). */

struct edl_sampler {
    uint64_t n_records; /* at most INT64_MAX */
    uint64_t seed;
    uint64_t global_batch; /* records that all processes take together in a step */
};

/* edl_sample - *ret: the number of the record that comes at a place of an epoch
 * Places and numbers go from 0 to n_records - 1, and each record comes once in an epoch. -EINVAL:
 * there is no such place, or n_records is too large; nothing else of the sampler is read. */
EDL_API int edl_sample(const struct edl_sampler *sampler, uint64_t epoch, uint64_t place,
                       uint64_t *ret);

/* edl_sample_step - the numbers of the records of a step, of which rank takes one part of `size`
 * The parts of all ranks, one behind the other, are the same list for any size. ret: the caller's,
 * with room for (global_batch + size - 1) / size numbers; *ret_n: how many there are, which is less
 * in the last step of an epoch. -EINVAL: the epoch has no such step, or the world no such rank. */
EDL_API int edl_sample_step(const struct edl_sampler *sampler, uint64_t epoch, uint64_t step,
                            uint64_t rank, uint64_t size, uint64_t *ret, size_t *ret_n);

/* ---- records: the job's data, one after the other ----
 *
 *     struct edl_client *client = NULL; // outside of a job there is none
 *     (void)edl_client_new(NULL, &client);
 *     edl_records_open(client, "data/train-*", EDL_RECORD_AUTO, 1, &records);
 *     while ((r = edl_records_next(records, &data, &size)) == EDL_RECORD) ...
 *
 * In a job the records are dealt out: each is counted once in each pass, whichever processes there
 * are. The first process puts the data set, a list of the files as they are then. Outside of a job
 * the same calls give all records of the files, in the order of their names. What a person should
 * know goes to stderr, as lines that begin with "edl: ". */

enum edl_record_kind {
    EDL_RECORD_AUTO = 0,     /* RecordIO or lines: each file as it begins; -EIO of any other */
    EDL_RECORD_RECORDIO = 1, /* files of edl recordio */
    EDL_RECORD_LINES = 2,    /* each line of a text, without its newline */
    EDL_RECORD_FILES = 3,    /* each file, a task: its path is the record */
};

enum edl_record_next {
    EDL_RECORD_END = 0,        /* all passes are done */
    EDL_RECORD = 1,            /* there is a record */
    EDL_RECORD_PASS_END = 2,   /* a pass is over for this process; the next call goes on */
    EDL_RECORD_SAVE_MODEL = 3, /* all passes are done, and this process, no other, is to save the
                                  model and then say so (edl_model_saved); said once, and
                                  EDL_RECORD_END behind it */
};

struct edl_records;

/* edl_records_open - nothing is read or called yet
 * client: borrowed until the end, NULL: outside of a job. paths: paths and patterns with commas
 * between them; NULL: those of the job (EDL_DATASET). passes: as many as this program makes over
 * its data; 0: one, or as many as its job says. A job that was submitted with passes makes those,
 * and a line says so when they are others. -EINVAL: there is no such kind. */
EDL_API int edl_records_open(struct edl_client *client, const char *paths,
                             enum edl_record_kind kind, uint64_t passes, struct edl_records **ret);

/* edl_records_next - an enum edl_record_next; *ret_data is valid until the next call, and NULL
 * where there is no record The call says that the record before is done with; a task counts when
 * its last record is. The next task is asked for meanwhile. A damaged chunk loses its records, not
 * its task. A task whose files cannot be read, or have changed, is tried elsewhere. -EIO: there is
 * no data set, four tasks one after the other could not be read, or, outside of a job, one;
 * edl_records_error says which, and the next call goes on behind it. -EBUSY: another process of
 * this incarnation, or another client of this process, takes its tasks, until it ends; or this one
 * was forked from the process that reads these records. Else as edl_task_next. */
EDL_API int edl_records_next(struct edl_records *records, const void **ret_data, size_t *ret_size);

/* edl_records_fail - the record that edl_records_next gave last cannot be used
 * Its task fails, so the pass goes on without it after some tries; closed or given back it would
 * end every process that takes it. The next call goes on with another task. reason: for people, one
 * line. -EINVAL: no record was given. Else as edl_task_failed. */
EDL_API int edl_records_fail(struct edl_records *records, const char *reason);

/* edl_records_error - what was wrong with the last edl_records_next that failed; one line */
EDL_API const char *edl_records_error(const struct edl_records *records);

/* edl_records_pass - the pass of the last record, from 0 */
EDL_API uint64_t edl_records_pass(const struct edl_records *records);

/* edl_records_lost - how many records of damaged chunks this process has passed over */
EDL_API uint64_t edl_records_lost(const struct edl_records *records);

/* edl_records_close - what is not consumed goes back to others; returns NULL; NULL is accepted */
EDL_API struct edl_records *edl_records_close(struct edl_records *records);

/* ---- together: ranks that all agree on ---- */

struct edl_peer {
    const char *role; /* "" where all have the same */
    uint64_t rank;    /* of a world; elsewhere the place in the list */
    uint64_t index;
    uint64_t incarnation;
    const char *node; /* "" where it is not told */
    const char *address;
    const uint16_t *ports;
    size_t n_ports;
    const char *state; /* of edl_hosts: "running" and so on; else "running" */
    const char *note;  /* of a world: what it brought there (edl_world_note); else "" */
};

struct edl_world {
    uint64_t generation; /* never 0 */
    uint64_t rank;       /* the caller's, or EDL_NO_RANK */
    uint64_t size;
    const char *master_address;     /* of rank 0 */
    uint16_t master_port;           /* 0: its role has no ports */
    const struct edl_peer *members; /* by rank */
    size_t n_members;               /* size, or 0: so many that the answer leaves them out */
};

#define EDL_NOTE_BYTES_MAX 1024
#define EDL_NO_RANK UINT64_MAX /* of a world that the caller has looked at only */

/* edl_world_note - a text of UTF-8 that the other members of each world that is joined from now on
 * read: an address, a handle, the name of some shared memory. NULL or "": none. It is copied. The
 * notes of a world never change; the scheduler does not look at them, and remembers them.
 * -E2BIG, -EINVAL: more than EDL_NOTE_BYTES_MAX bytes, or no UTF-8; the note before stays. */
EDL_API int edl_world_note(struct edl_client *client, const char *note);

/* edl_world_join - the next generation of the caller's role that has the caller in it
 * after: the generation that the caller had and is done with, 0: none. 1: *ret is it; 0: there
 * will be none: the caller is being stopped, or all others of a collective job have ended with
 * success before it came; -ETIMEDOUT: others are not there yet. Ask again with the same after. */
EDL_API int edl_world_join(struct edl_client *client, uint64_t after, uint64_t timeout_us,
                           struct edl_world **ret);

/* edl_world_over - 1: somebody came or went, join the next one; 0: not within the timeout */
EDL_API int edl_world_over(struct edl_client *client, uint64_t generation, uint64_t timeout_us);
EDL_API struct edl_world *edl_world_free(struct edl_world *world);

/* edl_world_now - the generation of the caller's role that is there now, without arriving: to
 * arrive would end it, and one who comes late may ask its members for something first. 1: *ret is
 * it, with EDL_NO_RANK; 0: there is none, or it is over and its members are about to meet anew. */
EDL_API int edl_world_now(struct edl_client *client, struct edl_world **ret);

/* edl_world_join_begin, edl_world_over_begin - as above, for a program that has a poll loop:
 * nothing blocks, and several waits of a client go on at once, each over a connection of its own.
 *
 *     edl_world_over_begin(client, world->generation, &wait);
 *     for (;;) {
 *         p.fd = edl_wait_fd(wait), p.events = edl_wait_events(wait);
 *         poll(&p, 1, edl_wait_timeout_ms(wait));
 *         r = edl_wait_go_on(wait, NULL);
 *         if (r != -EAGAIN) ...
 *     }
 *     wait = edl_wait_free(wait);
 *
 * A wait never times out. It borrows its client, and takes the note of the moment in which it
 * began. To free one that has not ended takes no arrival back. */
struct edl_wait;

EDL_API int edl_world_join_begin(struct edl_client *client, uint64_t after, struct edl_wait **ret);
EDL_API int edl_world_over_begin(struct edl_client *client, uint64_t generation,
                                 struct edl_wait **ret);

/* edl_wait_fd - to be polled for edl_wait_events; -1: only its time is waited for. Another one
 * after each edl_wait_go_on. */
EDL_API int edl_wait_fd(const struct edl_wait *wait);
EDL_API short edl_wait_events(const struct edl_wait *wait);

/* edl_wait_timeout_ms - call edl_wait_go_on after so long at the latest; one second at most */
EDL_API int edl_wait_timeout_ms(const struct edl_wait *wait);

/* edl_wait_go_on - -EAGAIN: poll; else what edl_world_join or edl_world_over give, and the wait is
 * over: free it. ret: the world of a join; NULL is accepted of the other. */
EDL_API int edl_wait_go_on(struct edl_wait *wait, struct edl_world **ret);
EDL_API struct edl_wait *edl_wait_free(struct edl_wait *wait);

/* ---- a group: ranks that train together, while some of them come and go ---- */

/* A group goes through the steps of a training. Each step has so many micro-batches, however many
 * ranks there are: each rank computes the gradients of some, and the sum over all of them moves the
 * values of each rank alike. A rank that is lost takes nothing along: the others compute its part
 * of the step and go on. One that comes gets the state of another.
 *
 *     edl_group_new(client, &options, &group);
 *     while ((r = edl_group_begin(group, &step)) == 1) {
 *         while (edl_group_take(group, &m) == 1)
 *             ...     adds the gradient of micro-batch m of step.step to step.gradient
 *         if (edl_group_sum(group, &sum) == 1) {
 *             ...     moves the values by sum
 *             edl_group_commit(group);
 *         }
 *     }
 *
 * Whatever the program computes must follow from the values, the step and the micro-batch: another
 * rank may compute it again. What others see of a training (a checkpoint, a figure) belongs to a
 * step that all have: step.stable.
 *
 * The calls wait in poll(2); no thread is started. */
struct edl_group;

struct edl_group_bucket {
    const char *name; /* for errors: "fc1.weight" */
    uint64_t n_values;
};

struct edl_group_part {
    void *bytes; /* the program's, where they lie for as long as the group lives */
    uint64_t n_bytes;
};

#define EDL_GROUP_MICRO_BATCHES_MAX 128
#define EDL_GROUP_RANKS_MAX 64
#define EDL_GROUP_SIGNATURE_BYTES_MAX 1023

struct edl_group_options {
    uint64_t micro_batches; /* of each step */
    /* micro_batches_of - how many a step has while there are so many ranks; asked when ranks come
     * or go, and behind edl_group_replan. It may follow from the state: of the ranks that have the
     * newest one the answer of one counts for all. NULL: micro_batches always */
    uint64_t (*micro_batches_of)(void *userdata, uint64_t ranks);
    void *userdata; /* of it */
    /* the gradient: f32 values, one bucket after the other */
    const struct edl_group_bucket *buckets;
    uint64_t n_buckets;
    /* all that a step needs and changes: values, slots of the optimizer, counters */
    const struct edl_group_part *state;
    uint64_t n_parts;
    uint64_t step;     /* the last one that is in the state, as of a checkpoint; 0: none */
    uint64_t steps;    /* the last one of the training; 0: edl_group_end tells it */
    int exact;         /* not 0: a sum has the same bits whatever ranks there are (edl(3)) */
    uint64_t port;     /* which of the process's ports the group takes; 0: the first */
    uint64_t alive_us; /* the longest time between two calls of the group: edl_alive is told, and a
                          rank that is frozen is replaced; 0: not told */
    /* what must be the same in all ranks, a line each: "kernels avx2\n"; NULL or "": nothing. A
     * rank with another text is refused by the first line that differs, and edl_group_begin gives
     * -EINVAL. It is copied. */
    const char *signature;
};

struct edl_group_step {
    uint64_t generation, rank, size; /* EDL_NO_RANK: it follows the others before it is one of
                                        them: nothing to take, the sum is theirs */
    uint64_t step;                   /* which is computed now, from 1 */
    uint64_t stable;                 /* the last one that all ranks have */
    uint64_t micro_batches;          /* of this step */
    int state_came;                  /* not 0: the state was taken from another rank just now */
    uint64_t n_values;
    float *gradient; /* the group's */
};

/* edl_group_new - client: of a process of a job, borrowed; NULL: alone, a group of one
 * The role of the process needs one port. Nobody is met before edl_group_begin. */
EDL_API int edl_group_new(struct edl_client *client, const struct edl_group_options *options,
                          struct edl_group **ret);
/* edl_group_free - takes the promise of edl_alive back; NULL is fine; returns NULL */
EDL_API struct edl_group *edl_group_free(struct edl_group *group);

/* edl_group_error - what was wrong with the last call that failed; never NULL */
EDL_API const char *edl_group_error(const struct edl_group *group);

/* edl_group_begin - 1: *ret is the next step; 0: there is none, as the training is complete
 * (ret->stable is its last step) or this process is being stopped */
EDL_API int edl_group_begin(struct edl_group *group, struct edl_group_step *ret);

/* edl_group_take - 1: the micro-batch to compute now; 0: all are taken, or a rank was lost. The one
 * before counts as computed. */
EDL_API int edl_group_take(struct edl_group *group, uint64_t *ret_micro_batch);

/* edl_group_sum - 1: *ret is the sum of the gradients of all micro-batches, valid until the next
 * edl_group_begin; 0: a rank was lost, begin again */
EDL_API int edl_group_sum(struct edl_group *group, const float **ret);

/* edl_group_commit - the state has been moved by the sum; 0 */
EDL_API int edl_group_commit(struct edl_group *group);

/* edl_group_leave - this rank ends behind a step, together with its peers' leave to go on: the next
 * edl_group_begin but one gives 0. Safe in a signal handler. */
EDL_API void edl_group_leave(struct edl_group *group);

/* edl_group_replan - behind the next step that this rank sums with the others, all meet anew, so
 * that micro_batches_of is asked again: by one rank, when its answer would be another one. It costs
 * all ranks one step boundary. */
EDL_API void edl_group_replan(struct edl_group *group);

/* edl_group_end - the state has the last step of the training: each rank says so behind that step,
 * or when a state came that has it, before its next edl_group_begin, which gives 0 */
EDL_API void edl_group_end(struct edl_group *group);

/* Collectives between edl_group_begin and edl_group_commit, the same ones in the same order in each
 * rank. 1; 0: a rank was lost, begin again.
 * edl_group_add_integers - the sums of all ranks, exact (modulo 2^64)
 * edl_group_broadcast - the bytes of that rank
 * edl_group_gather - n bytes of each rank, in the order of ranks */
EDL_API int edl_group_add_integers(struct edl_group *group, int64_t *values, uint64_t n);
EDL_API int edl_group_broadcast(struct edl_group *group, uint64_t rank, void *bytes, uint64_t n);
EDL_API int edl_group_gather(struct edl_group *group, const void *bytes, uint64_t n, void *ret);

/* ---- others: of the job, and services of any job ---- */

struct edl_hosts {
    uint64_t want; /* so many there shall be */
    const struct edl_peer *peers;
    size_t n_peers;
};

/* edl_hosts_of - the live processes of a role of the job, by index */
EDL_API int edl_hosts_of(struct edl_client *client, const char *role, struct edl_hosts **ret);
EDL_API struct edl_hosts *edl_hosts_free(struct edl_hosts *hosts);

struct edl_service {
    const char *name; /* in full */
    uint64_t job_id;
    uint64_t version; /* another one when others serve, or elsewhere */
    const struct edl_peer *peers;
    size_t n_peers;
};

/* edl_service_find - who serves under a name: JOB, or JOB.ROLE
 * known: NULL, and the answer comes at once; else the answer comes when others serve than in
 * known. 1: *ret is news; 0: not within the timeout. Ports of processes are published by
 * themselves; a service has nothing to do for it. */
EDL_API int edl_service_find(struct edl_client *client, const char *name,
                             const struct edl_service *known, uint64_t timeout_us,
                             struct edl_service **ret);
EDL_API struct edl_service *edl_service_free(struct edl_service *service);

/* edl_service_secret - 32 bytes that the processes of a service know, and those of its user's other
 * jobs: what teachers and students prove to each other. -EACCES: the service is another user's. */
EDL_API int edl_service_secret(struct edl_client *client, const char *name,
                               uint8_t ret[EDL_SECRET_BYTES]);

/* ---- distillation: what teachers predict of a program's own data ---- */

/* A student feeds its batches, and gets each of them back in the order that they were fed, with
 * what teachers predict of its samples. Teachers come and go: no batch is lost, and none comes
 * twice. While there is no teacher at all the student waits, and says so on its standard error.
 *
 *     edl_distill_open(client, &options, &distill);
 *     for (;;) {
 *         while (more && edl_distill_has_room(distill))
 *             ...     edl_distill_feed(distill, fields), or more = 0
 *         if (edl_distill_next(distill, EDL_FOREVER, &batch) != 1)
 *             break;
 *         ...         trains with batch->fields and batch->predictions
 *         edl_distill_batch_free(batch);
 *     }
 *     edl_distill_close(distill);
 *
 * No thread is started. */
struct edl_distill;

enum edl_type {
    EDL_FLOAT32,
    EDL_FLOAT64,
    EDL_INT32,
    EDL_INT64,
    EDL_UINT8,
    EDL_FLOAT16,
    EDL_INT8,
    EDL_INT16,
    EDL_BOOL
};

#define EDL_DIMENSIONS_MAX 8

struct edl_tensor {
    const char *name;
    enum edl_type type;
    uint32_t n_dimensions; /* at least 1: the first is that of the samples */
    uint64_t dimensions[EDL_DIMENSIONS_MAX];
    const void *values; /* row by row, without gaps */
};

struct edl_distill_options {
    const char *teachers; /* HOST:PORT, with commas between several; names of machines are looked up
                             once, in edl_distill_open. NULL: those of the service */
    const char *service;  /* JOB or JOB.ROLE; NULL, without teachers: as EDL_TEACHER says */
    const char *const *ins; /* names of the fields of a batch */
    uint64_t n_ins;
    const char *const *predicts; /* names of what teachers are asked for */
    uint64_t n_predicts;
    uint64_t teacher_batch; /* samples of one task for a teacher; 0: 1 */
    uint64_t require; /* so many teachers one student talks to at least, if they are there; more
                         where a teacher would have no student; 0: 1 */
    /* say - what a person should know, a line without its end; NULL: it goes to standard error */
    void (*say)(void *userdata, const char *line);
    void *userdata; /* of it */
};

struct edl_distill_batch {
    uint64_t number; /* from 0, in the order that they were fed */
    uint64_t n_samples;
    const struct edl_tensor *fields; /* as they were fed */
    uint64_t n_fields;
    const struct edl_tensor *predictions; /* in the order of predicts */
    uint64_t n_predictions;
};

/* edl_distill_open - client: of a process of a job, borrowed; NULL: with fixed teachers alone
 * Options are copied. *ret is there whatever is returned, for edl_distill_error and
 * edl_distill_close. The environment may name a file with a secret of fixed teachers:
 * EDL_TEACHER_SECRET_FILE. -EINVAL: as edl_distill_error says. */
EDL_API int edl_distill_open(struct edl_client *client, const struct edl_distill_options *options,
                             struct edl_distill **ret);
/* edl_distill_close - NULL is fine; returns NULL. Batches live on. */
EDL_API struct edl_distill *edl_distill_close(struct edl_distill *distill);

/* edl_distill_error - what was wrong with the last call that failed; never NULL */
EDL_API const char *edl_distill_error(const struct edl_distill *distill);

/* edl_distill_has_room - 1: a batch would be taken; 0: get one first. Tasks without an answer are
 * bounded by what keeps all teachers busy, batches that wait for the program by 256 MB. */
EDL_API int edl_distill_has_room(const struct edl_distill *distill);

/* edl_distill_feed - a batch: as many tensors as there are ins, in their order, which have the same
 * number of samples. They are copied. 0; -EAGAIN: there is no room; -EINVAL */
EDL_API int edl_distill_feed(struct edl_distill *distill, const struct edl_tensor *fields);

/* edl_distill_next - 1: *ret is the next batch, the caller's; 0: all that were fed have been given;
 * -ETIMEDOUT: not yet. -EINVAL: no teacher fits, or teachers have different models; -EREMOTEIO:
 * three teachers could not answer; another error: the service cannot be asked for. After an error
 * the student is over. */
EDL_API int edl_distill_next(struct edl_distill *distill, uint64_t timeout_us,
                             struct edl_distill_batch **ret);
EDL_API struct edl_distill_batch *edl_distill_batch_free(struct edl_distill_batch *batch);

/* edl_distill_fd - for a program with a poll loop of its own: it is readable when edl_distill_next
 * with a timeout of 0 has something to do, which may be no batch yet. Ask until it gives none, then
 * poll. The same descriptor for the life of the student. */
EDL_API int edl_distill_fd(const struct edl_distill *distill);

struct edl_distill_counts {
    uint64_t teachers; /* that are connected now */
    uint64_t tasks, answers;
    uint64_t repeats;   /* tasks that went to another teacher as they were late */
    uint64_t waited_us; /* of the program, in edl_distill_next */
};

EDL_API void edl_distill_count(const struct edl_distill *distill, struct edl_distill_counts *ret);

/* ---- what others are to know ---- */

/* edl_progress - how far this process is, for `edl show`: a JSON object of at most 16 numbers,
 * texts and booleans: {"step": 1200, "loss": 0.31}. Said once, as nothing depends on it. */
EDL_API int edl_progress(struct edl_client *client, const char *json);

/* edl_step - one step of training is done, over so many samples of this process's own: for `edl
 * show`, and for the scheduler, which learns from it how fast the job is at which size and whose
 * machine is slow. Each process of the role says its own part.
 *
 * step: its number, or EDL_AUTO: one more than the last. compute_us: how long this process was at
 * work on it, or EDL_AUTO: the time since the last edl_step but for wait_us, of the first one 0.
 * wait_us: how long it waited, for its peers say: all finish a step together, and only this tells
 * who is slow. Costs less than a microsecond: what is done in a second is told in one message that
 * nobody waits for, and an agent that is away is told later. With a client of NULL, as outside of a
 * job, it does nothing. 0, or -EINVAL: a number beyond 2^53 - 1. */
#define EDL_AUTO UINT64_MAX
EDL_API int edl_step(struct edl_client *client, uint64_t step, uint64_t samples,
                     uint64_t compute_us, uint64_t wait_us);

/* edl_metrics - figures that are kept with the job, a JSON object; replaces the one before */
EDL_API int edl_metrics(struct edl_client *client, const char *json);

/* edl_alive - this process is alive, and promises to say so again within that time: one second to a
 * day; 0 takes the promise back
 *
 * A process that broke it is killed, as a failure of its own (the event stood-still), so that its
 * peers need not wait for it. Time in which the cluster had frozen it does not count, nor time in
 * which its agent did not listen. Say it several times within the time, from a thread that nothing
 * holds up. Told once: an error is worth another try, and -EREMOTEIO is that of an agent that is
 * older than this function. */
EDL_API int edl_alive(struct edl_client *client, uint64_t within_us);

/* edl_checkpoint_done - what this process has to save is saved
 * 1: it is being stopped and may end now, its grace is over for it; 0: it is not, go on. */
EDL_API int edl_checkpoint_done(struct edl_client *client);

#ifdef __cplusplus
}
#endif
#endif

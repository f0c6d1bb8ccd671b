/* SPDX-License-Identifier: Apache-2.0 */
/* worker.h - what takes long, beside the loop: one thread that does it, one after the other
 *
 * The scheduler is one thread and one loop. A few calls can take as long as a disk or a server far
 * away likes, and the system has no other form of them: fdatasync(2), getpwuid_r(3). They are made
 * here, and megabytes are parsed, and nothing else: `run` sees what its job holds; it reads no
 * state of the scheduler, logs nothing and takes no lock. Everything that decides is in `done`,
 * which the loop calls. The caller that starts jobs bounds their number.
 *
 * The thread is made with the first job. Where none can be made, jobs are done in the loop.
 *
 * Used by: workspaces.c (disks), workspace_rows.c (a database), peer.c and account_numbers.c
 * (accounts), datasets.c, body_reads.c (JSON), history/reads.c (many rows), notices.c (mails and
 * webhooks). Tests: tests/unit/test_worker.c. */
#pragma once

#include <stdbool.h>
#include <systemd/sd-event.h>

struct edl_error;
struct worker;

/* A member of its owner's object for the job; the owner's again once done was called. */
struct worker_job {
    void (*run)(struct worker_job *job);  /* in the thread */
    void (*done)(struct worker_job *job); /* in the loop, from no other call of its owner's */
    struct worker_job *next;
    /* frees it when it is abandoned; NULL: free(3) does */
    void (*drop)(struct worker_job *job);
};

/* worker_new - name: of the thread, 15 characters at most */
int worker_new(sd_event *event, const char *name, struct worker **ret, struct edl_error *error);

/* worker_has_thread - makes it where there is none yet; false: none can be had, and jobs would be
 * done in the loop */
bool worker_has_thread(struct worker *worker);

/* worker_start - in the order in which they were started; it is done when the loop says so */
void worker_start(struct worker *worker, struct worker_job *job);

/* worker_pause - done is called for no job until it ends; NULL is accepted */
void worker_pause(struct worker *worker, bool pause);

/* worker_wait - until all that was started is run; calls done for it. At the end of a process: the
 * loop stands still */
void worker_wait(struct worker *worker);

/* worker_free - waits until all that was started is run, and calls done for it, which may start
 * more; NULL is accepted Returns NULL. */
struct worker *worker_free(struct worker *worker);

/* worker_abandon - as worker_free, but waits for nothing and calls nothing: for calls that may
 * never come back. Jobs end with their drop, or have to be blocks of malloc's with the worker_job
 * first that hold nothing else; that which is running ends once it comes back. */
struct worker *worker_abandon(struct worker *worker);

/* worker_abandon_to - the same, but last is run in the thread behind that which is running: it
 * frees what jobs share; and is freed itself. NULL: there is none */
struct worker *worker_abandon_to(struct worker *worker, struct worker_job *last);

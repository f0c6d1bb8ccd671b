/* SPDX-License-Identifier: Apache-2.0 */
/* worker.c - see worker.h */
#include "scheduler/worker.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

struct jobs {
    struct worker_job *first, *last;
};

struct worker {
    char name[16];
    sd_event_source *source; /* owned: the loop hears of finished jobs */
    int done_fd;             /* owned: eventfd */
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t wanted;
    pthread_cond_t idle;
    struct jobs waiting, done;
    bool busy;      /* the thread runs one */
    bool ending;    /* the thread ends when nothing waits */
    bool abandoned; /* the rest is the thread's to free */
};

static void push(struct jobs *jobs, struct worker_job *job)
{
    job->next = NULL;
    if (jobs->first == NULL)
        jobs->first = job;
    else
        jobs->last->next = job;
    jobs->last = job;
}

static struct worker_job *pop(struct jobs *jobs)
{
    struct worker_job *job = jobs->first;

    if (job != NULL)
        jobs->first = job->next;
    return job;
}

static void drop_one(struct worker_job *job)
{
    if (job->drop != NULL)
        job->drop(job);
    else
        free(job);
}

static void drop(struct jobs *jobs)
{
    struct worker_job *job;

    while ((job = pop(jobs)) != NULL)
        drop_one(job);
}

static void destroy(struct worker *worker)
{
    (void)safe_close(worker->done_fd);
    (void)pthread_cond_destroy(&worker->wanted);
    (void)pthread_cond_destroy(&worker->idle);
    (void)pthread_mutex_destroy(&worker->lock);
    free(worker);
}

/* Behind this the loop may see the job. */
static void tell_done(struct worker *worker, struct worker_job *job)
{
    const uint64_t one = 1;

    push(&worker->done, job);
    (void)!write(worker->done_fd, &one, sizeof one);
}

static void *thread_main(void *userdata)
{
    struct worker *worker = userdata;
    bool abandoned;

    (void)pthread_mutex_lock(&worker->lock);
    for (;;) {
        struct worker_job *job;

        while (worker->waiting.first == NULL && !worker->ending)
            (void)pthread_cond_wait(&worker->wanted, &worker->lock);
        job = pop(&worker->waiting);
        if (job == NULL)
            break;
        worker->busy = true;
        (void)pthread_mutex_unlock(&worker->lock);
        job->run(job);
        (void)pthread_mutex_lock(&worker->lock);
        worker->busy = false;
        if (worker->abandoned)
            drop_one(job);
        else
            tell_done(worker, job);
        (void)pthread_cond_signal(&worker->idle);
    }
    abandoned = worker->abandoned;
    (void)pthread_mutex_unlock(&worker->lock);
    if (abandoned)
        destroy(worker);
    return NULL;
}

/* end_jobs - those that are done now, and not those that they start: the loop has other sources,
 * too; false: there are none */
static bool end_jobs(struct worker *worker)
{
    struct worker_job *job;
    struct jobs done;

    (void)pthread_mutex_lock(&worker->lock);
    done = worker->done;
    worker->done = (struct jobs){ 0 };
    (void)pthread_mutex_unlock(&worker->lock);
    if (done.first == NULL)
        return false;
    while ((job = pop(&done)) != NULL)
        job->done(job);
    return true;
}

static int on_done(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    uint64_t n;

    (void)source;
    (void)events;
    (void)!read(fd, &n, sizeof n);
    (void)end_jobs(userdata);
    return 0;
}

int worker_new(sd_event *event, const char *name, struct worker **ret, struct edl_error *error)
{
    struct worker *worker = xcalloc(1, sizeof *worker);
    int r;

    (void)snprintf(worker->name, sizeof worker->name, "%s", name);
    (void)pthread_mutex_init(&worker->lock, NULL);
    (void)pthread_cond_init(&worker->wanted, NULL);
    (void)pthread_cond_init(&worker->idle, NULL);
    worker->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    r = worker->done_fd == -1 ? -errno : 0;
    if (r == 0)
        r = sd_event_add_io(event, &worker->source, worker->done_fd, EPOLLIN, on_done, worker);
    if (r < 0) {
        destroy(worker);
        return edl_error_errno(error, r, "cannot put the thread %s on the event loop", name);
    }
    (void)sd_event_source_set_description(worker->source, worker->name);
    *ret = worker;
    return 0;
}

/* Signals are the loop's. */
bool worker_has_thread(struct worker *worker)
{
    sigset_t all, before;

    if (worker->has_thread)
        return true;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    worker->has_thread = pthread_create(&worker->thread, NULL, thread_main, worker) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (worker->has_thread)
        (void)pthread_setname_np(worker->thread, worker->name);
    return worker->has_thread;
}

void worker_start(struct worker *worker, struct worker_job *job)
{
    /* nobody else writes it; what the last ones start at the end is done in the loop */
    bool threaded = !worker->ending && worker_has_thread(worker);

    if (!threaded)
        job->run(job);
    (void)pthread_mutex_lock(&worker->lock);
    if (threaded) {
        push(&worker->waiting, job);
        (void)pthread_cond_signal(&worker->wanted);
    } else {
        tell_done(worker, job);
    }
    (void)pthread_mutex_unlock(&worker->lock);
}

void worker_pause(struct worker *worker, bool pause)
{
    if (worker != NULL)
        (void)sd_event_source_set_enabled(worker->source, pause ? SD_EVENT_OFF : SD_EVENT_ON);
}

void worker_wait(struct worker *worker)
{
    (void)pthread_mutex_lock(&worker->lock);
    while (worker->busy || worker->waiting.first != NULL)
        (void)pthread_cond_wait(&worker->idle, &worker->lock);
    (void)pthread_mutex_unlock(&worker->lock);
    while (end_jobs(worker))
        continue;
}

struct worker *worker_free(struct worker *worker)
{
    if (worker == NULL)
        return NULL;
    (void)pthread_mutex_lock(&worker->lock);
    worker->ending = true;
    (void)pthread_cond_signal(&worker->wanted);
    (void)pthread_mutex_unlock(&worker->lock);
    if (worker->has_thread)
        (void)pthread_join(worker->thread, NULL);
    worker->source = sd_event_source_disable_unref(worker->source);
    while (end_jobs(worker))
        continue;
    destroy(worker);
    return NULL;
}

struct worker *worker_abandon(struct worker *worker)
{
    return worker_abandon_to(worker, NULL);
}

static void run_and_free(struct worker_job *job)
{
    if (job != NULL)
        job->run(job);
    free(job);
}

struct worker *worker_abandon_to(struct worker *worker, struct worker_job *last)
{
    pthread_t thread;

    if (worker == NULL)
        return NULL;
    if (!worker->has_thread) {
        (void)sd_event_source_disable_unref(worker->source);
        drop(&worker->done);
        destroy(worker);
        run_and_free(last);
        return NULL;
    }
    thread = worker->thread;
    (void)sd_event_source_disable_unref(worker->source);
    (void)pthread_mutex_lock(&worker->lock);
    worker->ending = worker->abandoned = true;
    drop(&worker->waiting);
    drop(&worker->done);
    if (last != NULL)
        push(&worker->waiting, last);
    (void)pthread_cond_signal(&worker->wanted);
    (void)pthread_mutex_unlock(&worker->lock);
    (void)pthread_detach(thread); /* the worker is its own from the lock on */
    return NULL;
}

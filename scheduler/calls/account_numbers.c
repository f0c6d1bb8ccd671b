/* SPDX-License-Identifier: Apache-2.0 */
/* account_numbers.c - see account_numbers.h
 *
 * Of each name there is one question under way at most. A database that fails is asked again and
 * again: to start a process without an answer would be to guess who it belongs to. */
#include "scheduler/calls/account_numbers.h"

#include <errno.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <uthash.h>

#include "scheduler/worker.h"
#include "shared/account_name.h"
#include "shared/clock.h"
#include "shared/log.h"
#include "shared/macro.h"

#define PASSWD_BYTES 16384
#define NAMES_MAX 4096
#define TIMER_ACCURACY_US (100 * USEC_PER_MSEC)

struct number {
    char name[ACCOUNT_NAME_MAX + 1];
    uid_t uid;
    bool there, answered, asking, failed;
    uint64_t asked_us;
    sd_event_source *retry; /* owned; NULL: none is due */
    struct account_numbers *numbers;
    UT_hash_handle hh;
};

struct account_numbers {
    struct number *all;    /* owned; uthash by name, the last one that was asked for at the end */
    sd_event *event;       /* owned reference */
    struct worker *worker; /* owned */
    void (*known)(const char *name, void *userdata);
    void *userdata;
};

struct question {
    struct worker_job job; /* first */
    struct account_numbers *numbers;
    char name[ACCOUNT_NAME_MAX + 1];
    int error; /* positive errno of a database that fails */
    bool there;
    uid_t uid;
};

int account_numbers_new(sd_event *event, void (*known)(const char *name, void *userdata),
                        void *userdata, struct account_numbers **ret, struct edl_error *error)
{
    struct account_numbers *numbers = xcalloc(1, sizeof *numbers);
    int r = worker_new(event, "edl-numbers", &numbers->worker, error);

    if (r < 0) {
        free(numbers);
        return r;
    }
    numbers->event = sd_event_ref(event);
    numbers->known = known;
    numbers->userdata = userdata;
    *ret = numbers;
    return 0;
}

static void drop(struct account_numbers *numbers, struct number *number)
{
    HASH_DEL(numbers->all, number);
    (void)sd_event_source_disable_unref(number->retry);
    free(number);
}

struct account_numbers *account_numbers_free(struct account_numbers *numbers)
{
    struct number *number, *next;

    if (numbers == NULL)
        return NULL;
    numbers->worker = worker_abandon(numbers->worker);
    HASH_ITER(hh, numbers->all, number, next)
    {
        drop(numbers, number);
    }
    (void)sd_event_unref(numbers->event);
    free(numbers);
    return NULL;
}

void account_numbers_pause(struct account_numbers *numbers, bool pause)
{
    if (numbers != NULL)
        worker_pause(numbers->worker, pause);
}

static void run_question(struct worker_job *job)
{
    struct question *question = (struct question *)job;
    struct passwd entry, *found = NULL;
    char buffer[PASSWD_BYTES];
    int r = getpwnam_r(question->name, &entry, buffer, sizeof buffer, &found);

    /* what getpwnam(3) says of modules that have no such account */
    question->error = r == ENOENT || r == ESRCH || r == EBADF || r == EPERM ? 0 : r;
    question->there = r == 0 && found != NULL;
    question->uid = question->there ? found->pw_uid : 0;
}

static void ask(struct number *number, uint64_t now_us);

static int on_retry(sd_event_source *source, uint64_t time_us, void *userdata)
{
    struct number *number = userdata;

    (void)source;
    (void)time_us;
    number->retry = sd_event_source_disable_unref(number->retry);
    if (!number->asking)
        ask(number, clock_read_us(CLOCK_BOOTTIME));
    return 0;
}

static void try_again(struct number *number, int error)
{
    if (!number->failed)
        log_warning("the account database does not say which number %s has: %s; until it does, no "
                    "process starts as %s",
                    number->name, strerror(error), number->name);
    number->failed = true;
    if (number->retry == NULL)
        (void)sd_event_add_time_relative(number->numbers->event, &number->retry, CLOCK_MONOTONIC,
                                         ACCOUNT_NUMBER_RETRY_US, TIMER_ACCURACY_US, on_retry,
                                         number);
}

static struct number *find(struct account_numbers *numbers, const char *name)
{
    struct number *number;

    HASH_FIND_STR(numbers->all, name, number);
    return number;
}

static void on_answer(struct worker_job *job)
{
    struct question *question = (struct question *)job;
    struct account_numbers *numbers = question->numbers;
    struct number *number = find(numbers, question->name);
    bool is_new = !number->answered;

    number->asking = false;
    if (question->error != 0) {
        if (is_new) /* else the last answer counts */
            try_again(number, question->error);
    } else {
        number->answered = true;
        number->failed = false;
        number->there = question->there;
        number->uid = question->uid;
        if (is_new)
            numbers->known(number->name, numbers->userdata);
    }
    free(question);
}

static void ask(struct number *number, uint64_t now_us)
{
    struct question *question = xcalloc(1, sizeof *question);

    *question = (struct question){ .job = { .run = run_question, .done = on_answer },
                                   .numbers = number->numbers };
    memcpy(question->name, number->name, sizeof question->name);
    number->asking = true;
    number->asked_us = now_us;
    worker_start(number->numbers->worker, &question->job);
}

/* The name that was asked for longest ago makes room. */
static struct number *add(struct account_numbers *numbers, const char *name)
{
    struct number *number = numbers->all;

    while (number != NULL && number->asking)
        number = number->hh.next;
    if (HASH_COUNT(numbers->all) >= NAMES_MAX && number != NULL)
        drop(numbers, number);
    number = xcalloc(1, sizeof *number);
    (void)snprintf(number->name, sizeof number->name, "%s", name);
    number->numbers = numbers;
    HASH_ADD_STR(numbers->all, name, number);
    return number;
}

int account_number(struct account_numbers *numbers, const char *name, uint64_t now_us, uid_t *ret)
{
    struct number *number;

    if (numbers == NULL || !account_name_valid(name))
        return 0;
    number = find(numbers, name);
    if (number == NULL)
        number = add(numbers, name);
    if (!number->asking && number->retry == NULL &&
        (!number->answered || now_us - number->asked_us >= ACCOUNT_NUMBER_FRESH_US))
        ask(number, now_us);
    if (!number->answered)
        return -EAGAIN;
    *ret = number->uid;
    return number->there;
}

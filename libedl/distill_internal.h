/* SPDX-License-Identifier: Apache-2.0 */
/* distill_internal.h - a student and its teachers, for the files of distill */
#pragma once

#include "libedl/client.h"
#include "libedl/distill_dispatch.h"
#include "libedl/distill_link.h"
#include "libedl/distill_source.h"
#include "shared/teacher_welcome.h"

enum distill_stage {
    DISTILL_AWAY,
    DISTILL_CONNECTING,
    DISTILL_CHALLENGED, /* its CHALLENGE comes next */
    DISTILL_PROVED,     /* its WELCOME comes next */
    DISTILL_READY
};

struct distill_teacher {
    uint32_t number; /* of the dispatch, and of events */
    char *name;      /* HOST:PORT; owned */
    union socket_address to;
    socklen_t to_size;
    enum distill_stage stage;
    struct distill_link link;
    uint32_t watched; /* events of link that are in the epoll */
    uint8_t nonce[TEACHER_NONCE_BYTES];
    uint64_t since_us; /* of the stages before READY */
    uint64_t again_us; /* when it is tried next; AWAY */
    uint64_t pause_us;
    size_t *feeds; /* places in ins of the fields that it wants; owned */
    size_t n_feeds;
    uint64_t offered; /* what it was told */
    char *unfit;      /* why it can never answer; owned */
    char said[400];   /* about it, last */
    bool is_named;    /* by the source; it is forgotten else */
    struct distill_teacher *prev, *next;
};

struct edl_distill {
    struct edl_client *client; /* borrowed; NULL: no process of a job */
    char **ins, **predicts;    /* owned */
    size_t n_ins, n_predicts;
    uint64_t teacher_batch, require;
    void (*say)(void *userdata, const char *line);
    void *userdata;

    int epoll_fd, timer_fd;
    uint64_t timer_us; /* when it goes off */
    struct distill_source source;
    struct distill_teacher *teachers; /* owned; utlist */
    uint32_t last_number;
    struct teacher_tensors *answer; /* room for one; owned */

    struct distill_dispatch dispatch;
    struct distill_batch *batches;      /* in order; owned; utlist */
    uint64_t n_batches, n_fed, n_taken; /* batches; tasks */
    uint64_t held_bytes;                /* of their fields */
    struct edl_distill_counts counts;

    bool told_none;
    uint64_t none_since_us;
    int failure; /* what all calls give from now on, with error */
    struct edl_error error;
    char text[CLIENT_TEXT_MAX];
};

void distill_say(struct edl_distill *distill, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* distill_fail - the first error of the student stays */
void distill_fail(struct edl_distill *distill, int code);

/* distill_batch_of - the batch of a task that is not given to the program yet; NULL: it was */
struct distill_batch *distill_batch_of(struct edl_distill *distill, uint64_t task);

/* ---- distill_teacher.c ---- */

struct distill_teacher *distill_teacher_new(struct edl_distill *distill,
                                            const struct distill_place *place);
void distill_teacher_free(struct edl_distill *distill, struct distill_teacher *teacher);

/* distill_teacher_tend - dials it, or gives it up, when it is time */
void distill_teacher_tend(struct edl_distill *distill, struct distill_teacher *teacher,
                          uint64_t now_us);
uint64_t distill_teacher_next_us(const struct edl_distill *distill,
                                 const struct distill_teacher *teacher);

/* distill_teacher_serve - its connection has something */
void distill_teacher_serve(struct edl_distill *distill, struct distill_teacher *teacher,
                           uint64_t now_us);

/* distill_teacher_send - what goes without a wait; false: the connection broke */
bool distill_teacher_send(struct edl_distill *distill, struct distill_teacher *teacher,
                          uint64_t now_us);

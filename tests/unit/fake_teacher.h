/* SPDX-License-Identifier: Apache-2.0 */
/* fake_teacher.h - a teacher of p = 2 x + 1 that does what a test wants, in a thread; of one
 * student at a time */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

enum fake_way {
    FAKE_ANSWERS,
    FAKE_IS_FROZEN,  /* takes tasks, and gives credit, and does not answer */
    FAKE_HANGS_UP,   /* with tasks unanswered */
    FAKE_GREETS_NOT, /* random bytes instead */
    FAKE_RAVES,      /* random frames instead of answers */
    FAKE_SAYS_NAN,
    FAKE_SAYS_FEWER, /* samples than it was asked about */
    FAKE_SAYS_OTHER, /* q instead of p */
    FAKE_SAYS_WIDER, /* three values for each sample: another model */
    FAKE_FAILS
};

struct fake_options {
    enum fake_way way;
    uint32_t after; /* so many answers of a connection */
    uint16_t port;  /* 0: a free one */
    uint8_t secret; /* each of its bytes */
    uint64_t seed;
    const char *welcome; /* NULL: of any fields */
};

struct fake_teacher {
    struct fake_options options;
    pthread_t thread;
    int listen_fd;
    uint16_t port;
    atomic_int fd; /* of the student; -1: none */
    atomic_bool is_over;
    atomic_uint n_offers, n_tasks, n_connections;
};

void fake_teacher_begin(struct fake_teacher *teacher, const struct fake_options *options);
void fake_teacher_end(struct fake_teacher *teacher);

/* SPDX-License-Identifier: Apache-2.0 */
/* distill_source.h - which teachers there are, and what proves that one may ask them
 *
 * Teachers are fixed, or those of a service. The agent is asked without any wait: who serves, how
 * many students there are, and the secret of the service. */
#pragma once

#include <stdbool.h>

#include "libedl/client.h"
#include "shared/http_plain.h"
#include "shared/job_secret.h"
#include "shared/patience.h"
#include "shared/socket_address.h"

/* One question at a time, which is asked until it is answered. */
struct distill_ask {
    struct edl_client *client; /* borrowed */
    int epoll_fd;              /* borrowed; its events have the number of this ask */
    uint64_t number;
    uint32_t watched; /* events that are; 0: it is not in there */
    char path[512];   /* "": nothing is asked */
    bool is_asking;   /* exchange is under way; else there is a pause until again_us */
    bool is_ready;    /* the caller saw that its descriptor has something */
    struct http_plain exchange;
    uint64_t again_us, end_us; /* of the pause; of the exchange */
    unsigned pause_ms;
    struct patience patience; /* with failures */
};

/* Where a teacher is. */
struct distill_place {
    char *name; /* HOST:PORT, for people; owned */
    union socket_address to;
    socklen_t size;
};

enum distill_next_ask { DISTILL_ASK_NEWS, DISTILL_ASK_STUDENTS };

struct distill_source {
    char *service; /* owned; NULL: places are fixed */
    char *what;    /* for people: "the service digits-teacher"; owned */
    char *student; /* this one's name; owned */
    char *role;    /* of this process; owned, NULL: none */
    uint64_t index;
    uint64_t require;
    bool has_secret, secret_of_file;
    uint8_t secret[JOB_SECRET_BYTES]; /* of the service */
    uint64_t secret_again_us;
    struct distill_ask news, secrets;
    enum distill_next_ask asks;
    struct edl_service *known; /* owned */
    struct distill_place *places;
    size_t n_places;
    bool is_news; /* places are others than the caller has seen */
};

struct distill_source_options {
    struct edl_client *client; /* borrowed; NULL: no process of a job */
    const char *teachers, *service;
    uint64_t require;
    int epoll_fd; /* borrowed; gets the descriptors of both questions, whose events have numbers */
};

enum { DISTILL_NEWS_NUMBER = 1, DISTILL_SECRETS_NUMBER = 2 };

/* distill_source_open - looks up names of machines, and reads EDL_TEACHER_SECRET_FILE; nothing else
 * here waits. -EINVAL: none is named, one that is no HOST:PORT or unknown, a service outside of a
 * job, a file without a secret */
int distill_source_open(struct distill_source *source, const struct distill_source_options *options,
                        struct edl_error *error);
void distill_source_clear(struct distill_source *source);

/* distill_source_is_ready - the descriptor of a question has something */
void distill_source_is_ready(struct distill_source *source, uint64_t number);

/* distill_source_go_on - does what can be done without a wait; negative: the agent refuses, or was
 * away for too long */
int distill_source_go_on(struct distill_source *source, uint64_t now_us, struct edl_error *error);
uint64_t distill_source_next_us(const struct distill_source *source);

/* distill_source_doubt - a teacher knows another secret: it is asked for again */
void distill_source_doubt(struct distill_source *source);

/* distill_share - the first n of places are those that this student talks to, at most `most`, and
 * more than ceil(n_places / n_students): its own ones, and others beside them. All students work
 * out the same table, in which each place has a student. They and the places stand on a ring by
 * their hashes, and a place belongs to the next student that has room: few change when somebody
 * comes or goes. me: in students, or one more; they are numbers. */
size_t distill_share(struct distill_place *places, size_t n_places, uint64_t me,
                     const uint64_t *students, size_t n_students, uint64_t most);

/* SPDX-License-Identifier: Apache-2.0 */
/* client.h - one call until it is answered, over any number of restarts; one wait until it has news
 *
 * For the files of the library, and for trainer/, whose bodies are JSON already. Codes in here are
 * those of shared/error.h; those that leave the library go through client_result. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "libedl/edl/edl.h"
#include "libedl/one_reader.h"
#include "shared/error.h"
#include "shared/http_call.h"
#include "shared/step_sums.h"

#define CLIENT_TEXT_MAX 800
#define CLIENT_NOTHING_STORED 507 /* the scheduler is there, and waits for room on its disk */

struct held_task;

/* What this process did in steps, and which part of it the agent knows (step.c). */
struct client_steps {
    struct step_sums untold; /* to be told by the next call */
    struct step_sums on_way; /* by the one that was not answered yet */
    int fd;                  /* its connection; -1: there is none */
    uint64_t last;           /* the number of the last step */
    uint64_t ended_us;       /* when it was done; 0: there was none */
    uint64_t next_us;        /* nothing is told before */
};

struct edl_client {
    struct http_base base;
    uint64_t patience_us;
    const volatile sig_atomic_t *stop; /* borrowed; NULL: none */
    char *note;                        /* for the members of a world; owned; NULL: none */
    struct held_task *tasks;           /* owned; utlist */
    size_t n_tasks;
    bool told_to_save; /* the caller knows that it is the one that saves the model */
    struct client_steps steps;
    struct one_reader reader;
    struct edl_error error; /* of the call under way */
    char text[CLIENT_TEXT_MAX];
};

/* client_result - code as it is told outside: a negative errno; keeps the error's words */
int client_result(struct edl_client *client, int code);

/* client_outside_code - as it is told outside, without words */
int client_outside_code(int code);

/* client_refuse - client_result of an argument that cannot be */
int client_refuse(struct edl_client *client, int code, const char *what);

/* client_ask - one call until it is answered with success: a scheduler that is being restarted, or
 * that can store nothing, is waited for. *ret: the answer's JSON, the caller's, an object; may be
 * NULL */
int client_ask(struct edl_client *client, const char *method, const char *path, const json_t *body,
               json_t **ret);

/* client_tell - as client_ask, but tried once within timeout_us */
int client_tell(struct edl_client *client, const char *path, const json_t *body,
                uint64_t timeout_us);

/* What an answer to a wait says: >= 0 the result, CLIENT_NO_NEWS, or a negative code (with error)
 */
#define CLIENT_NO_NEWS INT32_MAX
typedef int (*client_read_fn)(const json_t *answer, void *userdata, struct edl_error *error);

/* A wait: the same call again and again, each with a "wait" of its own, in the body or, when that
 * is NULL, at the end of the path. */
struct client_wait {
    const char *method, *path;
    json_t *body; /* borrowed, "wait" is set in it */
    uint64_t timeout_us;
    client_read_fn read;
    void *userdata;
};

/* client_await - read's result; when it had none by the end of timeout_us -ETIMEDOUT, or
 * EDL_EPASSAFTER or EDL_ENOMORETASK, which are no end before */
int client_await(struct edl_client *client, const struct client_wait *wait);

/* client_end_steps - what was not told yet is told, for a moment at most */
void client_end_steps(struct edl_client *client);

/* client_answer_bad - EDL_ECORRUPT: what came is no answer of an agent */
int client_answer_bad(const char *what, struct edl_error *error);

/* client_is_stopped - edl_client_set_stop's flag is up */
bool client_is_stopped(const struct edl_client *client);

/* client_worth_retrying - nobody took the call, or not yet */
bool client_worth_retrying(const struct http_answer *answer);

/* client_read_answer - 0, or the error that the answer is; clears it. *ret: its JSON, the caller's,
 * an object; may be NULL */
int client_read_answer(struct edl_client *client, struct http_answer *answer, const char *path,
                       json_t **ret);

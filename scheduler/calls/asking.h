/* SPDX-License-Identifier: Apache-2.0 */
/* asking.h - work that reads a database beside a network: done again from its start when its reads
 * are there
 *
 * Around a piece of work (a handler, a look of a long poll, a piece of a stream) stand
 * asking_begin and asking_end. A read within it that is not answered returns -EINPROGRESS, which
 * the work passes on as any error. So it ends without an answer and without a change. Its reads are
 * made beside the loop; then asking.again is called, and does the work anew. The rows are in
 * the asking's memo then (store_asked.h). Work changes nothing before its last read.
 *
 * With a near store (SQLite) all reads are answered at once: nothing here does anything.
 *
 * Used by: dispatch.c, waiters.c, event_stream.c, history/job_series.c. Tests:
 * tests/unit/test_asking.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct asking;
struct edl_error;
struct fair;
struct http_request;
struct scheduler;
struct store_asked;

struct askings {
    struct fair *waiting;   /* owned; those that wait for the reading thread */
    struct asking *begun;   /* borrowed list: the same, but a part of their reads was made */
    struct asking *reading; /* borrowed; NULL: the thread is idle */
    struct asking *ready;   /* borrowed list: to be done again behind the turn in flight */
    struct asking *current; /* borrowed; around whose work we are */
    uint64_t n_archived;    /* turns in which the core let go of jobs */
    unsigned n_holding;     /* askings for whose sake it lets go of none */
    size_t bytes;           /* of the rows of those that are not done yet */
    uint64_t n_rounds;      /* of reads */
};

int askings_init(struct scheduler *scheduler, struct edl_error *error);
/* askings_done - behind the store: nobody asks any more */
void askings_done(struct scheduler *scheduler);

/* Called from the loop when the rows are there. */
typedef void (*asking_again_fn)(void *userdata);

/* asking_new - caller: in whose turn it reads (dispatch_caller). NULL with a near store */
struct asking *asking_new(struct scheduler *scheduler, const char *caller, asking_again_fn again,
                          void *userdata);
/* asking_free - at any time; again is not called any more. Accepts NULL, returns NULL */
struct asking *asking_free(struct asking *asking);

/* asking_begin - the work begins. asking_end - it ended; asks: with -EINPROGRESS. true: again will
 * be called; false: it is over, or error tells why it cannot be gone on with (which is a code of
 * asks' only). Both accept NULL */
void asking_begin(struct asking *asking);
bool asking_end(struct asking *asking, bool asks, struct edl_error *error);
/* asking_is_away - what it asked for is not there yet */
bool asking_is_away(const struct asking *asking);

/* askings_note_archive - the work looks for jobs in the core and in the archive. A job that leaves
 * the one for the other between two reads must be seen in one of them */
void askings_note_archive(struct scheduler *scheduler);

/* askings_wall_us - now; of work that is done again: when it was done first. Parameters of reads
 * have to stay the same */
uint64_t askings_wall_us(const struct scheduler *scheduler);

/* askings_read_behind - the work looks for an answer that came as the n-th (answered_keys.h): if it
 * began to read before, it reads anew */
void askings_read_behind(struct scheduler *scheduler, uint64_t n);

/* --- requests --- */

/* asking_request_begin - around a request's handler; NULL with a near store. asking_request_end -
 * the request is kept if it was postponed: dispatch_again comes when the rows are there */
struct asking *asking_request_begin(struct scheduler *scheduler, struct http_request *request);
void asking_request_end(struct scheduler *scheduler, struct http_request *request,
                        struct asking *asking);
/* asking_postpone - http_server_config.postpone: an error of -EINPROGRESS is no answer */
bool asking_postpone(struct http_request *request, void *userdata);
/* asking_is_again - the request was postponed before */
bool asking_is_again(const struct http_request *request);

/* askings_go_on - the turn in flight has ended, or there is another store: requests whose rows came
 * meanwhile are handled again */
void askings_go_on(struct scheduler *scheduler);

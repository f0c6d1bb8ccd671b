/* SPDX-License-Identifier: Apache-2.0 */
/* ps_client.h - a trainer's connections to all parameter servers of its job
 *
 * Blocking for the caller, but all servers are written to and read from at the same time. Dense
 * gradients are sent from, and values received into, the caller's arrays without a copy. No wait is
 * longer than timeout_us without progress. After any failure every connection is closed;
 * ps_client_connect starts anew. */
#pragma once

#include "trainer/exchange/exchange.h"
#include "trainer/exchange/ps_link.h"
#include "trainer/wire/wire.h"

struct edl_error;
struct ps_client;

struct ps_host {
    char address[256];
    uint16_t port;
    uint64_t incarnation; /* 0: any */
};

struct ps_client_config {
    uint64_t job_id;
    uint32_t trainer;
    uint64_t incarnation;
    uint8_t secret[JOB_SECRET_BYTES]; /* of the job */
    struct declaration declaration;
    struct agreement agreement; /* with the other trainers */
    uint32_t n_servers;
    bool tells_past;     /* in a job: to servers of which one may come back without a checkpoint */
    uint64_t timeout_us; /* 0 = 30 s */
    struct ps_wait wait; /* for other trainers; all NULL: nothing ends it */
};

/* ps_client_new - does not connect yet */
int ps_client_new(const struct ps_client_config *config, struct ps_client **ret,
                  struct edl_error *error);
struct ps_client *ps_client_free(struct ps_client *client);

/* ps_client_connect - hosts[n_servers]; says HELLO and DECLARE to each, once each has proved that
 * it is of the job EDL_EUNREACHABLE: a server is not there, or something else is in its place (try
 * again); EDL_ESTALE: this trainer, or what it knows of a server, has been replaced; -EINVAL: a
 * server refuses the declaration, or is of another release; -EACCES: it does not believe this
 * trainer. */
int ps_client_connect(struct ps_client *client, const struct ps_host *hosts,
                      struct edl_error *error);

/* ps_client_exchange - an exchange_fn; userdata is the client */
int ps_client_exchange(void *client, const struct exchange *exchange, struct edl_error *error);

/* ps_client_awaits - the name of a server that had no values when last asked, so that trainer 0 has
 * them to set, or in a job another trainer; NULL: there is none. ps_client_look - asks again; fails
 * as an exchange */
const char *ps_client_awaits(const struct ps_client *client);
int ps_client_look(struct ps_client *client, struct edl_error *error);

/* ps_client_set_trained - before a connection: whether the job has been trained, by whomever
 *
 * ps_client_wished - whether a server has come back and asks for the values that this trainer has
 * of it; ps_client_give - sets them: values[param] f32[rows, columns], with the rows that were ever
 * pulled. Fails as an exchange.
 *
 * ps_client_forget - the trainer's copy is not what was pulled any more */
void ps_client_set_trained(struct ps_client *client, bool trained);
bool ps_client_wished(const struct ps_client *client);
int ps_client_give(struct ps_client *client, float *const *values, struct edl_error *error);
void ps_client_forget(struct ps_client *client);

/* ps_client_unproved - whether the last ps_client_connect failed because something answers that
 * does not know the secret */
bool ps_client_unproved(const struct ps_client *client);

/* ps_client_lost - the name of a server that has less than it once told, and no checkpoint: it was
 * started again, and is at start values. NULL: there is none */
const char *ps_client_lost(const struct ps_client *client);

/* ps_client_updates - of the server that has applied fewest, as of its last reply */
uint64_t ps_client_updates(const struct ps_client *client);

/* ps_client_most_updates - of the server that has applied most, as of its last reply */
uint64_t ps_client_most_updates(const struct ps_client *client);

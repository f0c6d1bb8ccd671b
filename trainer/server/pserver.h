/* SPDX-License-Identifier: Apache-2.0 */
/* pserver.h - a parameter server: one shard of a job's parameters for all its trainers
 *
 * One thread on the caller's event loop. A trainer says HELLO (its name and number) and proves that
 * it is of the job (trainer/wire/handshake.h). Then it says DECLARE (the parameters; the first one
 * creates the table), then PUSH_PULL for every batch. Checkpoints are written by a forked child,
 * which has the table as it was at the fork, so that training goes on meanwhile. */
#pragma once

#include <stdint.h>
#include <systemd/sd-event.h>

#include "shared/job_secret.h"
#include "trainer/parameters/block_placement.h"
#include "trainer/server/recovery.h"

struct edl_error;
struct pserver;

#define PSERVER_ANY UINT32_MAX
#define PSERVER_TRAINERS_MAX 65536

struct pserver_config {
    int listen_fd; /* listening TCP socket, taken over */
    uint64_t job_id;
    uint32_t index; /* = shard; PSERVER_ANY: that of the first trainer that declares, if there is
                     * no checkpoint */
    uint64_t incarnation;
    uint8_t secret[JOB_SECRET_BYTES]; /* of the job */
    const char *checkpoint_path;      /* NULL: none; an existing file is loaded */
    uint64_t checkpoint_period_us;    /* 0 = 10 s */
    struct block_placement placement; /* as it was started with; 0, 0: as the first trainer says */
    uint32_t trainers;                /* that there are; 0: not said */
    uint64_t lag_threshold;           /* of lag_rule.h; 0: every push is applied */
    uint64_t greeting_us;             /* who has not proved itself by then is dropped; 0 = 10 s */
};

/* pserver_new - the caller has blocked SIGCHLD (checkpoints are written by children)
 * EDL_ECORRUPT when the checkpoint is damaged (the text names it) */
int pserver_new(sd_event *event, const struct pserver_config *config, struct pserver **ret,
                struct edl_error *error);
struct pserver *pserver_free(struct pserver *server);

/* pserver_checkpoint_now - waits for a running checkpoint, then writes what has changed since; for
 * the end */
int pserver_checkpoint_now(struct pserver *server, struct edl_error *error);

/* pserver_updates - pushes applied so far; 0 before the first declaration */
uint64_t pserver_updates(const struct pserver *server);

/* pserver_index - its shard; PSERVER_ANY: that is not known yet */
uint32_t pserver_index(const struct pserver *server);

/* pserver_pushes - of that trainer, in whatever life; false: it was never here */
bool pserver_pushes(const struct pserver *server, uint32_t trainer, uint64_t *ret_committed,
                    uint64_t *ret_discarded);

/* How a server has come back whose trainers have seen an earlier life of it. */
struct pserver_recovered {
    enum recovery_source source;
    uint64_t lost, of;           /* updates: so many of so many are in its values no more */
    uint64_t rows_missing, rows; /* sparse rows that have start values, of all; by trainers only */
};

/* pserver_recovered - false: it is in its first life, or has no values yet
 * pserver_on_recovery - fn is called when that may have changed */
bool pserver_recovered(const struct pserver *server, struct pserver_recovered *ret);
void pserver_on_recovery(struct pserver *server, void (*fn)(void *userdata), void *userdata);

/* pserver_listen - "host:port" or host and port apart; port 0 = any. Returns the descriptor,
 * -EADDRINUSE when taken. */
int pserver_listen(const char *host, uint16_t port, uint16_t *ret_port, struct edl_error *error);

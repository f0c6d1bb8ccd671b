/* SPDX-License-Identifier: Apache-2.0 */
/* program.h - what the processes of a job do */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "scheduler/core/model/backlog.h"
#include "shared/step_sums.h"

struct message;
struct sim;
struct sim_work;
struct task_ref;
struct unit;

/* Where a program is. */
enum step {
    STEP_NONE,
    STEP_PREPARE, /* the data, which takes a while */
    STEP_DATASET,
    STEP_LEASE,
    STEP_WORK,
    STEP_FINISH,
    STEP_FAIL,
    STEP_SAVE,
    STEP_SAVED,
    STEP_LIVE,  /* until lifetime is over */
    STEP_TRAIN, /* in steps, together with the others of its job */
    STEP_SERVE, /* a load, together with the others of its job */
    STEP_TELL,  /* it was told to end, and has saved: its agent hears that, and then it hangs */
    STEP_HANG,  /* for ever */
    STEP_LEAVE
};

void program_begin(struct sim *sim, struct unit *unit);
void program_terminate(struct sim *sim, struct unit *unit); /* SIGTERM */
void program_on_event(struct sim *sim, struct unit *unit);
void program_answer(struct sim *sim, struct unit *unit, const struct message *answer);
void program_call_failed(struct sim *sim, struct unit *unit);
/* program_works_on_data - false: it serves those that do */
bool program_works_on_data(const struct unit *unit);
/* program_lost - the records of a task that the holder of this lease of it cannot read; each reads
 * the file on its own machine, so another one may lose another number. damaged_each: see sim_work
 */
uint32_t program_lost(uint32_t damaged_each, uint64_t records, const struct task_ref *ref);

/* --- program_steps.c: all train together, each step is over when the slowest one is --- */

/* How far one is, and what it told of its steps. */
struct unit_steps {
    uint64_t since_us; /* what it did until then is counted */
    double done, samples, compute_us, wait_us;
    struct step_sums untold; /* to whom it may be */
    struct step_sums told;   /* to the agent of that number, which sums them; at: */
    uint64_t agent, told_us;
};

void program_train_begin(struct sim *sim, struct unit *unit);
/* program_train - until now; whether that was the job's last step */
bool program_train(struct sim *sim, struct unit *unit);
/* program_tell_steps - to the agent of its machine, if there is one */
void program_tell_steps(struct sim *sim, struct unit *unit);
/* program_step_us - how long a step of n takes, on an even machine */
uint64_t program_step_us(const struct sim_work *work, uint32_t n, uint32_t servers);

/* --- program_serve.c: they share a load, and tell their agents of their queues --- */

void program_serve(struct sim *sim, struct unit *unit);
/* program_serves - what does that goes on until it is told to stop */
bool program_serves(const struct sim_work *work);
/* program_load_permille - so many instances would be busy all the time */
uint32_t program_load_permille(const struct sim_work *work, uint64_t now_us);

/* program_count_running - of its job; at least 1 */
uint32_t program_count_running(const struct unit *unit, bool servers);

/* SPDX-License-Identifier: Apache-2.0 */
/* exchange.h - two instances of two jobs take each other's place */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct job;
struct plan;
struct process;

/* job_exchange_fails (plan/exchange.c) - neither of both waits for the other's place any longer.
 * Nothing of one that is in none */
void job_exchange_fails(struct plan *plan, struct job *job);

/* plan_exchange - with one of another job, if one gains and the other agrees; false: there is none.
 * O(jobs) up to a bound, and their instances */
bool plan_exchange(struct plan *plan, struct process *process);

/* plan_exchange_goes_on - of a job that is in one: once both places are free, both slots are */
void plan_exchange_goes_on(struct plan *plan, struct job *job);

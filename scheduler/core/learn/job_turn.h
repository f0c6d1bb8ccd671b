/* SPDX-License-Identifier: Apache-2.0 */
/* job_turn.h - when it is a waiting job's turn, for policies that begin with the shortest */
#pragma once

#include <stdbool.h>

struct cluster;
struct goodput_learned;
struct job;

/* job_take_turn - of a new one: its place among those that wait, from what is known now:
 * job_turn.c. O(its document) */
void job_take_turn(struct cluster *cluster, struct job *job);

/* job_expected_s - how long it is expected to take with its minimum; 0: nobody knows. There are
 * families. O(its document) */
double job_expected_s(const struct cluster *cluster, const struct job *job);

/* job_length_unit_s - of a job of fixed size: what its family's lengths are counted in */
double job_length_unit_s(const struct job *job);

/* job_hint_s - how long its owner thinks that it takes, in seconds on one instance; 0: no guess */
double job_hint_s(const struct job *job, const struct goodput_learned *learned);

/* job_length_is_seen - jobs like it have ended. O(its document) */
bool job_length_is_seen(const struct cluster *cluster, const struct job *job);

/* job_guess_was_wrong - jobs like it take more than twice as long as it is guessed to. O(its
 * document) */
bool job_guess_was_wrong(const struct cluster *cluster, const struct job *job);

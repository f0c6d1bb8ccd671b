/* SPDX-License-Identifier: Apache-2.0 */
/* search_past.h - what search_core.c and its methods share: the trials by number, and their scores
 */
#pragma once

#include "client/search_core.h"

/* Trials 1 to n: those of the history, and those that this call starts. */
struct search_past {
    const struct search_space *space;
    const struct search_trial **trials; /* [number - 1]; NULL: it is missing */
    double *scores; /* [number - 1]: the lower the better, INFINITY: failed, or told no value; NAN:
                       not known yet */
    unsigned int n;
};

/* search_score - of a trial on one rung, as above */
double search_score(const struct search_space *space, const struct search_trial *trial,
                    unsigned int rung);

/* search_stream - the start of a trial's own random numbers */
uint64_t search_stream(const struct search_space *space, unsigned int number);

/* What a method knows when it chooses trial `number`: the trials below it all have values. */
struct search_choice {
    const struct search_past *past;
    unsigned int number;
    unsigned int n_known;    /* scores of trials 1 to n_known may be looked at */
    unsigned int n_proposed; /* so many were made, and other trials had them before */
    uint64_t random;
    struct search_model *model; /* of tpe, from its first proposal on; search_model_free */
};

/* search_model_free - NULL is fine */
void search_model_free(struct search_model *model);

/* Each writes the values of one trial; called again it makes another proposal. */
typedef void (*search_propose_fn)(struct search_choice *choice, double *values);

void search_propose_random(struct search_choice *choice, double *values);
void search_propose_evolution(struct search_choice *choice, double *values);
void search_propose_annealing(struct search_choice *choice, double *values);
void search_propose_tpe(struct search_choice *choice, double *values);

/* search_choose - the values of trial past->n + 1, which no trial before it has; false: there are
 * no more */
bool search_choose(const struct search_past *past, double *values);

/* search_neighbour - one parameter gets another value, at most about `width` of its range away when
 * it is a number; parameters that become active get any value */
void search_neighbour(const struct search_space *space, const double *from, double width,
                      uint64_t *random, double *values);

/* search_promotions - for asha: ret[number - 1] is the rung that a trial may run on, 0 is the first
 *
 * Trials of a rung are looked at in the order in which they came to it, up to the first without a
 * result. One goes on as soon as it is among the best 1/eta of those looked at. So no clock
 * decides.
 */
void search_promotions(const struct search_past *past, unsigned int *ret);

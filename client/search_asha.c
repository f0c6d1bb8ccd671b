/* SPDX-License-Identifier: Apache-2.0 */
/* search_asha.c - asynchronous successive halving (Li et al. 2020), decided in the trials' order */
#include <math.h>
#include <stdlib.h>

#include "client/search_past.h"
#include "shared/cleanup.h"
#include "shared/macro.h"

unsigned int search_rungs(const struct search_space *space)
{
    uint64_t resource = space->resource.min;
    unsigned int n = 1;

    if (space->method != SEARCH_ASHA)
        return 1;
    while (resource < space->resource.max && n < SEARCH_RUNGS_MAX) {
        resource *= space->settings.eta;
        n++;
    }
    return n;
}

uint64_t search_rung_resource(const struct search_space *space, unsigned int rung)
{
    uint64_t resource = space->resource.min;

    if (space->method != SEARCH_ASHA || rung + 1 >= search_rungs(space))
        return space->resource.max;
    for (unsigned int i = 0; i < rung; i++)
        resource *= space->settings.eta;
    return resource;
}

/* The trials of one rung, by number. */
struct rung {
    unsigned int *came;   /* in the order in which they came to it */
    unsigned int *ranked; /* those looked at, the best first */
    double *scores;       /* of `ranked` */
    unsigned int n_came, n_ranked;
};

/* place - ranks one trial; returns its rank. Of equal ones the first to come is the better. */
static unsigned int place(struct rung *rung, unsigned int number, double score)
{
    unsigned int rank = rung->n_ranked++;

    for (; rank > 0 && rung->scores[rank - 1] > score; rank--) {
        rung->ranked[rank] = rung->ranked[rank - 1];
        rung->scores[rank] = rung->scores[rank - 1];
    }
    rung->ranked[rank] = number;
    rung->scores[rank] = score;
    return rank;
}

static void promote(const struct rung *rung, unsigned int rank, unsigned int to,
                    struct rung *ret_next, unsigned int *ret)
{
    unsigned int number = rung->ranked[rank];

    if (ret[number - 1] >= to || !isfinite(rung->scores[rank]))
        return;
    ret[number - 1] = to;
    ret_next->came[ret_next->n_came++] = number;
}

/* decide - with each result one trial may be among the best that was not, or two */
static void decide(const struct search_past *past, unsigned int index, struct rung *rung,
                   struct rung *next, unsigned int *ret)
{
    unsigned int eta = past->space->settings.eta;

    for (unsigned int i = 0; i < rung->n_came; i++) {
        unsigned int number = rung->came[i], rank, n_best;
        double score = search_score(past->space, past->trials[number - 1], index);

        if (isnan(score))
            return;
        rank = place(rung, number, score);
        n_best = rung->n_ranked / eta;
        if (rank < n_best)
            promote(rung, rank, index + 1, next, ret);
        if (n_best > 0)
            promote(rung, n_best - 1, index + 1, next, ret);
    }
}

static struct rung new_rung(unsigned int n)
{
    return (struct rung){ .came = xcalloc(n, sizeof(unsigned int)),
                          .ranked = xcalloc(n, sizeof(unsigned int)),
                          .scores = xcalloc(n, sizeof(double)) };
}

static void free_rung(struct rung *rung)
{
    free(rung->came);
    free(rung->ranked);
    free(rung->scores);
}

void search_promotions(const struct search_past *past, unsigned int *ret)
{
    struct rung rung = new_rung(past->n);

    for (unsigned int i = 0; i < past->n; i++) {
        ret[i] = 0;
        rung.came[rung.n_came++] = i + 1;
    }
    for (unsigned int i = 0; i + 1 < search_rungs(past->space); i++) {
        struct rung next = new_rung(past->n);

        decide(past, i, &rung, &next, ret);
        free_rung(&rung);
        rung = next;
    }
    free_rung(&rung);
}

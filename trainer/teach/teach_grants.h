/* SPDX-License-Identifier: Apache-2.0 */
/* teach_grants.h - whom a teacher gives credit to: pure
 *
 * A teacher has so many places for tasks. A place is given to the student that offers tasks and has
 * the fewest places; of those to the one that has waited longest. So no teacher idles while a
 * student waits, and no student has them all. As many places as two batches fill: one is computed
 * while the next one comes, and no teacher hoards what another one could begin. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct edl_error;

#define TEACH_STUDENTS_MAX 1024
#define TEACH_PLACES_LEAST 4
#define TEACH_PLACES_MOST 256

/* One student's; the caller has it, and sets blocked. */
struct teach_grant {
    uint32_t offered; /* tasks that want credit */
    uint32_t credit;  /* it has, and has sent no task for */
    uint32_t tasks;   /* that are here */
    uint32_t given;   /* credit that it has not been told of; also in credit */
    bool blocked;     /* it does not read its answers: no more credit */
    uint64_t last;    /* the number of the credit that it got last */
};

struct teach_grants {
    struct teach_grant *students[TEACH_STUDENTS_MAX]; /* borrowed */
    uint32_t n;
    uint32_t places, taken; /* taken: credit and tasks of all */
    uint64_t last;          /* credit is numbered from 1 */
    double task_samples;    /* a running mean */
    bool leaving;           /* no more credit is given */
};

void teach_grants_init(struct teach_grants *grants);

/* teach_grants_came - false: there are too many. teach_grants_went - places come back. */
bool teach_grants_came(struct teach_grants *grants, struct teach_grant *student);
void teach_grants_went(struct teach_grants *grants, struct teach_grant *student);

/* teach_grants_returned, teach_grants_may_take - -EPROTO: it has no such credit */
int teach_grants_returned(struct teach_grants *grants, struct teach_grant *student, uint32_t n,
                          struct edl_error *error);
int teach_grants_may_take(const struct teach_grant *student, struct edl_error *error);

/* teach_grants_took - a task came, by teach_grants_may_take */
void teach_grants_took(struct teach_grants *grants, struct teach_grant *student);
void teach_grants_answered(struct teach_grants *grants, struct teach_grant *student);

/* teach_grants_size - a task of so many samples came: how many places there are follows from it */
void teach_grants_size(struct teach_grants *grants, uint64_t samples, uint32_t max_batch);

uint32_t teach_grants_free(const struct teach_grants *grants);

/* teach_grants_offered - tasks that wait for credit; teach_grants_credit - that was given and is
 * not used */
uint64_t teach_grants_offered(const struct teach_grants *grants);
uint64_t teach_grants_credit(const struct teach_grants *grants);

/* teach_grants_give - free places to those that offer: `given` of each, which the caller tells and
 * clears; whether there is any */
bool teach_grants_give(struct teach_grants *grants);

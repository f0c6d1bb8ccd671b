/* SPDX-License-Identifier: Apache-2.0 */
/* visits.c - see visits.h */
#include "agent/core/visits.h"

#include "shared/macro.h"

static struct visit *find(const struct visits *visits, uint64_t job_id)
{
    struct visit *visit;

    HASH_FIND(hh, visits->table, &job_id, sizeof job_id, visit);
    return visit;
}

static struct visit *get(struct visits *visits, uint64_t job_id)
{
    struct visit *visit = find(visits, job_id);

    if (visit != NULL)
        return visit;
    visit = xcalloc(1, sizeof *visit);
    visit->job_id = job_id;
    HASH_ADD(hh, visits->table, job_id, sizeof visit->job_id, visit);
    return visit;
}

static void drop(struct visits *visits, struct visit *visit)
{
    HASH_DEL(visits->table, visit);
    free(visit);
}

void visits_free(struct visits *visits)
{
    struct visit *visit, *next;

    HASH_ITER(hh, visits->table, visit, next)
    drop(visits, visit);
}

/* desert - nobody of it is left: what then begins. true: the epilog */
static bool desert(struct visits *visits, struct visit *visit)
{
    switch (visit->state) {
    case VISIT_NONE:
    case VISIT_BARE:
        drop(visits, visit);
        return false;
    case VISIT_PROLOG: /* they were stopped meanwhile: its end is waited for */
    case VISIT_EPILOG:
        return false;
    case VISIT_FAILED: /* what it did before it failed is to be undone as well */
    case VISIT_OPEN:
        break;
    }
    visit->state = VISIT_EPILOG;
    return true;
}

void visits_unit_came(struct visits *visits, uint64_t job_id)
{
    get(visits, job_id)->n_units++;
}

bool visits_unit_gone(struct visits *visits, uint64_t job_id)
{
    struct visit *visit = find(visits, job_id);

    if (visit == NULL || visit->n_units == 0)
        return false;
    return --visit->n_units == 0 && desert(visits, visit);
}

enum visit_entry visits_enter(struct visits *visits, uint64_t job_id, bool drop_ins)
{
    struct visit *visit = get(visits, job_id);

    switch (visit->state) {
    case VISIT_NONE:
        visit->state = drop_ins ? VISIT_PROLOG : VISIT_BARE;
        return drop_ins ? VISIT_BEGIN : VISIT_GO;
    case VISIT_FAILED:
        visit->state = VISIT_PROLOG;
        return VISIT_BEGIN;
    case VISIT_PROLOG:
    case VISIT_EPILOG:
        return VISIT_WAIT;
    case VISIT_BARE:
    case VISIT_OPEN:
        break;
    }
    return VISIT_GO;
}

bool visits_has(const struct visits *visits, uint64_t job_id)
{
    const struct visit *visit = find(visits, job_id);

    return visit != NULL && visit->state != VISIT_NONE;
}

bool visits_prolog_ended(struct visits *visits, uint64_t job_id, bool well)
{
    struct visit *visit = find(visits, job_id);

    if (visit == NULL || visit->state != VISIT_PROLOG)
        return false;
    visit->state = well ? VISIT_OPEN : VISIT_FAILED;
    return visit->n_units == 0 && desert(visits, visit);
}

void visits_epilog_ended(struct visits *visits, uint64_t job_id)
{
    struct visit *visit = find(visits, job_id);

    if (visit == NULL || visit->state != VISIT_EPILOG)
        return;
    visit->state = VISIT_NONE;
    if (visit->n_units == 0)
        drop(visits, visit);
}

void visits_adopt(struct visits *visits, uint64_t job_id, bool well)
{
    struct visit *visit = get(visits, job_id);

    visit->state = well || visit->n_units > 0 ? VISIT_OPEN : VISIT_FAILED;
    visits->adopted = true;
}

bool visits_is_deserted(const struct visits *visits, uint64_t job_id)
{
    const struct visit *visit = find(visits, job_id);

    return visit != NULL && visit->n_units == 0;
}

bool visits_take_deserted(struct visits *visits, uint64_t *ret_job_id)
{
    struct visit *visit, *next;

    if (!visits->adopted)
        return false;
    HASH_ITER(hh, visits->table, visit, next)
    {
        if (visit->n_units == 0 && desert(visits, visit)) {
            *ret_job_id = visit->job_id;
            return true;
        }
    }
    visits->adopted = false;
    return false;
}

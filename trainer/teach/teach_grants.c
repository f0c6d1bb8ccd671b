/* SPDX-License-Identifier: Apache-2.0 */
/* teach_grants.c - whom a teacher gives credit to */
#include "trainer/teach/teach_grants.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "shared/error.h"
#include "shared/macro.h"

#define FIRST_PLACES 8
#define OF_A_NEW_TASK 0.1 /* in the running mean */

void teach_grants_init(struct teach_grants *grants)
{
    memset(grants, 0, sizeof *grants);
    grants->places = FIRST_PLACES;
}

bool teach_grants_came(struct teach_grants *grants, struct teach_grant *student)
{
    if (grants->n == TEACH_STUDENTS_MAX)
        return false;
    *student = (struct teach_grant){ 0 };
    grants->students[grants->n++] = student;
    return true;
}

void teach_grants_went(struct teach_grants *grants, struct teach_grant *student)
{
    for (uint32_t i = 0; i < grants->n; i++) {
        if (grants->students[i] != student)
            continue;
        grants->taken -= student->credit + student->tasks;
        *student = (struct teach_grant){ 0 };
        grants->students[i] = grants->students[--grants->n];
        return;
    }
}

int teach_grants_returned(struct teach_grants *grants, struct teach_grant *student, uint32_t n,
                          struct edl_error *error)
{
    if (n > student->credit - student->given)
        return edl_error_set(error, -EPROTO, "a student gives back %u of its credit, and has %u", n,
                             student->credit - student->given);
    student->credit -= n;
    grants->taken -= n;
    return 0;
}

int teach_grants_may_take(const struct teach_grant *student, struct edl_error *error)
{
    return student->credit > student->given
               ? 0
               : edl_error_set(error, -EPROTO, "a task without credit");
}

void teach_grants_took(struct teach_grants *grants, struct teach_grant *student)
{
    (void)grants;
    student->credit--;
    student->tasks++;
}

void teach_grants_answered(struct teach_grants *grants, struct teach_grant *student)
{
    student->tasks--;
    grants->taken--;
}

void teach_grants_size(struct teach_grants *grants, uint64_t samples, uint32_t max_batch)
{
    const double n = (double)MAX_OF(samples, UINT64_C(1));
    double places;

    grants->task_samples = grants->task_samples > 0
                               ? (1 - OF_A_NEW_TASK) * grants->task_samples + OF_A_NEW_TASK * n
                               : n;
    places = 2 * (double)max_batch / grants->task_samples + 1;
    grants->places =
        (uint32_t)MIN_OF(MAX_OF(places, (double)TEACH_PLACES_LEAST), (double)TEACH_PLACES_MOST);
}

uint32_t teach_grants_free(const struct teach_grants *grants)
{
    return grants->places > grants->taken ? grants->places - grants->taken : 0;
}

uint64_t teach_grants_offered(const struct teach_grants *grants)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < grants->n; i++)
        n += grants->students[i]->offered;
    return n;
}

uint64_t teach_grants_credit(const struct teach_grants *grants)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < grants->n; i++)
        n += grants->students[i]->credit;
    return n;
}

/* Of two that have as many places the one goes first that has got none for longer. */
static bool goes_first(const struct teach_grant *a, const struct teach_grant *b)
{
    const uint32_t of_a = a->credit + a->tasks, of_b = b->credit + b->tasks;

    return of_a < of_b || (of_a == of_b && a->last < b->last);
}

static struct teach_grant *least(const struct teach_grants *grants)
{
    struct teach_grant *found = NULL;

    for (uint32_t i = 0; i < grants->n; i++) {
        struct teach_grant *s = grants->students[i];

        if (s->offered > 0 && !s->blocked && (found == NULL || goes_first(s, found)))
            found = s;
    }
    return found;
}

bool teach_grants_give(struct teach_grants *grants)
{
    uint32_t free = grants->leaving ? 0 : teach_grants_free(grants);
    struct teach_grant *student;
    bool any = false;

    for (; free > 0 && (student = least(grants)) != NULL; free--) {
        student->offered--;
        student->credit++;
        student->given++;
        student->last = ++grants->last;
        grants->taken++;
        any = true;
    }
    return any;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* array_room.c - so many jobs of an array at once */
#include "scheduler/core/plan/array_room.h"

#include <stdlib.h>

#include "scheduler/core/base/digest.h"
#include "scheduler/core/model/job.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/plan/planned.h"
#include "scheduler/core/plan/planner.h"
#include "shared/job_spec.h"
#include "shared/macro.h"

/* Its jobs have numbers in a row, as those of the next part of a sweep have, which comes later. */
uint64_t array_room_key(const struct job *job)
{
    const struct job_array *array = &job->spec->array;
    uint64_t key = digest_number(job->submitted_wall_us, job->id - array->first);

    if (array->most == 0 || array->name == NULL)
        return 0;
    return MAX_OF(digest_text(digest_text(key, array->name), job->user), 1U);
}

static struct array_room *array_of(struct planner *planner, uint64_t key)
{
    struct array_room *room;

    HASH_FIND(hh, planner->arrays, &key, sizeof key, room);
    if (room != NULL)
        return room;
    room = xcalloc(1, sizeof *room);
    room->key = key;
    HASH_ADD(hh, planner->arrays, key, sizeof room->key, room);
    return room;
}

static void add(struct planner *planner, const struct planned *its, int sign)
{
    struct array_room *room;

    if (its->array_key == 0 || (!its->array_now && !its->array_later))
        return;
    room = array_of(planner, its->array_key);
    room->now += its->array_now ? (uint32_t)sign : 0;
    room->later += its->array_later ? (uint32_t)sign : 0;
    if (room->now > 0 || room->later > 0)
        return;
    HASH_DEL(planner->arrays, room);
    free(room);
}

void array_room_count(struct planner *planner, struct job *job)
{
    uint64_t key = array_room_key(job);
    struct planned *its = planned_of(job);

    if (key == 0 && its->array_key == 0)
        return;
    add(planner, its, -1);
    its->array_key = key;
    its->array_now = job_is_started(job) || job->state == JOB_STOPPING;
    its->array_later = job_is_started(job) || planned_promised(job);
    add(planner, its, 1);
}

enum owner_fit array_room_fit(const struct planner *planner, const struct job *job)
{
    uint64_t key = array_room_key(job);
    struct array_room *room = NULL;
    uint32_t most = job->spec->array.most;

    if (key != 0)
        HASH_FIND(hh, planner->arrays, &key, sizeof key, room);
    if (room == NULL)
        return OWNER_FITS_NOW;
    if (room->later >= most)
        return OWNER_FITS_NOT;
    return room->now < most ? OWNER_FITS_NOW : OWNER_FITS_LATER;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* unit_slices.c - see unit_slices.h */
#include "agent/groups/unit_slices.h"

#include <stdlib.h>
#include <utlist.h>

#include "agent/supervisor/process_limits.h"
#include "shared/macro.h"

struct slice {
    uint64_t job_id;
    uint64_t weight;           /* the sum, which may be more than a slice can have */
    bool told;                 /* systemd knows */
    struct slice *prev, *next; /* utlist */
};

struct unit_slices {
    struct slice *list; /* owned: of the jobs that have processes here */
};

struct unit_slices *unit_slices_new(void)
{
    return xcalloc(1, sizeof(struct unit_slices));
}

static void forget(struct unit_slices *slices, struct slice *slice)
{
    DL_DELETE(slices->list, slice);
    free(slice);
}

struct unit_slices *unit_slices_free(struct unit_slices *slices)
{
    if (slices == NULL)
        return NULL;
    while (slices->list != NULL)
        forget(slices, slices->list);
    free(slices);
    return NULL;
}

static struct slice *find(const struct unit_slices *slices, uint64_t job_id)
{
    struct slice *slice;

    DL_FOREACH(slices->list, slice)
    if (slice->job_id == job_id)
        return slice;
    return NULL;
}

static uint64_t weight_of(const struct slice *slice)
{
    return MIN_OF(MAX_OF(slice->weight, 1), PROCESS_CPU_WEIGHT_MAX);
}

bool unit_slices_weigh(struct unit_slices *slices, uint64_t job_id, uint64_t cpu_weight)
{
    struct slice *slice = find(slices, job_id);

    if (slice == NULL && cpu_weight > 0) {
        slice = xcalloc(1, sizeof *slice);
        slice->job_id = job_id;
        DL_APPEND(slices->list, slice);
    }
    if (slice == NULL || slice->weight == cpu_weight)
        return false;
    if (cpu_weight == 0) { /* it goes with its last unit */
        forget(slices, slice);
        return false;
    }
    slice->weight = cpu_weight;
    slice->told = false;
    return true;
}

uint64_t unit_slices_made(struct unit_slices *slices, uint64_t job_id)
{
    struct slice *slice = find(slices, job_id);

    if (slice == NULL)
        return PROCESS_CPU_WEIGHT_OF_CORE;
    slice->told = true;
    return weight_of(slice);
}

void unit_slices_untold(struct unit_slices *slices, uint64_t job_id)
{
    struct slice *slice = find(slices, job_id);

    if (slice != NULL)
        slice->told = false;
}

void unit_slices_tell(struct unit_slices *slices, unit_slices_tell_fn tell, void *userdata)
{
    struct slice *slice;

    DL_FOREACH(slices->list, slice)
    if (!slice->told)
        slice->told = tell(slice->job_id, weight_of(slice), userdata);
}

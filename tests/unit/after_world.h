/* SPDX-License-Identifier: Apache-2.0 */
/* after_world.h - for tests: jobs that wait for others, and arrays of them */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "scheduler/core/core.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"

static inline void assert_code(const struct job *job, enum job_state state, const char *code)
{
    if (job->state != state || !streq(job->reason_code, code))
        fail_msg("%s is %s: %s (%s)", job->spec->name, job_state_to_string(job->state),
                 job->reason_code, job->reason);
}

static inline struct job_spec *spec_after(const char *name, const char *first, const char *second)
{
    struct job_spec *spec = world_spec(name, 1, 1, 200, 0, 0);

    spec->after = xcalloc(3, sizeof *spec->after);
    spec->after[0] = xstrdup(first);
    spec->after[1] = second != NULL ? xstrdup(second) : NULL;
    return spec;
}

static inline void finish(struct world *w, const struct job *job)
{
    world_exit(w, world_live(job, "trainer", 0), 0, 0);
    world_run(w, 3);
}

static inline struct job_spec *array_spec(const char *name, uint32_t first, uint32_t n)
{
    struct job_spec *spec = world_spec(name, 1, 1, 200, 0, 0);

    spec->array.first = first;
    spec->array.n = n;
    return spec;
}

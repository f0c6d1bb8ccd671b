/* SPDX-License-Identifier: Apache-2.0 */
/* admission_world.h - a family of jobs whose speeds and lengths are known, and questions about them
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "scheduler/core/ask/admission.h"
#include "scheduler/core/core.h"
#include "scheduler/core/learn/job_family.h"
#include "scheduler/core/learn/outlook.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/groups.h"
#include "scheduler/core/speed/family.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/goodput_curves.h"

#define CORE UINT64_C(1000) /* millicores, of one instance */
#define CORES 10

static inline struct world *begin(void)
{
    struct world *w;

    world_policy = &policy_goodput;
    w = world_new(1, CORES * CORE, 64 * GIB, 1000);
    world_run(w, 1);
    return w;
}

static inline void end(struct world *w)
{
    world_free(w);
    world_policy = &policy_fulfilment;
}

static inline struct job_spec *spec_due(const char *name, uint32_t min, uint32_t max,
                                        uint64_t due_in_s)
{
    struct job_spec *spec = world_spec(name, min, max, CORE, 0, 0);

    spec->deadline_us = due_in_s * USEC_PER_SEC;
    return spec;
}

static inline void family_of(const struct world *w, char name[JOB_FAMILY_SIZE])
{
    struct job_spec *spec = spec_due("any", 1, 2, 0);

    spec_family_name(spec, w->user != NULL ? w->user : "", name);
    (void)job_spec_free(spec);
}

/* Of sizes up to `largest` it was measured how fast they are: all of them in proportion. */
static inline void teach_speed(const struct world *w, uint32_t largest)
{
    struct goodput_learned learned;
    char name[JOB_FAMILY_SIZE];

    family_of(w, name);
    goodput_learn_init(&learned);
    for (uint32_t k = 1; k <= largest; k++) {
        (void)goodput_pserver_add(&learned.fit, &(struct goodput_pserver_report){ k, 1, 1.0 / k });
        learned.windows++;
        learned.largest = learned.instances = k;
        learned.measured_s = 1.0 / k;
        learned.resize_s = 1;
        goodput_prior_note(goodput_family_prior(w->cluster->families, name), &learned);
    }
}

static inline void teach_length(const struct world *w, double work_s)
{
    char name[JOB_FAMILY_SIZE];

    family_of(w, name);
    goodput_family_begun(w->cluster->families, name);
    goodput_family_ended(w->cluster->families, name, work_s);
}

static inline struct goodput_prior prior_of(const struct world *w)
{
    char name[JOB_FAMILY_SIZE];

    family_of(w, name);
    return *goodput_family_prior(w->cluster->families, name);
}

static inline struct admission ask(const struct world *w, struct job_spec *take_spec)
{
    struct admission ret;

    cluster_admission(w->cluster, take_spec, w->user != NULL ? w->user : "", w->now, &ret);
    (void)job_spec_free(take_spec);
    return ret;
}

#define assert_answer(answer, wanted_verdict, wanted_code)                                         \
    do {                                                                                           \
        const struct admission *answer_ = &(answer);                                               \
                                                                                                   \
        if (answer_->verdict != (wanted_verdict) || !streq(answer_->code, wanted_code))            \
            fail_msg("%s [%s]: %s", admission_verdict_to_string(answer_->verdict), answer_->code,  \
                     answer_->text);                                                               \
    } while (0)

static inline struct job *run_job(struct world *w, const char *name, uint32_t min, uint32_t max,
                                  uint64_t due_in_s)
{
    struct job *job = world_submit(w, spec_due(name, min, max, due_in_s));

    world_run(w, 4);
    assert_int_equal(job->state, JOB_RUNNING);
    return job;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* network_agreement.c - what the trainers of a network are to be given alike, by hand */
#include "shared/log.h"
#include "shared/macro.h"
#include "trainer/network/network.h"
#include "trainer/run/network_local.h"
#include "trainer/run/network_study.h"

enum local_sgd_method study_method(const struct network_job *job)
{
    return streq(job->center, "average") ? LOCAL_SGD_AVERAGE : LOCAL_SGD_ELASTIC;
}

int study_agreement(struct study *s, struct agreement *ret, struct edl_error *error)
{
    const struct network_job *job = s->job;
    const struct sgd_asked asked = { .sync = job->sync,
                                     .async = job->async,
                                     .asynchronous = s->network->settings.asynchronous,
                                     .trainers = job->trainers,
                                     .send_every = job->send_every };
    int r = sgd_mode_of(&asked, &s->mode, error);

    if (r < 0)
        return r;
    if (s->mode == SGD_SYNCHRONOUS)
        log_info("synchronous: each update is the sum of all trainers that have data");
    *ret = agreement_of_flags((uint32_t)job->trainers, (uint32_t)job->send_every,
                              study_method(job) + 1, job->delta_add_rate);
    ret->mode = (uint32_t)s->mode + 1;
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* network_checkgrad.c - gradients beside differences of the cost, and one real step beside both */
#include <errno.h>
#include <stdio.h>

#include "shared/error.h"
#include "trainer/learn/check_step.h"
#include "trainer/learn/device.h"
#include "trainer/network/check_gradients.h"
#include "trainer/network/network.h"
#include "trainer/network/random_batch.h"
#include "trainer/run/network_local.h"
#include "trainer/run/network_study.h"
#include "trainer/exchange/table.h"

#define CHECK_LENGTH 8   /* ids of a sequence, at most */
#define CHECK_ELEMENTS 2 /* of each parameter */

static void show(const struct gradient_check *check, void *userdata)
{
    (void)userdata;
    printf("%s%s step=%g cost=%.9g true_delta=%.9g analytic_delta=%.9g diff=%.3g%s\n", check->param,
           check->one_element ? " (one element)" : "", check->step, check->cost,
           check->measured * check->step, check->computed * check->step,
           (check->measured - check->computed) * check->step, check->holds ? "" : " ***");
}

static void show_step(const struct step_check *check, void *userdata)
{
    (void)userdata;
    printf("%s, one step: gradient=%.9g diff=%.3g moved=%.9g diff=%.3g%s\n", check->param,
           check->gradient, check->gradient_off, check->way, check->way_off,
           check->holds ? "" : " ***");
}

static int checkgrad_step(struct study *s, const struct batch *batch, uint32_t *ret_failed,
                          struct edl_error *error)
{
    struct step_check_config config = { .network = s->network,
                                        .batch = batch,
                                        .seed = s->job->seed,
                                        .exchange = table_exchange,
                                        .on_check = show_step };
    int r = study_declare(s, error);

    if (r >= 0)
        r = device_backend_for(s->job->device, s->network, &config.backend, error);
    if (r >= 0)
        r = table_new(&s->declaration, 0, 1, &s->table, error);
    config.declaration = s->declaration;
    config.exchange_userdata = s->table;
    return r < 0 ? r : check_step(&config, ret_failed, error);
}

int network_checkgrad(const struct network_job *job, struct edl_error *error)
{
    struct study s = { .job = job };
    struct batch *batch = NULL;
    uint32_t failed = 0, stuck = 0;
    int r = network_file_open(job->config, &s.file, error);

    if (r >= 0)
        r = study_network(&s, error);
    if (r >= 0)
        r = network_may_train(s.network, error);
    if (r >= 0) {
        struct gradient_check_config config = {
            .network = s.network, .seed = job->seed, .n_elements = CHECK_ELEMENTS, .on_check = show
        };

        batch = random_batch_new(s.network, job->samples > 0 ? (uint32_t)job->samples : 2,
                                 CHECK_LENGTH, job->seed);
        config.batch = batch;
        r = check_gradients(&config, &failed, error);
    }
    if (r >= 0)
        r = checkgrad_step(&s, batch, &stuck, error);
    failed += stuck;
    if (r >= 0 && failed > 0)
        r = edl_error_set(error, -EDOM, "comparisons that do not hold, marked ***: %u", failed);
    else if (r >= 0)
        printf("all gradients of %s hold\n", job->source != NULL ? job->source : s.file.path);
    (void)random_batch_free(batch);
    study_close(&s);
    return r;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* local_sgd.h - a trainer that keeps its own values for some batches, and then meets those of all
 * trainers
 *
 * Between two meetings nothing is sent. At a meeting the distance of the trainer's values from the
 * servers' (the center) is added to the center, times a rate. Then the trainer takes the center
 * (average), or goes towards it by the same part of the distance. That is the elastic average
 * (Zhang, Choromanska and LeCun 2015, arXiv:1412.6651, §3.1). The first meeting only takes the
 * center: a trainer that starts late has start values and nothing to add. Source of names:
 * num_batches_per_send_parameter, center_parameter_update_method and delta_add_rate of PaddlePaddle
 * 0.11. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "trainer/parameters/declaration.h"
#include "trainer/exchange/exchange.h"

struct edl_error;
struct local_sgd;

enum local_sgd_method { LOCAL_SGD_AVERAGE, LOCAL_SGD_ELASTIC };

struct local_sgd_config {
    uint64_t batches; /* pushes between two meetings */
    enum local_sgd_method method;
    float rate;         /* delta_add_rate / trainers */
    exchange_fn center; /* with a table of local_sgd_center's declaration */
    void *center_userdata;
};

/* local_sgd_center - what the servers of such trainers are declared: the same parameters, all
 * dense, with an update that adds what comes and nothing else */
void local_sgd_center(const struct declaration *declaration, struct declaration *ret);

/* local_sgd_is_center - whether local_sgd_center has made it: what comes is then worth many batches
 * and never too old */
bool local_sgd_is_center(const struct declaration *declaration);

/* local_sgd_new - declaration: of the trainer's own values, with its optimizer; as table_new */
int local_sgd_new(const struct local_sgd_config *config, const struct declaration *declaration,
                  struct local_sgd **ret, struct edl_error *error);
struct local_sgd *local_sgd_free(struct local_sgd *local);

/* local_sgd_exchange - an exchange_fn; userdata is the struct. A meeting that fails is held again
 * with the next push */
int local_sgd_exchange(void *local, const struct exchange *exchange, struct edl_error *error);

/* local_sgd_meet - now, whatever was pushed; the trainer then has the center, by either method: for
 * the start, and the end of a pass */
int local_sgd_meet(struct local_sgd *local, struct edl_error *error);

/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_network.c - any text as a network; one that passes is laid out, and a small one takes a
 * step. So a shape which is wrong after all shows as a memory error */
#include <stdlib.h>

#include "kernels/kernels.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "trainer/network/network.h"
#include "trainer/network/plan.h"
#include "trainer/network/random_batch.h"

#define BATCH 2
#define VALUES_MAX 100000u
#define BYTES_MAX (16u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void run(const struct network *network, struct plan *plan)
{
    struct batch *batch = random_batch_new(network, BATCH, 5, 1);
    void **params = xcalloc(network->n_params + 1, sizeof *params);
    void **gradients = xcalloc(network->n_params + 1, sizeof *gradients);
    struct plan_result result;

    for (uint32_t p = 0; p < network->n_params; p++) {
        const struct param_spec *spec = &network->params[p].spec;
        const size_t n = (size_t)spec->rows * spec->columns;

        params[p] = xcalloc(n, sizeof(float));
        gradients[p] = xcalloc(n, sizeof(float));
    }
    if (plan_batch(plan, batch, NULL) >= 0) {
        plan_step(plan, params, 1, gradients, &result);
        plan_forward(plan, params, false, 0, &result);
    }
    for (uint32_t p = 0; p < network->n_params; p++) {
        free(params[p]);
        free(gradients[p]);
    }
    free(params);
    free(gradients);
    (void)random_batch_free(batch);
}

static bool is_small(const struct network *network)
{
    uint64_t n = network_values(network);

    for (uint32_t p = 0; p < network->n_params; p++)
        if (network->params[p].is_static)
            n += network->params[p].spec.rows;
    for (uint32_t i = 0; i < network->n_inputs; i++)
        n += network->inputs[i].size;
    for (uint32_t i = 0; i < network->n_layers; i++)
        n += (uint64_t)network->layers[i].shape.size *
             (1 + (uint64_t)network->layers[i].window.size * network->layers[i].window.size *
                      network->layers[i].window.channels);
    return n <= VALUES_MAX;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct network *network;
    struct edl_error error;

    if (network_parse((const char *)data, size, "fuzz.json", NULL, &network, &error) < 0)
        return 0;
    if (is_small(network)) {
        const struct plan_config config = { .network = network,
                                            .backend = backend_cpu(),
                                            .ops = tensor_ops_f32(),
                                            .batch_max = BATCH };
        struct plan *plan;

        if (plan_new(&config, &plan, &error) >= 0) {
            if (plan_bytes(plan) <= BYTES_MAX)
                run(network, plan);
            plan = plan_free(plan);
        }
    }
    network = network_free(network);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer.c - the table of the optimizers */
#include "kernels/optimizer.h"

#include <string.h>

#include "kernels/optimizers/methods.h"

static const struct optimizer_kind kinds[] = {
#define XX(upper, lower, states, can)                                                              \
    [OPTIMIZER_##upper] = { .name = #lower,                                                        \
                            .n_states = (states),                                                  \
                            .abilities = (can),                                                    \
                            .update = lower##_update_f32,                                          \
                            .catch_up = lower##_catch_up_f32,                                      \
                            .update_f64 = lower##_update_f64,                                      \
                            .catch_up_f64 = lower##_catch_up_f64 },
    OPTIMIZER_MAP(XX)
#undef XX
};

const struct optimizer_kind *optimizer_kind(uint32_t method)
{
    return method < OPTIMIZER_METHODS ? &kinds[method] : NULL;
}

int optimizer_method_of(const char *name)
{
    for (int i = 0; i < OPTIMIZER_METHODS; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return i;
    return -1;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* input.c - what comes from the data set; the plan fills it in */
#include "trainer/layers/layer.h"

const struct layer_kind layer_input = { .name = "input", .takes_ids = true, .on_devices = true };

/* SPDX-License-Identifier: Apache-2.0 */
/* teach_fixture.h - a saved model of two weights and a bias: 2 * x[0] + 3 * x[1] + 1 is
 * its output sum; soft is 1 while that is finite, and else NaN */
#pragma once

#include "trainer/teach/teach_model.h"

struct teach_fixture {
    char folder[64];
    char network[128]; /* the file */
    char model[128];   /* the folder of the saved pass */
    char tar[128];     /* the same */
};

void teach_fixture_make(struct teach_fixture *ret);
void teach_fixture_remove(const struct teach_fixture *f);

/* teach_fixture_spoil_tar - a value of it is NaN from now on */
void teach_fixture_spoil_tar(const struct teach_fixture *f);

/* teach_fixture_config - of batches of 4, by a saved pass */
struct teach_model_config teach_fixture_config(const struct teach_fixture *f, const char *model);

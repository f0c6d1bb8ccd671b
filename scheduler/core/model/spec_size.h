/* SPDX-License-Identifier: Apache-2.0 */
/* spec_size.h - the bounds of one submission, for every user */
#pragma once

#include <stdbool.h>

struct edl_error;
struct job_spec;

/* spec_check_size - what one submission may ask for, whoever makes it; EDL_EBADSPEC, pointer set */
int spec_check_size(const struct job_spec *spec, struct edl_error *error);

/* spec_makes_array - an array of jobs is to be made of the document */
bool spec_makes_array(const struct job_spec *spec);

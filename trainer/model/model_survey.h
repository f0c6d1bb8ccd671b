/* SPDX-License-Identifier: Apache-2.0 */
/* model_survey.h - what a saved model holds: its parameters, their shapes and norms, and its faults
 *
 * Nothing in the folder is trusted. Shapes are those of the network that lies beside the
 * parameters. Tests: tests/unit/test_model_survey.c */
#pragma once

#include <jansson.h>

struct edl_error;

/* model_survey - reads all files of the folder; *ret is the caller's
 * arguments: of the network, "width=16", or NULL. The object has folder, network (null: none lies
 * there), parameters (name, shape or null, values, bytes, l2, largest, mean), values, bytes, notes
 * and problems (texts, one for each damaged file). Errors: -EINVAL: the arguments do not fit the
 * network; -ENODATA: no parameter lies there; what opening the folder gives. */
int model_survey(const char *folder, const char *arguments, json_t **ret, struct edl_error *error);

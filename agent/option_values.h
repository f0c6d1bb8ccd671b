/* SPDX-License-Identifier: Apache-2.0 */
/* option_values.h - kinds of options that the agent alone has: see option_kind in
 * shared/options_table.h
 *
 * Used by: option_rows.c. Tests: tests/unit/test_agent_options.c. */
#pragma once

#include "shared/options_table.h"

int option_token(const struct option_value *value, struct edl_error *error);
int option_label(const struct option_value *value, struct edl_error *error);
int option_ports(const struct option_value *value, struct edl_error *error);
int option_account(const struct option_value *value, struct edl_error *error);
int option_accounts(const struct option_value *value, struct edl_error *error);
int option_map_user(const struct option_value *value, struct edl_error *error);
int option_user_range(const struct option_value *value, struct edl_error *error);
int option_runtime(const struct option_value *value, struct edl_error *error);
int option_gpus(const struct option_value *value, struct edl_error *error);
int option_gpu_numa(const struct option_value *value, struct edl_error *error);

/* SPDX-License-Identifier: Apache-2.0 */
/* option_rows.h - the options of edl-agent, which go into struct agent_options
 *
 * Used by: options.c. Tests: tests/unit/test_agent_options.c. */
#pragma once

#include "shared/options_table.h"

extern const struct options_table agent_options_table;

/* SPDX-License-Identifier: Apache-2.0 */
/* account_name.h - what can be the name of a Unix account or group */
#pragma once

#include <stdbool.h>

#define ACCOUNT_NAME_MAX 32
#define ACCOUNT_NAME_RULE                                                                          \
    "as of a Unix account: a-z or _ first, then also digits, '-' and '.', at most 32"

bool account_name_valid(const char *name);

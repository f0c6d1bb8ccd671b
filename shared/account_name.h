/* SPDX-License-Identifier: Apache-2.0 */
/* account_name.h - what can be the name of an account or of one of its groups
 *
 * One rule for people here, wherever they come from: whom the account database knows can be
 * named everywhere. Directories have names like DOM\\alice, alice@corp.example.com, Bob.Smith. */
#pragma once

#include <stdbool.h>

#define ACCOUNT_NAME_MAX 255
#define ACCOUNT_NAME_RULE                                                                          \
    "as the account database has it: 1 to 255 bytes of UTF-8 without control characters, '/' and " \
    "':', and no '-' first"

/* account_name_valid - "." and ".." are none either: names become parts of paths and addresses, and
 * one with a dash first would be an option of ssh */
bool account_name_valid(const char *name);

/* SPDX-License-Identifier: Apache-2.0 */
/* user_number.h - a number of its own for each person without an account on this node
 *
 * Out of a range that the node's owner gives (user-range in agent.conf). Processes of one person
 * share it, those of two never do: whose a number is stands in a folder, as a link of that name,
 * and is not taken back. It begins at a hash of the name, so that nodes of the same range agree
 * about nearly everybody. For supervisors: it looks accounts up and waits for the disk. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "agent/core/account_policy.h"

struct edl_error;

/* user_number_first - where a name begins in a range of numbers; pure */
uint32_t user_number_first(const struct user_range *range, const char *name);

/* user_number_find - the number of that name, taken if it had none
 * -EACCES when the number, or all of the range, is an account's of this machine; -EINVAL: no such
 * name can be; -errno; all with error. */
int user_number_find(const char *folder, const struct user_range *range, const char *name,
                     uid_t *ret, struct edl_error *error);

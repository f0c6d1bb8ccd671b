/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_dir.h - which folder holds the process folders and the lease
 *
 * They mean nothing in another boot, so they belong on a tmpfs, where a folder costs a tenth of its
 * cost on a disk. Where they are is recorded in the state folder (a link named runtime). So an
 * agent that is started with another folder finds the last one's. */
#pragma once

struct edl_error;

/* runtime_dir_choose - wanted (NULL: the state folder), made if need be; the one of the last agent
 * instead while that still holds process folders. *ret: absolute, to be freed. state_dir: absolute
 */
int runtime_dir_choose(const char *state_dir, const char *wanted, char **ret,
                       struct edl_error *error);

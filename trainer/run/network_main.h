/* SPDX-License-Identifier: Apache-2.0 */
/* network_main.h - edl-trainer --config: any network, alone */
#pragma once

#include <signal.h>
#include <stdbool.h>

struct edl_error;

/* network_main_wants - the command line is for a network of a file, alone: it begins with checkgrad
 * or test, or has --config with --local or --data, or outside a job */
bool network_main_wants(int argc, char **argv);

/* network_main - trains, tests or checks; 0 or a negative code with error
 * -EINVAL: a command line that cannot be followed; the rest as network_local.h */
int network_main(int argc, char **argv, const volatile sig_atomic_t *stop, struct edl_error *error);

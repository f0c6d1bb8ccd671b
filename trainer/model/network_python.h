/* SPDX-License-Identifier: Apache-2.0 */
/* network_python.h - a network that a program in Python describes: --config=trainer_config.py
 *
 * The file is a program of the user's own. python3 -m edl.trainer_config runs it, as the user, and
 * writes the network and its data set to a folder. Only edl-trainer asks for that, and only for the
 * file that its command line names: never the scheduler, and never for one out of a saved model.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>

struct edl_error;

/* The folder, in $TMPDIR, and what is in it. */
struct network_python {
    char folder[256];
    char network[288]; /* network.json */
    char data[288];    /* the data set; "" if the program names none */
};

/* network_python_wants - whether config is such a program: a name that ends in .py */
bool network_python_wants(const char *config);

/* network_python_open - runs the program; network_python_close removes what ret names
 * arguments: what --config_args says, NULL: nothing. with_data: its data set as well. stop: ends
 * the wait. Errors: -EINVAL with the last line that it says; -EINTR: told to stop; and what making
 * the folder and starting Python give. */
int network_python_open(const char *config, const char *arguments, bool with_data,
                        const volatile sig_atomic_t *stop, struct network_python *ret,
                        struct edl_error *error);
void network_python_close(struct network_python *python);

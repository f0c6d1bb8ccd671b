/* SPDX-License-Identifier: Apache-2.0 */
/* paddle_program.h - `edl-paddle train` and `edl-paddle pserver`: the words of the flags in EDL's
 * own
 *
 * Each gives the command line of edl-trainer or edl-pserver, and the caller runs it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct edl_error;
struct paddle_flags;

#define PADDLE_ARGV_MAX 48
#define PADDLE_PORTS_MAX 64

/* argv of a program, NULL-terminated; words are owned */
struct paddle_command {
    char *argv[PADDLE_ARGV_MAX + 1];
    size_t n;
};

void paddle_command_done(struct paddle_command *command);

/* paddle_train_has_servers - whether the trainer talks to servers, and so needs their secret */
bool paddle_train_has_servers(const struct paddle_flags *flags);

/* paddle_train - edl-trainer's command line; -EINVAL with error: what it cannot do
 * socket: of an agent, or NULL; secret_file: when neither that nor the flags name one; NULL where
 * there are no servers */
int paddle_train(const struct paddle_flags *flags, const char *socket, const char *secret_file,
                 struct paddle_command *ret, struct edl_error *error);

/* paddle_trainer_of_job - the same in a job: data, servers, passes and output are what the agent
 * and the environment tell (edl-trainer(1)) */
int paddle_trainer_of_job(const struct paddle_flags *flags, struct paddle_command *ret,
                          struct edl_error *error);

/* paddle_pserver_check - ports of --port, --ports_num and --ports_num_for_sparse: how many;
 * negative: -EINVAL */
int paddle_pserver_check(const struct paddle_flags *flags, struct edl_error *error);

/* paddle_pserver - edl-pserver's command line for the n-th port on that address */
void paddle_pserver(const struct paddle_flags *flags, const char *address, unsigned n,
                    const char *socket, const char *secret_file, struct paddle_command *ret);

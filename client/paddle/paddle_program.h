/* SPDX-License-Identifier: Apache-2.0 */
/* paddle_program.h - `edl-paddle train` and `edl-paddle pserver`: the words of the flags in EDL's
 * own
 *
 * Each gives the command line of edl-trainer or edl-pserver, and the caller runs it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/paddle/paddle_flags.h"

struct edl_error;

#define PADDLE_ARGV_MAX 48
#define PADDLE_PORTS_MAX 64

/* argv of a program, NULL-terminated; words are owned */
struct paddle_command {
    char *argv[PADDLE_ARGV_MAX + 1];
    size_t n;
};

#define PADDLE_SERVERS_MAX                                                                         \
    1024 /* that a list names, of the scheduler (PADDLE_INIT_PSERVERS) or a person */

/* In which way a program runs: each heeds other flags. */
enum paddle_way {
    PADDLE_ALONE,          /* trains without servers */
    PADDLE_WITH_SERVERS,   /* trains with servers */
    PADDLE_TEST,           /* a trainer that tests or checks gradients */
    PADDLE_TRAINER_OF_JOB, /* a trainer that a job tells of data, servers and output */
    PADDLE_PSERVER,        /* servers on ports that flags name */
    PADDLE_PSERVER_OF_JOB, /* a server on the port that a job gave it */
};

/* paddle_is_idle - the command line has the flag, and it has no effect in this way. Flags of the
 * environment never are: those of a job serve all its programs.
 * socket: of an agent, or NULL */
bool paddle_is_idle(const struct paddle_flags *flags, enum paddle_way way, const char *socket,
                    enum paddle_flag flag);

void paddle_command_done(struct paddle_command *command);

/* paddle_train - edl-trainer's command line; -EINVAL with error: edl-trainer cannot do it
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

/* paddle_pserver_of_job - the same on the port that the job gave this process */
void paddle_pserver_of_job(const struct paddle_flags *flags, const char *socket,
                           struct paddle_command *ret);
